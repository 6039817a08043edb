//go:build linux || darwin

package lsm

import (
	"errors"
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestMergesOfMovedDirectories merges the tables of a directory that was moved: no table is made at the path, or
// removed there, and the moved one is as it was.
func TestMergesOfMovedDirectories(t *testing.T) {
	t.Parallel()
	dir := sessions(t, 3)
	d := openTest(t, dir)
	moved := dir + "-moved"
	must.Do(t, errors.Join(os.Rename(dir, moved), os.CopyFS(dir, os.DirFS(moved))))
	if err := d.Flatten(); !errors.Is(err, storedir.ErrMoved) {
		t.Errorf("merging: got %v, want ErrMoved", err)
	}
	if crashed, err := d.Close(false); !crashed || !errors.Is(err, storedir.ErrMoved) {
		t.Errorf("closing: got %v and a crash: %t, want ErrMoved and one", err, crashed)
	}
	for _, path := range []string{dir, moved} {
		d := openTest(t, path)
		if got := len(d.db.Tables()); got != 3 {
			t.Errorf("%s: got %d tables, want the 3 of before", path, got)
		}
		closeTest(t, d)
	}
}

// TestReadersOfMovedDirectories ends readers of tables that were merged away before the directory was moved: the files
// of these names at the path stay.
func TestReadersOfMovedDirectories(t *testing.T) {
	t.Parallel()
	readers := map[string]func(d *DB, move func()) error{
		"iterator": func(d *DB, move func()) error {
			return d.View(func(txn *Txn) error {
				it := txn.Iterator(nil, false)
				defer it.Close()
				move()
				return nil
			})
		},
		"lookups": func(d *DB, move func()) error {
			return d.View(func(txn *Txn) error {
				defer txn.Lookups(nil).Close()
				move()
				return nil
			})
		},
		"check": func(d *DB, move func()) error {
			return d.holdTables(func([]uint64) error {
				move()
				return nil
			})
		},
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sessions(t, 5) // so many that Badger merges them
			d := openTest(t, dir)
			var want []string
			must.Do(t, read(d, func() {
				must.Do(t, d.Flatten())
				want = tablesIn(t, dir)
				moved := dir + "-moved"
				must.Do(t, errors.Join(os.Rename(dir, moved), os.CopyFS(dir, os.DirFS(moved))))
			}))
			for _, path := range want {
				if info, err := os.Stat(path); err != nil || info.Size() == 0 {
					t.Errorf("a table of the other store: got %v, want it as it was", err)
				}
			}
			if _, err := d.Close(false); !errors.Is(err, storedir.ErrMoved) {
				t.Errorf("closing: got %v, want ErrMoved", err)
			}
		})
	}
}
