package shell

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
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

// TestCleanLooksForRoom cleans on a disk that is too small: clean says so before it trains a classifier, and so does
// estimate. TestRoomIsEnough cleans on disks that have just as much room as the estimate says.
func TestCleanLooksForRoom(t *testing.T) {
	g := filepath.Join(smallDisk(t, "8m"), "g")
	nodes, edges := graphText(10_000, 20_000, 40, "", 1)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	mustRun(t, "import", "--nodes", "nodes.csv", "--edges", "edges.csv", g)
	const want = ": not enough room on disk: "
	got := run(t, "", "clean", g)
	if got.code != exitFailed || !strings.Contains(got.err, g+want) || !strings.Contains(got.err, "MiB free, want ") ||
		strings.Contains(got.err, "training") {
		t.Errorf("clean: got %+v, want the room that is free and wanted, before any training", got)
	}
	if got := mustRun(t, "estimate", g); !strings.Contains(got, g+want) || !strings.Contains(got, "clean refuses: ") {
		t.Errorf("estimate: got %s, want the room that is free and wanted", got)
	}
}

func TestRoomIsEnough(t *testing.T) {
	for _, c := range []struct{ nodes, edges, classes int }{{300, 900, 3}, {1000, 3000, 60}} {
		dir := smallDisk(t, "128m")
		nodes, edges := graphText(c.nodes, c.edges, c.classes, "", 1)
		writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
		g := filepath.Join(dir, "g")
		mustRun(t, "import", "--nodes", "nodes.csv", "--edges", "edges.csv", g)
		var room int64
		must.Do(t, withStore(g, kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			return store.View(func(tx *kv.Tx) error {
				e, err := cleaner.PlanClean(t.Context(), tx, cleaner.Options{})
				if err == nil {
					room = e.RoomBytes
				}
				return err
			})
		}))
		var used syscall.Statfs_t
		must.Do(t, syscall.Statfs(dir, &used))
		const spare = 512 << 10 // of the files that opening the store makes
		size := int64(used.Blocks-used.Bfree)*used.Bsize + room + spare
		must.Do(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
		if got := run(t, "", "clean", g); got.code != 0 {
			t.Errorf("%d nodes, %d classes, %d bytes of room: got exit code %d and %s", c.nodes, c.classes, room,
				got.code, got.err)
		}
	}
}
