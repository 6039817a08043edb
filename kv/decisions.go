package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// What is in spaces that are kept twice is also in the file decisions.log:
//
//   - A commit of such entries is appended to the file and synced, with all else that it writes, and only then given
//     to Badger. Entries of the file that Badger lacks were not acknowledged, or Badger lost them. Open gives them to
//     Badger, if nothing is missing between.
//   - A commit that begins to keep a space twice, or replaces or drops one, is given to Badger first. Then the file
//     is written anew, before the commit is acknowledged. Each commit with decisions writes a record to Badger that has
//     nothing but its version: so Open sees that the file was not written anew.
//   - The file is also written anew when it has become long.

// KeepTwice makes the store keep a second copy of the entries. With it, Check finds missing entries and Repair
// restores them. It may be called again.
func (s *Space) KeepTwice() error {
	if err := s.tx.writable(); err != nil {
		return err
	}
	if s.tx.cat.Twice[s.name] {
		return nil
	}
	if err := validateName("space", s.name); err != nil {
		return err
	}
	c, err := s.tx.change()
	if err != nil {
		return err
	}
	c.Twice[s.name] = true
	s.tx.renews = true
	return nil
}

// twice are the names of the spaces that are kept twice and there.
func (c *catalog) twice() []string {
	return slices.DeleteFunc(sortedNames(c.Twice), func(name string) bool {
		_, there := c.Spaces[name]
		return !there
	})
}

// hasDecisions says whether the transaction has written entries of a space that is kept twice, or has decisions.log
// written anew.
func (tx *Tx) hasDecisions() bool {
	for _, name := range tx.cat.twice() {
		prefix := record.Prefix(record.KindSpace, tx.cat.Spaces[name])
		if slices.ContainsFunc(tx.entries, func(e decisions.Entry) bool { return bytes.HasPrefix(e.Key, prefix) }) {
			return true
		}
	}
	return tx.renews
}

// renewDecisions writes decisions.log anew, so that it is short, or if there is none.
func (s *Store) renewDecisions() error {
	return s.lastView(func(tx *Tx) (err error) {
		if s.decided != nil {
			return s.decided.Renew(s.commits, tx.decisions())
		}
		s.decided, err = decisions.Create(s.dir, s.header.ID, s.commits, tx.decisions())
		return err
	})
}

// decisions yields the entries of spaces that are kept twice, as decisions.log has them.
func (tx *Tx) decisions() iter.Seq2[decisions.Entry, error] {
	return func(yield func(decisions.Entry, error) bool) {
		for _, name := range tx.cat.twice() {
			for r, err := range tx.records().Scan(record.Prefix(record.KindSpace, tx.cat.Spaces[name]), nil) {
				if !yield(decisions.Entry{Key: r.Key, Value: record.Encode(r.Key, r.Body)}, err) || err != nil {
					return
				}
			}
		}
	}
}

// lastView runs fn on a snapshot that Close does not end.
func (s *Store) lastView(fn func(tx *Tx) error) error {
	tx := &Tx{s: s, cat: newCatalog(), cache: s.cache, done: make(chan struct{}), txn: s.db.Begin(false)}
	tx.last = tx.txn.ReadVersion()
	defer tx.txn.Discard()
	if err := tx.loadCatalog(); err != nil {
		return err
	}
	return fn(tx)
}

// logDecisions appends a group of commits to decisions.log if it has decisions, and says whether it did. It does not
// if the file is to be written anew once Badger has the group.
func (s *Store) logDecisions(commits []*Tx) (logged bool, err error) {
	if s.decided == nil || commits[len(commits)-1].renews || // of the group, the last alone may renew
		!slices.ContainsFunc(commits, (*Tx).hasDecisions) {
		return false, nil
	}
	f := decisions.Frame{First: s.commits - uint64(len(commits)) + 1, Last: s.commits}
	for _, tx := range commits {
		f.Entries = append(f.Entries, tx.entries...)
	}
	return true, s.decided.Append(f)
}

// renewAfter writes decisions.log anew after a group of commits, if the last of them needs it or the file is long.
func (s *Store) renewAfter(last *Tx) error {
	if s.decided == nil || !last.renews && !s.decided.IsLong() {
		return nil
	}
	err := s.renewDecisions()
	if err != nil && (last.renews || s.decided.Failed() != nil) {
		s.db.Fail(err) // the next Open writes it
		return fmt.Errorf("%w, but %w: %w", ErrCommitted, ErrFailed, err)
	}
	if err != nil {
		s.log(decisions.FileName+" could not be made shorter", time.Time{}, err)
	}
	return nil
}

