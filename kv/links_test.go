package kv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// linked moves a file or directory, and puts a symbolic link in its place.
func linked(t *testing.T, path string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
		t.Fatal(err)
	}
}

// TestRepairBehindLinks repairs a store that is reached by a symbolic link, or whose directories work and quarantine are such,
// and undoes that.
func TestRepairBehindLinks(t *testing.T) {
	t.Parallel()
	undamaged := everyKind(t, 50)
	for _, link := range []string{".", storedir.WorkName, storedir.QuarantineName} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			dir := copyStore(t, undamaged)
			flipTable(t, dir)
			before := bytesOf(t, dir)
			if link != "." {
				if err := os.Mkdir(filepath.Join(dir, link), storedir.Mode); err != nil {
					t.Fatal(err)
				}
			}
			linked(t, filepath.Join(dir, link))
			if len(repaired(t, dir)) == 0 {
				t.Error("nothing was repaired")
			}
			checkClean(t, openStore(t, copyStore(t, dir), Options{}))
			if err := undo(t, dir); err != nil {
				t.Fatal(err)
			}
			after := bytesOf(t, dir)
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s is not as it was", name)
				}
			}
		})
	}
}

// TestModesBehindALink opens a store that is reached by a symbolic link: its files get its mode.
func TestModesBehindALink(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	dir := s.Dir()
	closeStore(t, s)
	linked(t, dir)
	table := filepath.Join(dir, "MANIFEST")
	if err := os.Chmod(table, 0o666); err != nil {
		t.Fatal(err)
	}
	closeStore(t, openStore(t, dir, Options{}))
	info, err := os.Stat(table)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v (%v), want 0600", info.Mode(), err)
	}
}

// TestQuarantineElsewhere has the quarantine on another file system, to which files cannot move: nothing is changed.
func TestQuarantineElsewhere(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 50)
	flipTable(t, dir)
	elsewhere, err := os.MkdirTemp(".", "quarantine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	if elsewhere, err = filepath.Abs(elsewhere); err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(t.TempDir(), "probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Rename(probe, filepath.Join(elsewhere, "probe")) == nil {
		t.Skip("there is one file system")
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, storedir.QuarantineName)); err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, dir)
	_, err = Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
	if err == nil || !strings.Contains(err.Error(), "do not move between it and its directory quarantine") {
		t.Errorf("got %v, want an error that says that files do not move", err)
	}
	for name, text := range bytesOf(t, dir) {
		if text != before[name] {
			t.Errorf("%s is not as it was", name)
		}
	}
	if err := os.Remove(filepath.Join(dir, storedir.QuarantineName)); err != nil {
		t.Fatal(err)
	}
	if len(repaired(t, dir)) == 0 {
		t.Error("without the link nothing was repaired")
	}
}
