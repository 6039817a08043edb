package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Spaces that are kept twice have a copy beside the tables, in files that are only appended to, of the form of the journal.
// An entry of the copy has as its key the name of the space, a zero and the key there. The last entry of a commit's frame says
// of which commit and which generations the copy is; what was committed since is in the journal, of which nothing is
// removed before the copy has it. So copy and journal hold every entry, and a commit is synced once.
//
// If a Bulk has replaced a space, the copy is rebuilt from the tables. It then begins with an entry that says so.

// copyName begins the names of the files of the copy.
const copyName = "copy"

// Keys of the copy that are no entries of a space: names of spaces begin with neither.
const (
	copyCovers = 0x00 // commit uint64, then keptTwice of the catalogue
	copyAnew   = 0x01 // what comes before it no longer counts
)

// copySegment is from how many bytes on the copy goes on in another file: to append, only the last is read.
const copySegment = 8 << 20

// KeepTwice makes the store keep a second copy of the entries. With it, Check finds missing entries and Repair restores
// them. It may be called again.
func (s *Space) KeepTwice() error {
	if err := s.tx.writable(); err != nil {
		return err
	}
	if _, marked := s.tx.cat.Twice[s.name]; marked {
		return nil
	}
	if err := validateName("space", s.name); err != nil {
		return err
	}
	c, err := s.tx.change()
	if err != nil {
		return err
	}
	c.Twice[s.name] = s.tx.s.commits + 1
	return nil
}

// keptTwice are the spaces that are kept twice, with their generations.
func (c *catalog) keptTwice() (list []byte) {
	for _, name := range sortedNames(c.Twice) {
		list = append(append(list, name...), 0)
		list = binary.BigEndian.AppendUint32(list, uint32(c.Spaces[name]))
	}
	return list
}

// parseKeptTwice is the inverse of keptTwice.
func parseKeptTwice(list []byte) (map[string]record.Generation, error) {
	kept := map[string]record.Generation{}
	for len(list) > 0 {
		name, rest, ok := bytes.Cut(list, []byte{0})
		if !ok || len(rest) < 4 {
			return nil, errors.New("it is cut off")
		}
		kept[string(name)], list = record.Generation(binary.BigEndian.Uint32(rest)), rest[4:]
	}
	return kept, nil
}

// A copyState is how far the copy has come.
type copyState struct {
	*journal.Contents
	commit uint64
	kept   []byte // keptTwice
	known  bool   // both are
	frames int    // before the first that counts
}

