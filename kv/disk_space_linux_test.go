package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// mountSmall mounts a file system in memory, which only root may. The returned function changes its size.
func mountSmall(t *testing.T, size string) (dir string, resize func(size string)) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system to fill needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir, func(size string) {
		t.Helper()
		must.Do(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size))
	}
}

// TestLoadOnFullDisk begins a load where there is no room for its directory.
func TestLoadOnFullDisk(t *testing.T) {
	dir, _ := mountSmall(t, "1m,nr_inodes=1")
	if _, err := NewLoader(t.Context(), filepath.Join(dir, "graph"), LoadOptions{}); !errors.Is(err, ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
}

// TestLoadIntoMountPoint is refused at the start: the store cannot take the place of what a file system is mounted on.
func TestLoadIntoMountPoint(t *testing.T) {
	dir, _ := mountSmall(t, "1m")
	_, err := NewLoader(t.Context(), dir, LoadOptions{})
	if !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "such as "+filepath.Join(dir, "graph")) {
		t.Errorf("got %v, want EBUSY and another path", err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("got %v (%v) beside the mount point, want nothing left behind", left, err)
	}
}

// fill takes all the room that is left, except for some bytes.
func fill(t *testing.T, dir string, left int64) (file string) {
	t.Helper()
	free := must.Get(storedir.FreeBytes(dir))(t)
	file = filepath.Join(dir, "filler")
	must.Do(t, os.WriteFile(file, make([]byte, max(free-left, 0)), 0o600))
	return file
}

// writeMuch writes 20 MB into a Bulk, and gives it up when it fails.
func writeMuch(s *Store) error {
	b, err := s.Bulk(context.Background())
	if err != nil {
		return err
	}
	defer b.Abort()
	put, err := b.Space("much")
	if err != nil {
		return err
	}
	for i := range 400 {
		if err := put(fmt.Appendf(nil, "%05d", i), make([]byte, 50_000)); err != nil {
			return err
		}
	}
	return b.Commit(nil)
}

// TestFullDisk fills the disk under a store in every phase of its life.
func TestFullDisk(t *testing.T) {
	root, _ := mountSmall(t, "60m")
	dir := filepath.Join(root, "store")
	s := must.Get(Create(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	addNodes(t, s, 10)
	update(t, s, func(tx *Tx) error { return tx.AddColumn("x", KindInt) })
	write := func(s *Store, i int64) error {
		return s.Update(func(tx *Tx) error {
			if err := tx.Documents("big").Put("text", strings.Repeat("0123456789", 20_000)); err != nil {
				return err
			}
			return tx.SetValue(0, "x", ValueOf(i))
		})
	}
	verify := func(s *Store, want int64) {
		t.Helper()
		checkClean(t, s)
		view(t, s, func(tx *Tx) error {
			got, err := tx.Value(0, "x")
			if err == nil && got.Int() != want {
				t.Errorf("got value %d, want %d", got.Int(), want)
			}
			return err
		})
	}

	// Updates until there is no more room.
	filler := fill(t, root, 8<<20)
	last := int64(0)
	for {
		err := write(s, last+1)
		if errors.Is(err, ErrNoSpace) {
			break
		}
		must.Do(t, err)
		last++
	}
	if last == 0 {
		t.Fatal("no update had room in 8 MiB")
	}
	verify(s, last)
	if err := writeMuch(s); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Bulk: got %v, want ErrNoSpace", err)
	}
	verify(s, last)
	closeStore(t, s)

	// Full to the last byte: it can be read, not written.
	must.Do(t, os.Remove(filler))
	filler = fill(t, root, 0)
	if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrNoSpace) ||
		!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "MiB free, want") {
		t.Errorf("got %v, want ErrNoSpace that names the store and the room", err)
	}
	s = openStore(t, dir, Options{ReadOnly: true})
	verify(s, last)
	closeStore(t, s)

	// Room again, and then another process takes it: the store stays open until there is room to close.
	must.Do(t, os.Remove(filler))
	s = must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	must.Do(t, write(s, 1000))
	filler = fill(t, root, 0)
	if err := s.Close(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Close: got %v, want ErrNoSpace", err)
	}
	verify(s, 1000)

	// A crash in that state: writing needs room.
	must.Do(t, os.Remove(filler))
	crashed := filepath.Join(root, "crashed")
	must.Do(t, os.CopyFS(crashed, os.DirFS(dir)))
	closeStore(t, s)
	filler = fill(t, root, 0)
	if _, err := Open(crashed, Options{ReadOnly: true}); !errors.Is(err, ErrCrashed) {
		t.Errorf("crashed, read-only: got %v, want ErrCrashed", err)
	}
	if _, err := Open(crashed, Options{}); !errors.Is(err, ErrNoSpace) {
		t.Errorf("crashed: got %v, want ErrNoSpace", err)
	}
	must.Do(t, os.Remove(filler))
}
