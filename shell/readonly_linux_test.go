package shell

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestCrashedStoreOnReadOnlyFileSystem reads a store that was not closed where it cannot be repaired: the message is
// that it was not closed, and what to do.
func TestCrashedStoreOnReadOnlyFileSystem(t *testing.T) {
	cleanedFiles(t)
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(*kv.Store) error {
		return os.CopyFS("crashed", os.DirFS("g")) // as a kill leaves it
	}))
	must.Do(t, os.Mkdir("at", 0o755))
	if err := unix.Mount("crashed", "at", "", unix.MS_BIND, ""); err != nil {
		t.Skipf("this process may not mount: %v", err)
	}
	t.Cleanup(func() { must.Do(t, unix.Unmount("at", 0)) })
	if err := unix.Mount("", "at", "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("this process may not mount read-only: %v", err)
	}
	for _, args := range [][]string{{"shell", "at", "--read-only", "-c", "history"}, {"check", "at"},
		{"export", "at", "labels", "--out", "-"}} {
		got := run(t, "", args...)
		if got.code != exitFailed || !strings.Contains(got.err, "was not closed properly: open it once for writing") ||
			!strings.Contains(got.err, "here it cannot be written to (read-only file system)") ||
			strings.Contains(got.err, "only opened read-only") {
			t.Errorf("%q: got exit code %d and %s, want that it was not closed and is to be opened elsewhere", args,
				got.code, got.err)
		}
	}
	mustRun(t, "shell", "crashed", "--read-only", "-c", "history") // where it can be written
	mustRun(t, "shell", "at", "--read-only", "-c", "history")
}
