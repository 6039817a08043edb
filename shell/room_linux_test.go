package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCleanLooksForRoom cleans on a disk that is too small: clean says so before it trains a classifier, and so does
// estimate.
func TestCleanLooksForRoom(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	const n, classes = 10_000, 40
	nodes, edges := []byte("id,label\n"), []byte("src,dst\n")
	for i := range n {
		nodes = fmt.Appendf(nodes, "%d,c%d\n", i, i%classes)
		edges = fmt.Appendf(edges, "%d,%d\n%d,%d\n", i, (i+classes)%n, i, (i+3*classes)%n)
	}
	inputs := t.TempDir()
	for name, text := range map[string][]byte{"nodes.csv": nodes, "edges.csv": edges} {
		if err := os.WriteFile(filepath.Join(inputs, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := filepath.Join(dir, "g")
	mustRun(t, "import", "--nodes", filepath.Join(inputs, "nodes.csv"), "--edges", filepath.Join(inputs, "edges.csv"), g)
	got := run(t, "", "clean", g)
	if got.code != exitFailed || !strings.Contains(got.err, g+": not enough room on disk: ") ||
		!strings.Contains(got.err, "MiB free, want ") ||
		strings.Contains(got.err, "training") {
		t.Errorf("clean: got exit code %d and %s, want the room that is free and wanted, before any training", got.code,
			got.err)
	}
	if got := mustRun(t, "estimate", g); !strings.Contains(got, g+": not enough room on disk: ") ||
		!strings.Contains(got, ": does not fit;") {
		t.Errorf("estimate: got %s, want the room that is free and wanted", got)
	}
}
