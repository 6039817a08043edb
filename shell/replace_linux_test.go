package shell

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A store in the place of which no other can be put is refused before the other is made.
func TestReplaceMountPoint(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	must.Do(t, os.Mkdir("at", 0o700))
	if err := unix.Mount("none", "at", "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("this process may not mount: %v", err)
	}
	t.Cleanup(func() { must.Do(t, unix.Unmount("at", 0)) })
	must.Do(t, os.CopyFS("at", os.DirFS("g")))
	before, id := listDir(t), storeID(t, "at")
	got := run(t, "", "import", "at", "--nodes", "nodes.csv", "--edges", "absent.csv", "--replace", "--yes")
	if want := "at cannot be replaced: a file system is mounted on it"; got.code != exitFailed || !strings.Contains(got.err, want) {
		t.Errorf("got exit code %d and %s, want %s", got.code, got.err, want)
	}
	if after := listDir(t); !slices.Equal(after, before) || storeID(t, "at") != id {
		t.Errorf("left behind: %v, want %v; store %s, want %s", after, before, storeID(t, "at"), id)
	}
}
