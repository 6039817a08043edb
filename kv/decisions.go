package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// What is in spaces that are kept twice is also in the file decisions.log:
//
//   - A commit of such entries is appended to the file and synced, with all else that it writes, and only then given to Badger. What the
//     file has and Badger lacks was not acknowledged, or is what Badger lost. Open gives it to Badger, if nothing is missing between.
//   - A commit that begins to keep a space twice, or has replaced one, is given to Badger first. Then the file is written anew, before
//     the commit is acknowledged. The catalogue says since when a space is kept twice: so Open sees that the file was not written anew.
//   - The file is also written anew when it has become long.

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

// twiceSince is the last commit that began to keep a space twice, or replaced one.
func (c *catalog) twiceSince() (commit uint64) {
	for _, since := range c.Twice {
		commit = max(commit, since)
	}
	return commit
}

// identity is the ID of the store as decisions.log has it.
func (s *Store) identity() decisions.Store { return decisions.Store(s.header.identity()) }

// createDecisions writes decisions.log anew.
func (s *Store) createDecisions() (err error) {
	return s.lastView(func(tx *Tx) error {
		s.decided, err = decisions.Create(s.dir, s.identity(), s.commits, tx.decisions())
		return err
	})
}

// renewDecisions writes decisions.log anew, so that it is short.
func (s *Store) renewDecisions() error {
	return s.lastView(func(tx *Tx) error { return s.decided.Renew(s.commits, tx.decisions()) })
}

// decisions yields the entries of spaces that are kept twice, as decisions.log has them.
func (tx *Tx) decisions() iter.Seq2[decisions.Entry, error] {
	return func(yield func(decisions.Entry, error) bool) {
		for _, name := range sortedNames(tx.cat.Twice) {
			g, there := tx.cat.Spaces[name]
			if !there {
				continue
			}
			for r, err := range tx.records().Scan(record.Prefix(record.KindSpace, g), nil) {
				if !yield(decisions.Entry{Name: name, Key: r.Key, Value: record.Encode(r.Key, r.Body)}, err) || err != nil {
					return
				}
			}
		}
	}
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

// logDecisions appends a group of commits to decisions.log if it has decisions; anew says that the file is to be written anew instead, once
// Badger has the group.
func (s *Store) logDecisions(commits []*Tx) (anew bool, err error) {
	if len(commits) == 0 || s.decided == nil {
		return false, nil
	}
	cat := commits[len(commits)-1].cat
	if cat.twiceSince() > s.decided.Base() {
		return true, nil
	}
	names := map[record.Generation]string{}
	for name := range cat.Twice {
		if g, there := cat.Spaces[name]; there {
			names[g] = name
		}
	}
	nameOf := func(key []byte) string {
		if record.Kind(key[0]) != record.KindSpace {
			return ""
		}
		return names[record.GenerationOf(key)]
	}
	decided := false
	for _, tx := range commits {
		for _, e := range tx.entries {
			decided = decided || nameOf(e.Key) != ""
		}
	}
	if !decided {
		return false, nil
	}
	return false, s.decided.Append(s.commits-uint64(len(commits))+1, s.commits, func(yield func(decisions.Entry) bool) {
		for _, tx := range commits {
			for _, e := range tx.entries {
				if !yield(decisions.Entry{Name: nameOf(e.Key), Key: e.Key, Value: e.Value}) {
					return
				}
			}
		}
	})
}

// renewAfter writes decisions.log anew after a commit, if that needs it or the file is long.
func (s *Store) renewAfter(needed bool) error {
	if s.decided == nil || !needed && !s.decided.IsLong() {
		return nil
	}
	err := s.renewDecisions()
	if err != nil && (needed || s.decided.Failed() != nil) {
		s.db.Fail(err) // the next Open writes it
		return fmt.Errorf("%w, but %w: %w", ErrCommitted, ErrFailed, err)
	}
	if err != nil {
		s.warn("decisions.log could not be made shorter", err)
	}
	return nil
}

// openDecisions brings Badger to what decisions.log has, and goes on with the file. Damage is an ErrCorrupt, unless the store is only read.
// If commits are missing before one that the file has, that is always an ErrCorrupt.
func (s *Store) openDecisions(crashed bool) error {
	if s.opt.ReadOnly {
		l, err := decisions.OpenToRead(s.dir, s.identity())
		if errors.Is(err, ErrCorrupt) {
			return nil // Check tells of it
		}
		if err != nil {
			return err
		}
		lacking, err := s.lackingDecisions(l)
		if err == nil && len(lacking) > 0 {
			err = lsm.CrashedError(s.dir)
		}
		return errors.Join(err, l.Close())
	}
	l, err := decisions.Open(s.dir, s.identity(), crashed)
	if err != nil {
		return s.refuse(err)
	}
	s.decided = l
	lacking, err := s.lackingDecisions(l)
	if err != nil {
		return err
	}
	if err := s.replayDecisions(lacking); err != nil {
		return err
	}
	since := uint64(0)
	if err := s.lastView(func(tx *Tx) error { since = tx.cat.twiceSince(); return nil }); err != nil {
		return err
	}
	if since > l.Base() { // a crash came before the file was written anew
		return s.renewDecisions()
	}
	return nil
}

// readDecisions opens decisions.log for a Check. It returns nil for a store that is closed, moved or being loaded.
func (s *Store) readDecisions() (*decisions.Reader, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed || !s.synced || errors.Is(s.db.Failed(), ErrMoved) {
		return nil, nil
	}
	return decisions.Read(s.dir)
}

// refuse says what damage to decisions.log prevents; nil for nil.
func (s *Store) refuse(damage error) error {
	if !errors.Is(damage, ErrCorrupt) {
		return damage
	}
	return fmt.Errorf("%w; until a repair of it %s can be read, and not written to", damage, s.name)
}

// lackingDecisions are the frames of decisions.log that Badger lacks. An ErrCorrupt says that commits are missing before them.
func (s *Store) lackingDecisions(l *decisions.Log) ([]decisions.Frame, error) {
	frames, err := l.After(s.commits)
	if err != nil {
		return nil, err
	}
	last := s.commits
	for _, f := range frames {
		if f.First != last+1 {
			break
		}
		last = f.Last
	}
	if l.Last() > last {
		return nil, record.CorruptFile(filepath.Join(s.dir, decisions.FileName),
			"it has decisions of commit %d, and the store has come to %d: what was committed between is lost", l.Last(), s.commits)
	}
	return frames, nil
}

// replayDecisions gives Badger what it lacks of decisions.log.
func (s *Store) replayDecisions(frames []decisions.Frame) error {
	for _, f := range frames {
		t := s.db.Begin(true)
		for e, err := range f.Entries() {
			if err == nil {
				err = t.Restore(bytes.Clone(e.Key), bytes.Clone(e.Value))
			}
			if err != nil {
				t.Discard()
				return err
			}
		}
		err := t.Commit(f.Last)
		t.Discard()
		if err != nil {
			return err
		}
		s.commits = f.Last
	}
	return nil
}
