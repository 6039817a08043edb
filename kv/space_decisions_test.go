package kv

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// decidedBefore is a closed store whose decisions were made before spaces were kept twice.
func decidedBefore(t *testing.T) (dir string) {
	t.Helper()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	update(t, s, func(tx *Tx) error { return tx.Space(decisionsSpace).Put([]byte("first"), []byte("entry")) })
	closeStore(t, s)
	return s.Dir()
}

// loseDecisions loses the tables and the log of a store that have a decision, repairs it, and returns what it then has.
func loseDecisions(t *testing.T, dir string) (value string, done []Correction) {
	t.Helper()
	damagedStores.Store(dir, true)
	lost := 0
	for _, pattern := range []string{"*.sst", "*.mem"} {
		for _, name := range fileNames(t, dir, pattern) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && bytes.Contains(text, []byte("entry")) {
				lost++
				err = os.Remove(filepath.Join(dir, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if lost == 0 {
		t.Fatal("no file has the decision")
	}
	done = repaired(t, dir)
	damagedStores.Delete(dir)
	s := openStore(t, dir, Options{})
	view(t, s, func(tx *Tx) error {
		got, err := tx.Space(decisionsSpace).Get([]byte("first"))
		if value = string(got); errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	})
	checkClean(t, s)
	closeStore(t, s)
	return value, done
}

// TestOldDecisionsAreKeptTwice loses the tables with the decisions of stores that come of an earlier format, or whose
// decisions were made before spaces were kept twice: Repair brings them back, without that one more was made.
func TestOldDecisionsAreKeptTwice(t *testing.T) {
	t.Parallel()
	for name, have := range map[string]func(t *testing.T) string{
		"opened": func(t *testing.T) string {
			dir := decidedBefore(t)
			closeStore(t, openStore(t, dir, Options{}))
			return dir
		},
		"opened and killed": func(t *testing.T) string {
			dir := decidedBefore(t)
			openStore(t, dir, Options{})
			return copyStore(t, dir)
		},
		"restored": func(t *testing.T) string {
			s := openStore(t, decidedBefore(t), Options{ReadOnly: true})
			var file bytes.Buffer
			if _, err := s.Backup(t.Context(), &file, BackupOptions{}); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "restored")
			_, err := Restore(t.Context(), dir, []io.Reader{&file}, RestoreOptions{MemoryBudget: minMemoryBudget})
			if err != nil {
				t.Fatal(err)
			}
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, done := loseDecisions(t, have(t)); got != "entry" {
				t.Errorf("got the decision %q after %v, want it back", got, done)
			}
		})
	}
	for version := 1; version < formatVersion; version++ {
		dir, _ := unpackKept(t, version, "plain")
		if _, _, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}); err != nil {
			t.Fatal(err)
		}
		if got, done := loseDecisions(t, dir); got != "entry" {
			t.Errorf("migrated from version %d: got the decision %q after %v, want it back", version, got, done)
		}
	}
}

// TestDecisionsAreMarkedOnce opens a store whose decisions are kept twice.
func TestDecisionsAreMarkedOnce(t *testing.T) {
	t.Parallel()
	dir := decidedBefore(t)
	var commits [2]uint64
	for i := range commits {
		s := openStore(t, dir, Options{})
		commits[i] = s.commits
		closeStore(t, s)
	}
	if commits[0] != 4 || commits[1] != commits[0] {
		t.Errorf("got commits up to %d, want 4 after each opening", commits)
	}
}
