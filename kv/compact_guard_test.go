package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// blockTables makes files of the names that Badger's next tables would have, so that it cannot make them, and returns
// what removes them.
func blockTables(t *testing.T, s *Store, count uint64) (unblock func()) {
	t.Helper()
	var newest uint64
	for _, info := range s.db.Badger().Tables() {
		newest = max(newest, info.ID)
	}
	var made []string
	for id := newest + 1; id <= newest+count; id++ {
		f, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("%06d.sst", id)), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		must.Do(t, errors.Join(err, f.Close()))
		made = append(made, f.Name())
	}
	return func() {
		for _, name := range made {
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
	}
}

// documentSessions is how many times documentStore opens its store: those of the first five are merged.
const documentSessions = 7

// documentStore makes a store of documents, each of which every session writes, with tables of two levels.
func documentStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	s, err := Create(dir, Options{MemoryBudget: minMemoryBudget})
	for session := range documentSessions {
		if session > 0 {
			s, err = Open(dir, Options{MemoryBudget: minMemoryBudget})
		}
		must.Do(t, err)
		err = s.Update(func(tx *Tx) error {
			for i := range 20 {
				if err := tx.PutDocument("test", fmt.Sprint(i), fmt.Sprint(session, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if session == documentSessions-2 {
			err = errors.Join(err, s.db.Badger().Flatten(1))
		}
		must.Do(t, errors.Join(err, s.Close()))
	}
	return dir
}

// holdsDocuments expects what the last session wrote, in a store that is whole.
func holdsDocuments(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	must.Do(t, err)
	defer closeStore(t, s)
	err = s.View(func(tx *Tx) error {
		for i := range 20 {
			var got string
			if err := tx.Document("test", fmt.Sprint(i), &got); err != nil {
				return err
			}
			if want := fmt.Sprint(documentSessions-1, i); got != want {
				t.Errorf("document %d is %q, want %q", i, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A table that cannot be made while Compact merges loses nothing: not where the store is closed, nor where its process
// is killed instead.
func TestCompactKeepsWhatItCannotMerge(t *testing.T) {
	t.Parallel()
	dir := documentStore(t)
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	unblock := blockTables(t, s, 20)
	if err := s.Compact(t.Context(), nil); !errors.Is(err, ErrFailed) || errors.Is(err, ErrCorrupt) {
		t.Errorf("Compact returned %v, want ErrFailed", err)
	}
	if err := s.View(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("View returned %v, want ErrFailed: what was to be merged cannot be read", err)
	}
	if err := s.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("Update returned %v, want ErrFailed", err)
	}
	unblock()
	killed := copyStore(t, dir)
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("Close returned %v, want ErrFailed", err)
	}
	for _, dir := range []string{killed, dir} {
		holdsDocuments(t, dir)
		again := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
		if err := errors.Join(again.Compact(t.Context(), nil), again.Close()); err != nil {
			t.Error(err)
		}
		holdsDocuments(t, dir)
	}
}

// A merge in the background that cannot make a table ends reading and writing, and loses nothing.
func TestBackgroundMergeKeepsWhatItCannotMerge(t *testing.T) {
	t.Parallel()
	dir := documentStore(t)
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	unblock := blockTables(t, s, 20)
	if err := s.db.Badger().Flatten(1); err != nil { // a merge that the store knows nothing of
		t.Fatal(err)
	}
	killed := copyStore(t, dir)
	for what, err := range map[string]error{
		"View":   s.View(func(*Tx) error { return nil }),
		"Update": s.Update(func(*Tx) error { return nil }),
	} {
		if !errors.Is(err, ErrFailed) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s returned %v, want ErrFailed", what, err)
		}
	}
	unblock()
	if err := s.Close(); !errors.Is(err, ErrFailed) || errors.Is(err, ErrCorrupt) {
		t.Errorf("Close returned %v, want ErrFailed", err)
	}
	for _, dir := range []string{killed, dir} {
		holdsDocuments(t, dir)
	}
}
