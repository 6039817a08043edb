//go:build linux || darwin

package lsm

import (
	"errors"
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestMergesOfMovedDirectories merges the tables of a directory that was moved: no table is made at the path, or removed
// there, and the moved one is as it was.
func TestMergesOfMovedDirectories(t *testing.T) {
	t.Parallel()
	dir := sessions(t, 3)
	d := openTest(t, dir)
	moved := dir + "-moved"
	if err := errors.Join(os.Rename(dir, moved), os.CopyFS(dir, os.DirFS(moved))); err != nil {
		t.Fatal(err)
	}
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
