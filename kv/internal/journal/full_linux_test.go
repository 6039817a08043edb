package journal

import (
	"errors"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestNoRoomAhead has room for commits and not for zeros ahead of them: the commits are written as long as they fit, and the one that does
// not fit leaves those before it.
func TestNoRoomAhead(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system to fill needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	l, err := Create(dir, "j", testStore, 0)
	must.Do(t, err)
	defer l.Close()
	l.Ahead = 1 << 20
	commits := 0
	for ; err == nil; commits++ {
		err = l.AppendCommit([]Entry{{[]byte("key"), make([]byte, 20<<10)}})
	}
	if commits--; !errors.Is(err, syscall.ENOSPC) || l.Failed() != nil || commits < 8 {
		t.Errorf("got %v after %d commits (%v), want no room after 8 or more", err, commits, l.Failed())
	}
	if c, got := read(t, dir); len(got) != commits || c.Torn || len(c.Damage) > 0 {
		t.Errorf("got %+v and %d frames, want %d", c, len(got), commits)
	}
}
