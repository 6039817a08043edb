//go:build linux || darwin

package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// checkModes compares the modes of a store's directory and of all that is in it.
func checkModes(t *testing.T, dir string, want fs.FileMode) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := want
		if !entry.IsDir() {
			files++
			mode = want & 0o666
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), mode)
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("got %d files, %v", files, err)
	}
}

// TestModes makes stores in every way, whatever the umask is, and shares one.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077} {
		t.Run("", func(t *testing.T) {
			before := syscall.Umask(umask)
			defer syscall.Umask(before)
			s := numbered(t, 30, false, LoadOptions{})
			must.Do(t, s.Compact(t.Context(), nil))
			file, _ := backupOf(t, s, nil)
			work, done, err := s.Work(t.Context())
			must.Do(t, err)
			must.Do(t, work.Put("kept", []byte("text")))
			must.Do(t, done())
			closeStore(t, s)
			checkModes(t, s.Dir(), storedir.Mode)
			restored := restoreAll(t, file)
			closeStore(t, restored)
			checkModes(t, restored.Dir(), storedir.Mode)
			created := newStore(t, Options{})
			addNodes(t, created, 3)
			closeStore(t, created)
			checkModes(t, created.Dir(), storedir.Mode)

			must.Do(t, os.Chmod(created.Dir(), 0o750))
			s = openStore(t, created.Dir(), Options{})
			update(t, s, func(tx *Tx) error { return tx.AddEdge(0, 1) })
			closeStore(t, s)
			checkModes(t, created.Dir(), 0o750)
		})
	}
}

// TestModesOfLoads looks at the directory that a load works in, and loads into an empty one that is there.
func TestModesOfLoads(t *testing.T) {
	for _, mode := range []fs.FileMode{0, storedir.Mode, 0o750, 0o755} {
		dir, want := filepath.Join(t.TempDir(), "graph"), storedir.Mode
		if mode != 0 {
			want = mode
			must.Do(t, errors.Join(os.Mkdir(dir, mode), os.Chmod(dir, mode)))
		}
		l := must.Get(NewLoader(t.Context(), dir, LoadOptions{MemoryBudget: minMemoryBudget}))(t)
		must.Do(t, l.AddNode(Node{ID: "a"}))
		if info, err := os.Stat(l.work.path); err != nil || info.Mode().Perm() != storedir.Mode {
			t.Errorf("%s: got mode %v, %v; want %v", l.work.path, info.Mode(), err, storedir.Mode)
		}
		must.Get(l.Commit(t.Context(), nil))(t)
		checkModes(t, dir, want)
	}
}
