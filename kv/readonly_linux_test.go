package kv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// readOnlyMount makes what is in a directory visible on a file system that is read-only, or skips the test where this
// process may not.
func readOnlyMount(t *testing.T, dir string) string {
	t.Helper()
	at := t.TempDir()
	if err := unix.Mount(dir, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("this process may not mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("this process may not mount read-only: %v", err)
	}
	return at
}

// TestReadOnlyFileSystem reads a store where nothing can be written, and is told so where it would write.
func TestReadOnlyFileSystem(t *testing.T) {
	dir := everyKind(t, 300)
	want := exported(t, dir)
	at := readOnlyMount(t, dir)
	if err := os.WriteFile(filepath.Join(at, "new"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("writing: got %v, want EROFS", err)
	}
	s := openStore(t, at, Options{ReadOnly: true})
	got, err := export(s)
	if err != nil || got != want {
		t.Errorf("reading: got other data, %v", err)
	}
	checkClean(t, s)
	second := openStore(t, at, Options{ReadOnly: true}) // readers share
	closeStore(t, second)
	closeStore(t, s)
	_, err = Open(at, Options{})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("for writing: got %v, want that it can be read", err)
	}
	_, err = Repair(t.Context(), at, Options{}, nil, func(Correction) {})
	if !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "repair a copy of it elsewhere") {
		t.Errorf("repairing: got %v, want EBUSY", err)
	}
	parent := readOnlyMount(t, filepath.Dir(dir))
	_, err = Repair(t.Context(), filepath.Join(parent, filepath.Base(dir)), Options{}, nil, func(Correction) {})
	if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "repair a copy of it elsewhere") {
		t.Errorf("repairing: got %v, want EROFS", err)
	}
}

// TestReadOnlyFileSystemAfterCrash has a store that was not closed where it cannot be closed: the message says so.
func TestReadOnlyFileSystemAfterCrash(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	at := readOnlyMount(t, copyStore(t, s.Dir()))
	_, err := Open(at, Options{ReadOnly: true})
	if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), "open it once for writing") {
		t.Errorf("got %v, want ErrCrashed with advice", err)
	}
}
