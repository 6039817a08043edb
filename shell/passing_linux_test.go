package shell

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// smallDisk mounts a file system of a size.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() { must.Do(t, syscall.Unmount(dir, 0)) })
	return dir
}

// TestFullDiskOfAnAsker has files of a command not fit on their disk. The old ones stay, and nothing is beside them.
func TestFullDiskOfAnAsker(t *testing.T) {
	longStore(t)
	must.Do(t, os.Symlink(smallDisk(t, "64k"), "small"))
	write(t, map[string]string{"small/old.csv": "old"})
	serving(t, "g")
	for _, args := range []string{"export g labels --out small/old.csv", "backup g small/new.backup"} {
		got := run(t, "", strings.Fields(args)...)
		if got.code != exitFailed || !strings.Contains(got.err, "no space left on device") {
			t.Errorf("%s: got %+v, want no space", args, got)
		}
	}
	content, err := os.ReadFile("small/old.csv")
	t.Chdir("small")
	if names := listDir(t); err != nil || string(content) != "old" || !slices.Equal(names, []string{"old.csv"}) {
		t.Errorf("got %.20q, %v, and the files %v", content, err, names)
	}
	t.Chdir("..")
}