// readCopy reads the copy, or only its last file.
func (s *Store) readCopy(whole bool) (*copyState, error) {
	scan := journal.Scan
	if !whole {
		scan = journal.ScanTail
	}
	c := &copyState{}
	number, anew := 0, 0
	contents, err := scan(s.dir, copyName, func(f journal.Frame) error {
		for e, err := range f.Entries() {
			switch {
			case err != nil:
				return err
			case len(e.Key) == 1 && e.Key[0] == copyAnew:
				anew = number
			case len(e.Key) == 1 && e.Key[0] == copyCovers && len(e.Value) >= 8:
				c.commit, c.kept, c.known = binary.BigEndian.Uint64(e.Value), bytes.Clone(e.Value[8:]), true
				c.frames = anew
			}
		}
		number++
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !whole && !c.known && len(contents.Segments) > 0 && len(contents.Damage) == 0 {
		return s.readCopy(true)
	}
	c.Contents = contents
	return c, nil
}

// fitsCopy returns an ErrCorrupt if the copy is damaged, or does not go as far as the journal of a store begins after; base
// is that commit, and last the last of the store.
func (s *Store) fitsCopy(c *copyState, cat *catalog, base, last uint64) error {
	path := filepath.Join(s.dir, copyName+"-*.log")
	if len(c.Segments) > 0 {
		path = c.Segments[len(c.Segments)-1].Path
	}
	if len(c.Damage) > 0 {
		return record.CorruptFile(c.Damage[0].Path, "%s", c.Damage[0].What)
	}
	if err := s.foreignCopy(c); err != nil {
		return err
	}
	switch {
	case c.known && c.commit > last:
		return record.CorruptFile(path, "it is of commit %d, and the store has come to %d: %s missing in the tables",
			c.commit, last, commits(last+1, c.commit))
	case c.known && c.commit < base:
		return record.CorruptFile(path, "it is of commit %d, and the journal begins after %d: it is an earlier copy", c.commit, base)
	}
	for _, name := range sortedNames(cat.Twice) {
		if !c.known && cat.Twice[name] <= base {
			return record.CorruptFile(path, "the second copy of the space %s is missing", name)
		}
	}
	return nil
}

// foreignCopy returns an ErrCorrupt if the copy is that of another store.
func (s *Store) foreignCopy(c *copyState) error {
	for _, segment := range c.Segments {
		if own := s.header.identity(); own != segment.Store && own != (journal.Store{}) && segment.Store != (journal.Store{}) {
			return record.CorruptFile(segment.Path, "it is the second copy of the store %x", segment.Store)
		}
	}
	return nil
}

// checkCopy returns an ErrCorrupt if the copy is of a later commit than the tables and the journal, or is that of another
// store. Of a store that is opened for writing it does so for any damage that keeps commits from being added to the copy: the
// journal, of which nothing is removed before the copy has it, would grow without end.
func (s *Store) checkCopy() error {
	c, err := s.readCopy(false)
	if err != nil {
		return err
	}
	return s.lastView(func(tx *Tx) error {
		switch {
		case !s.opt.ReadOnly && len(tx.cat.Twice) > 0:
			return s.refuse(s.fitsCopy(c, tx.cat, s.journal.Segments()[0].Base, s.commits))
		case len(c.Damage) > 0 || !c.known:
			return nil
		}
		return s.fitsCopy(c, newCatalog(), 0, s.commits)
	})
}

// refuse says what damage to the copy prevents; nil for nil.
func (s *Store) refuse(damage error) error {
	if damage == nil {
		return nil
	}
	return fmt.Errorf("%w; until a repair of the second copy %s can be read, and not written to", damage, s.name)
}

// updateCopy has the copy hold what was committed. The caller holds the writer's lock, or is the only one who knows the store.
func (s *Store) updateCopy() error {
	if s.synced && (s.journal == nil || s.journal.Empty()) {
		return nil
	}
	return s.lastView(func(tx *Tx) error {
		kept := tx.cat.keptTwice()
		if len(kept) == 0 {
			return nil
		}
		s.copying.Lock()
		defer s.copying.Unlock()
		c, err := s.readCopy(false)
		if err != nil {
			return err
		}
		if s.journal != nil {
			if err := s.fitsCopy(c, tx.cat, s.journal.Segments()[0].Base, s.commits); err != nil {
				return s.refuse(err)
			}
		}
		w := copyWriter{s: s}
		if len(c.Segments) == 0 {
			w.log, err = journal.Create(s.dir, copyName, s.header.identity(), 0)
		} else {
			w.log, err = journal.Continue(s.dir, copyName, c.Contents)
		}
		if err != nil {
			return storedir.WrapFull(err)
		}
		switch {
		case !c.known || !bytes.Equal(c.kept, kept):
			err = w.anew(tx, len(c.Segments) > 0)
		case c.commit < s.commits:
			err = w.follow(tx.cat, c.commit)
		}
		if err == nil && w.log.Size() >= copySegment {
			if err = w.log.Rotate(); err == nil {
				err = w.end(tx.cat)
			}
		}
		return errors.Join(storedir.WrapFull(err), w.log.Close())
	})
}

// remakeCopy writes the copy anew whatever is there.
func (s *Store) remakeCopy() error {
	return s.lastView(func(tx *Tx) error {
		old, err := journal.Files(s.dir, copyName)
		if err != nil {
			return err
		}
		w := copyWriter{s: s}
		if w.log, err = journal.Create(s.dir, copyName, s.header.identity(), 0); err != nil {
			return storedir.WrapFull(err)
		}
		err = w.anew(tx, false)
		if err := errors.Join(storedir.WrapFull(err), w.log.Close()); err != nil {
			return err
		}
		return removeFiles(old)
	})
}

// lastView runs fn on a snapshot that Close does not end.
func (s *Store) lastView(fn func(tx *Tx) error) error {
	tx := &Tx{s: s, cat: newCatalog(), cache: s.cache, done: make(chan struct{}), txn: s.db.Begin(false)}
	defer tx.txn.Discard()
	defer tx.cursors.close()
	if err := tx.loadCatalog(); err != nil {
		return err
	}
	return fn(tx)
}

// A copyWriter appends to the copy.
type copyWriter struct {
	s       *Store
	log     *journal.Log
	entries []journal.Entry
	bytes   int
}

func (w *copyWriter) put(name string, key, body []byte) error {
	e := journal.Entry{Key: append(append([]byte(name), 0), key...)}
	if body != nil {
		e.Value = append([]byte{}, body...)
	}
	w.entries = append(w.entries, e)
	if w.bytes += len(e.Key) + len(e.Value); w.bytes < frameBytes {
		return nil
	}
	return w.flush()
}

func (w *copyWriter) flush() error {
	if len(w.entries) == 0 {
		return nil
	}
	err := w.log.AppendData(w.entries)
	clear(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
	return err
}

// end makes durable what was put, and says of which commit the copy is.
func (w *copyWriter) end(cat *catalog) error {
	covers := append(record.CommitBody(w.s.commits), cat.keptTwice()...)
	err := w.log.AppendCommit(append(w.entries, journal.Entry{Key: []byte{copyCovers}, Value: covers}))
	clear(w.entries)
	w.entries, w.bytes = w.entries[:0], 0
	return err
}

// anew writes all entries of a snapshot, in another file if older ones are to go.
func (w *copyWriter) anew(tx *Tx, older bool) error {
	if older {
		if err := w.log.Rotate(); err != nil {
			return err
		}
	}
	w.entries = append(w.entries, journal.Entry{Key: []byte{copyAnew}, Value: []byte{}})
	for _, name := range sortedNames(tx.cat.Twice) {
		for e, err := range tx.Space(name).Ascend(nil) {
			if err != nil {
				return err
			}
			if err := w.put(name, e.Key, append([]byte{}, e.Value...)); err != nil {
				return err
			}
		}
	}
	if err := w.end(tx.cat); err != nil {
		return err
	}
	files, err := journal.Files(w.s.dir, copyName)
	if err != nil || !older {
		return err
	}
	return removeFiles(files[:len(files)-1])
}

// follow appends what the journal has of later commits.
func (w *copyWriter) follow(cat *catalog, commit uint64) error {
	err := eachCopied(w.s.dir, cat, commit, w.s.commits, w.put)
	if err != nil {
		return err
	}
	return w.end(cat)
}

// eachCopied calls use with the entries of spaces that are kept twice which the journal has of the commits after one up to
// another, in order; the body is nil if an entry was deleted.
func eachCopied(dir string, cat *catalog, after, last uint64, use func(name string, key, body []byte) error) error {
	names := map[record.Generation]string{}
	for name := range cat.Twice {
		if g, ok := cat.Spaces[name]; ok {
			names[g] = name
		}
	}
	_, err := journal.Scan(dir, journalName, func(f journal.Frame) error {
		if f.Kind != journal.Commit || f.Number <= after || f.Number > last {
			return nil
		}
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			if len(e.Key) <= 5 || record.Kind(e.Key[0]) != record.KindSpace || names[record.GenerationOf(e.Key)] == "" {
				continue
			}
			var body []byte
			if e.Value != nil {
				if body, err = record.Decode(e.Key, e.Value); err != nil {
					return err
				}
			}
			if err := use(names[record.GenerationOf(e.Key)], e.Key[5:], body); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// each calls use with the entries of the copy that count, in order.
func (c *copyState) each(dir string, use func(name string, key, body []byte) error) error {
	number := 0
	_, err := journal.Scan(dir, copyName, func(f journal.Frame) error {
		if number++; number <= c.frames {
			return nil
		}
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			name, key, ok := bytes.Cut(e.Key, []byte{0})
			if len(e.Key) < 3 || !ok {
				continue
			}
			if err := use(string(name), key, e.Value); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// sameEntry says whether a space has an entry as it is in the copy; nil for none.
func sameEntry(txn *lsm.Txn, cat *catalog, name string, key, body []byte) (same bool, err error) {
	g, ok := cat.Spaces[name]
	if !ok {
		return body == nil, nil
	}
	e := journal.Entry{Key: spaceKey(g, key)}
	if body != nil {
		e.Value = record.Encode(e.Key, body)
	}
	return holds(txn, e)
}
