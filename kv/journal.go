package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/journal"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger's own log cannot tell that it holds fewer commits than there were: it ends, for Badger, before the first entry
// that is damaged. So the store keeps a journal beside it, and Badger's log need not be synced:
//
//   - A transaction is numbered, appended to the journal and synced, and then given to Badger, with its number as a
//     record. Those that wait at the same time are appended and given together (group.go). What a Bulk writes goes to the
//     journal too, unsynced: the transaction that makes it visible syncs it.
//   - After a crash whatever Badger does not hold of the journal is written again. That Badger holds a later commit than
//     the journal, or the journal begins after what Badger holds, or misses something in between, is ErrCorrupt.
//   - A segment of the journal is removed once all that is in it is in tables, at the latest by Close.

// journalName begins the names of the files of the journal.
const journalName = "journal"

// journalAhead is how many bytes of the journal are written at once, as zeros, ahead of small commits to come. The spare room that each
// write asks for (lsm.SpareRoom) has them.
const journalAhead = 256 << 10

// storedCommit is the number of the last commit that Badger holds, zero if there was none.
func (s *Store) storedCommit() (number uint64, err error) {
	err = s.db.View(func(t *lsm.Txn) error {
		value, err := t.Get(record.CommitKey())
		if err == nil {
			number, err = record.CommitNumber(value)
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return number, err
}

// identity is the ID of the store as its journal has it.
func (h header) identity() (id journal.Store) {
	if b, err := hex.DecodeString(h.ID); err == nil {
		copy(id[:], b)
	}
	return id
}

// createJournal begins the journal of a store whose commits so far are in tables.
func (s *Store) createJournal() (err error) {
	if s.journal, err = journal.Create(s.dir, journalName, s.header.identity(), s.commits); err != nil {
		return storedir.WrapFull(err)
	}
	s.journal.Ahead = journalAhead
	return nil
}

// openJournal brings Badger to what the journal holds, and goes on with the journal. A store that has no header yet has
// none. What is missing in the journal, or in Badger and the journal, is an ErrCorrupt that says which commits.
func (s *Store) openJournal() error {
	held, err := s.storedCommit()
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	s.commits = held
	r, err := s.readJournal()
	if err != nil {
		return err
	}
	reading := s.readHeader()
	if len(r.Segments) == 0 {
		if reading == nil {
			return s.missingJournal(held)
		}
		if errors.Is(reading, ErrNotStore) {
			return nil
		}
		return reading
	}
	if reading != nil && !errors.Is(reading, ErrNotStore) {
		return reading
	}
	if err := s.fits(r.Contents, held, reading == nil); err != nil {
		return err
	}
	if s.opt.ReadOnly {
		if held < r.Last() {
			return lsm.CrashedError(s.dir)
		}
		return nil
	}
	s.commits = r.Last()
	if err := s.replay(r, held); err != nil {
		return err
	}
	if s.journal, err = journal.Continue(s.dir, journalName, r.Contents); err != nil {
		return storedir.WrapFull(err)
	}
	s.journal.Ahead = journalAhead
	return nil
}

// fits returns an ErrCorrupt if a journal is damaged, or is not the one of what Badger holds.
func (s *Store) fits(c *journal.Contents, held uint64, identified bool) error {
	for _, segment := range c.Segments {
		if identified && segment.Store != s.header.identity() && len(c.Damage) == 0 {
			return record.CorruptFile(segment.Path, "it is the journal of the store %x", segment.Store)
		}
	}
	if len(c.Damage) > 0 {
		d := c.Damage[0]
		switch {
		case d.Open:
			return record.CorruptFile(d.Path, "%s; commits after %d may be missing", d.What, max(d.Last, held))
		case d.First <= d.Last:
			return record.CorruptFile(d.Path, "%s; %s missing in it", d.What, commits(d.First, d.Last))
		}
		return record.CorruptFile(d.Path, "%s; what was written before commit %d is missing in it", d.What, d.Last+1)
	}
	if held > c.Last() {
		return record.CorruptFile(c.Segments[len(c.Segments)-1].Path, "it ends with commit %d, and the store has come to %d: %s missing in it",
			c.Last(), held, commits(c.Last()+1, held))
	}
	return olderThanJournal(s.dir, held, c.Base())
}

// checkJournal returns an ErrCorrupt if the journal does not fit the store, and otherwise the numbers of the commits
// after which it begins and with which it ends; known is false for a store without one. The caller holds the writer's lock.
func (s *Store) checkJournal() (base, last uint64, known bool, err error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed || !s.synced {
		return 0, 0, false, nil
	}
	if err := s.db.Failed(); errors.Is(err, ErrMoved) {
		return 0, 0, false, err
	}
	held, err := s.storedCommit()
	if err != nil {
		return 0, 0, false, err
	}
	c, err := journal.Scan(s.dir, journalName, nil)
	switch {
	case err != nil:
		return 0, 0, false, err
	case len(c.Segments) == 0:
		return 0, 0, false, s.missingJournal(held)
	case c.Torn:
		return 0, 0, false, record.CorruptFile(c.Segments[len(c.Segments)-1].Path, "it ends with a frame that is cut off")
	}
	if err := s.fits(c, held, true); err != nil {
		return 0, 0, false, err
	}
	return c.Base(), held, true, nil
}

func (s *Store) missingJournal(held uint64) error {
	return record.CorruptFile(filepath.Join(s.dir, journalName+"-*.log"), "the journal is missing: "+
		"whether there were commits after %d is not known", held)
}

// commits names commits, with the verb that follows.
func commits(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("commit %d is", first)
	}
	return fmt.Sprintf("commits %d to %d are", first, last)
}

// A keySum stands for a key.
type keySum [16]byte

func sumKey(key []byte) (sum keySum) {
	all := sha256.Sum256(key)
	copy(sum[:], all[:])
	return sum
}

// A replay is a journal to be written again.
type replay struct {
	*journal.Contents

	// latest is the place, among all entries, of the last entry of a key that transactions wrote.
	latest map[keySum]int

	// outdated, if not nil, says that an entry of a commit may be older than what Badger knows of its key.
	outdated func(txn *lsm.Txn, number uint64, key []byte) (bool, error)
}

// readJournal reads the journal for the first time.
func (s *Store) readJournal() (*replay, error) {
	r := &replay{latest: map[keySum]int{}}
	place := 0
	var err error
	r.Contents, err = journal.Scan(s.dir, journalName, func(f journal.Frame) error {
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			if place++; f.Kind == journal.Commit {
				r.latest[sumKey(e.Key)] = place
			}
		}
		return nil
	})
	return r, err
}

// replay writes what Badger lacks of a journal. It stays in the journal, so that a crash here does no harm.
func (s *Store) replay(r *replay, held uint64) error {
	if r.Size() == 0 {
		return nil
	}
	began := time.Now()
	var records, size int64
	txn := s.db.Begin(false)
	defer txn.Discard()
	b := newBatch(s)
	defer b.to.Cancel()
	place := 0
	_, err := journal.Scan(s.dir, journalName, func(f journal.Frame) error {
		for e, err := range f.Entries() {
			if err != nil {
				return err
			}
			if place++; r.latest[sumKey(e.Key)] > place {
				continue
			}
			same, err := holds(txn, e.Key, e.Value)
			if err != nil {
				return err
			}
			if !same && r.outdated != nil {
				same, err = r.outdated(txn, f.Number, e.Key)
				if err != nil {
					return err
				}
			}
			if same {
				continue
			}
			records++
			size += int64(len(e.Key) + len(e.Value))
			if err := b.write(bytes.Clone(e.Key), bytes.Clone(e.Value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = b.Flush()
	}
	if records > 0 || err != nil {
		s.observe(Event{Kind: EventReplay, Records: records, Bytes: size, Err: err}, began)
	}
	if records > 0 && s.opt.Logger != nil {
		s.opt.Logger.Warn("the log of Badger held less than the journal", "store", s.dir, "commit", held, "journal", r.Last(),
			"records", records)
	}
	return err
}

// holds says whether Badger has a value, nil for none, under a key.
func holds(txn *lsm.Txn, key, want []byte) (same bool, err error) {
	value, err := txn.Get(key)
	switch {
	case errors.Is(err, ErrNotFound):
		return want == nil, nil
	case errors.Is(err, ErrCorrupt):
		return false, nil
	case err != nil:
		return false, err
	}
	return want != nil && bytes.Equal(value, want), nil
}

// journalIsDue says whether the last segment of the journal has grown to half a memtable. After a failed write the journal
// stays as it is: it may have what Badger has not.
func (s *Store) journalIsDue() bool {
	return s.journal != nil && s.journal.Size() >= s.db.MemTableSize()/2 && s.db.Failed() == nil
}

// rotateJournal begins another segment if it is due, and removes those of which all is in tables. If it cannot, the
// journal stays as it is, and the next call tries again. The caller holds the writer's lock, and what was handed to Badger
// is written.
func (s *Store) rotateJournal() {
	if !s.journalIsDue() {
		return
	}
	err := s.journal.Rotate()
	if err == nil {
		err = s.trimJournal()
	}
	if s.journal.Failed() != nil || errors.Is(err, ErrCorrupt) { // then the next call would fare no better
		s.db.Fail(err)
	}
	if err != nil {
		s.warn("the journal could not be made shorter", err)
	}
}

// warn logs what went wrong beside a commit, which it does not undo.
func (s *Store) warn(what string, err error) {
	if s.opt.Logger != nil {
		s.opt.Logger.Warn(what, "store", s.dir, "error", err)
	}
}

// trimJournal removes the segments of which all is in tables.
func (s *Store) trimJournal() error {
	flushed := s.db.FlushedVersion()
	n, ended := 0, s.journal.Segments()
	for n < len(ended)-1 && ended[n].Last <= flushed {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := durable.SyncDirectory(s.dir); err != nil { // the tables and the manifest are synced, not their names
		return err
	}
	return s.journal.Remove(n)
}

// closeJournal ends the journal of a store that Badger has closed; flushed says that everything is in tables.
func (s *Store) closeJournal(flushed bool) error {
	defer func() { s.journal = nil }()
	switch {
	case s.journal == nil && flushed && !s.synced && s.header.Version == formatVersion:
		if err := s.createJournal(); err != nil {
			return err
		}
	case s.journal == nil:
		return nil
	case flushed && s.journal.Failed() == nil && !s.journal.Empty():
		if err := s.journal.Rotate(); err != nil {
			return errors.Join(storedir.WrapFull(err), s.journal.Close())
		}
		if err := s.journal.Remove(len(s.journal.Segments()) - 1); err != nil {
			return errors.Join(err, s.journal.Close())
		}
	}
	return s.journal.Close()
}

// removeFiles removes files.
func removeFiles(paths []string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
