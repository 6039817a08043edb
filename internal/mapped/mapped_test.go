//go:build linux || darwin

package mapped_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestGuard touches a page of a file that was cut short.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file")
	must.Do(t, os.WriteFile(path, make([]byte, 1<<16), 0o600))
	f := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_SHARED)
	must.Do(t, err)
	defer unix.Munmap(data) //nolint:errcheck // the process ends soon
	must.Do(t, f.Truncate(0))
	sum := 0
	err = mapped.Guard(func() error {
		sum += int(data[1<<15])
		return nil
	})
	fault, ok := errors.AsType[*mapped.Fault](err)
	if !ok {
		t.Fatalf("got %v, want a *Fault", err)
	}
	if runtime.GOOS == "linux" && fault.Path != path {
		t.Errorf("got %q, want %q", fault.Path, path)
	}
	if debug.SetPanicOnFault(false) {
		t.Error("faults panic after Guard")
	}
	t.Log(err, sum)
}

// TestGuardOfOtherPanics hands on what is no fault.
func TestGuardOfOtherPanics(t *testing.T) {
	want := errors.New("a panic")
	defer func() {
		if got := recover(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}()
	t.Errorf("Guard returned %v", mapped.Guard(func() error { panic(want) }))
}