// openDecisions brings Badger to what decisions.log has. Damage is an ErrCorrupt, unless the store is only read, or a
// crash left it: then the file is cut off there, and followDecisions completes it. If commits are missing before one
// that the file has, that is always an ErrCorrupt.
func (s *Store) openDecisions() error {
	readOnly := s.opt.ReadOnly
	l, err := decisions.Open(s.dir, s.header.ID, readOnly)
	var lacking []decisions.Frame
	if err == nil {
		lacking, err = s.lacking(l)
		if errors.Is(err, decisions.ErrTorn) && s.db.LeftByCrash() {
			err = l.Cut()
		}
		if s.decided = l; readOnly || err != nil {
			s.decided, err = nil, errors.Join(err, l.Close())
		}
	}
	if readOnly && errors.Is(err, ErrCorrupt) {
		return nil // Check tells of it
	}
	if err != nil {
		return s.refuse(err)
	}
	held := s.commits
	if n := len(lacking); n > 0 {
		held = lacking[n-1].Last
	}
	switch {
	case l.Last() > held:
		return record.CorruptFile(l.Path(),
			"it has decisions of commit %d, and the store has come to %d: what was committed between is lost",
			l.Last(), s.commits)
	case readOnly && len(lacking) > 0:
		return lsm.CrashedError(s.dir)
	}
	return s.replayDecisions(lacking)
}

// lacking returns the frames of decisions.log that Badger lacks, as far as no commit is missing before them, also with
// an ErrCorrupt. A replay that did not end is the last commit of Badger, without its decidedKey.
func (s *Store) lacking(l *decisions.Log) (lacking []decisions.Frame, err error) {
	decided, err := s.lastDecided()
	if err != nil {
		return nil, err
	}
	from, commit := max(decided+1, s.commits), s.commits
	err = l.Scan(false, func(f decisions.Frame) error {
		if f.Last >= from && f.First <= commit+1 {
			lacking, commit = append(lacking, f), f.Last
		}
		return nil
	})
	return lacking, err
}

// followDecisions writes decisions.log anew if a crash came before that. An earlier file is an ErrCorrupt.
func (s *Store) followDecisions() error {
	last, err := s.lastDecided()
	switch {
	case err != nil || last <= s.decided.Last():
		return err
	case s.db.LeftByCrash():
		return s.renewDecisions()
	}
	return s.refuse(record.CorruptFile(s.decided.Path(),
		"it ends with commit %d, and the store has decisions of commit %d: it is an earlier one", s.decided.Last(), last))
}

func decidedKey() []byte { return []byte{byte(record.KindDecided)} }

// lastDecided is the last commit with decisions that Badger has, zero if there was none.
func (s *Store) lastDecided() (commit uint64, err error) { return s.versionOf(decidedKey()) }

// versionOf is the version of the record under a key, zero if there is none.
func (s *Store) versionOf(key []byte) (version uint64, err error) {
	err = s.db.View(func(t *lsm.Txn) (err error) {
		_, version, err = t.Get(key)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return version, err
}

// readDecisions opens decisions.log for a Check. It returns nil for a store that is closed or being loaded.
func (s *Store) readDecisions() (*decisions.Log, error) {
	if err := s.checkOpen(); err != nil || !s.synced {
		return nil, nil //nolint:nilerr // the snapshot of the check tells that it is closed
	}
	if err := s.db.Failed(); errors.Is(err, ErrMoved) {
		return nil, err
	}
	return decisions.Open(s.dir, s.header.ID, true)
}

// refuse names the work that damage to decisions.log prevents; nil for nil.
func (s *Store) refuse(damage error) error {
	if !errors.Is(damage, ErrCorrupt) || s.db.LeftByCrash() { // a store that crashed cannot be opened to be read
		return damage
	}
	return fmt.Errorf("%w; until a repair of it %s can be read, and not written to", damage, s.name)
}

// changesFirst are entries with the changes of their commits before all others.
func changesFirst(entries []decisions.Entry) []decisions.Entry {
	var first, rest []decisions.Entry
	for _, e := range entries {
		if _, ok := record.ChangesCommit(e.Key); ok {
			first = append(first, e)
		} else {
			rest = append(rest, e)
		}
	}
	return append(first, rest...)
}

// replayDecisions gives Badger what it lacks of decisions.log. A frame may need several transactions of Badger. The
// decidedKey comes last: without it the frame is replayed again. The changes come first: by them an Open after a crash
// sees that the logs lack no commit.
func (s *Store) replayDecisions(frames []decisions.Frame) error {
	for _, f := range frames {
		b := s.db.Batch(f.Last)
		defer b.Cancel()
		for _, e := range changesFirst(f.Entries) {
			if bytes.Equal(e.Key, decidedKey()) {
				continue
			}
			if err := b.Set(e.Key, e.Value); err != nil {
				return err
			}
		}
		if err := b.Flush(); err != nil {
			return err
		}
		if err := s.setRecord(decidedKey(), nil); err != nil {
			return err
		}
		s.commits = f.Last
	}
	return nil
}
