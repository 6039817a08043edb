package shell

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBackupOnFullDisk: a backup that has no room prints no summary, and leaves no file.
func TestBackupOnFullDisk(t *testing.T) {
	reviewedStore(t)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("a disk of few bytes cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	got := run(t, "", "backup", "g", filepath.Join(disk, "b"))
	if got.code != exitFailed || got.out != "" || !strings.Contains(got.err, "room") {
		t.Errorf("got exit code %d, %q and %q, want no summary and a word of the room", got.code, got.out, got.err)
	}
	if left, err := filepath.Glob(filepath.Join(disk, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
