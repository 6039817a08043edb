package kv

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestUpdatesBesideCheck commits until the journal begins another file, from inside a Check that has begun to read tables:
// once the second copy of spaces is compared nothing waits for the Check.
func TestUpdatesBesideCheck(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	update(t, s, func(tx *Tx) error {
		decisions := tx.Space("decisions")
		return errors.Join(decisions.KeepTwice(), decisions.Put([]byte("first"), []byte("a decision")))
	})
	closeStore(t, s) // which makes a table
	s = openStore(t, s.Dir(), Options{})
	update(t, s, func(tx *Tx) error { return tx.Space("decisions").Put([]byte("second"), []byte("in the journal")) })
	asked := false
	progress := func(string, int64, int64) {
		if asked {
			return
		}
		asked = true
		if !s.copying.TryLock() {
			t.Error("Check holds the second copy while it reads tables")
			return
		}
		s.copying.Unlock()
		first := s.journal.Segments()[0].Sequence
		for i := 0; i < 1000 && s.journal.Segments()[0].Sequence == first; i++ {
			update(t, s, func(tx *Tx) error {
				err := tx.Space("decisions").Put(fmt.Append(nil, i), []byte("a decision"))
				for j := range 15 {
					err = errors.Join(err, tx.Space("s").Put(fmt.Append(nil, i, j), make([]byte, MaxSpaceValue)))
				}
				return err
			})
		}
		if s.journal.Segments()[0].Sequence == first {
			t.Error("the journal was not made shorter")
		}
	}
	if err := s.Check(t.Context(), progress, func(p Problem) { t.Error(p) }); err != nil || !asked {
		t.Errorf("got %v, asked %t", err, asked)
	}
}

// TestCheckHoldsTheJournal has Updates commit between the beginning of a Check and its comparing of the second copy: what it
// reads in the journal is of its own snapshot, and stays until it has.
func TestCheckHoldsTheJournal(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	put := func(value string) {
		update(t, s, func(tx *Tx) error {
			decisions := tx.Space("decisions")
			return errors.Join(decisions.KeepTwice(), decisions.Put([]byte("key"), []byte(value)))
		})
	}
	put("before")
	tx := s.Begin()
	defer tx.Close()
	base, last, known, err := s.checkJournal()
	if err != nil || !known || last != s.commits {
		t.Fatalf("got a journal of commits after %d to %d, %t (%v), want to %d", base, last, known, err, s.commits)
	}
	c := newChecker(tx, nil, func(p Problem) { t.Error(p) })
	c.copied = new(spaceCopy)
	must.Do(t, s.beginCheckCopy(tx, c.copied, base, last))
	put("later")
	if s.copying.TryLock() {
		t.Error("the files of the journal may be removed")
		s.copying.Unlock()
	}
	must.Do(t, c.copies(t.Context()))
	if !s.copying.TryLock() {
		t.Fatal("the files of the journal are still held")
	}
	s.copying.Unlock()
}

// TestRefusedCommitIsThereLater has Badger refuse a transaction that the journal has: it is committed, and says so; nothing more
// is written, and the next open finds it.
func TestRefusedCommitIsThereLater(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	refused := s.Update(func(tx *Tx) error {
		return errors.Join(tx.PutDocument("documents", "last", "committed"), s.db.Badger().Close())
	})
	if !errors.Is(refused, ErrFailed) || !errors.Is(refused, ErrCommitted) || !strings.HasPrefix(refused.Error(), "committed") {
		t.Errorf("got %v, want an ErrFailed and ErrCommitted that says committed", refused)
	}
	if err := s.db.Failed(); !errors.Is(err, ErrFailed) {
		t.Errorf("the store goes on writing: got %v", err)
	}
	dir := copyAtRest(t, s.Dir())
	s.mu.Lock()
	s.closed = true // Badger is
	s.mu.Unlock()
	if err := s.journal.Close(); err != nil {
		t.Error(err)
	}
	again := openStore(t, dir, Options{})
	view(t, again, func(tx *Tx) error {
		var got string
		if err := tx.Document("documents", "last", &got); err != nil || got != "committed" {
			t.Errorf("opened again: got %q (%v), want what was committed", got, err)
		}
		return nil
	})
	closeStore(t, again)
}
