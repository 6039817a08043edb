package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestEndsOfEdges makes nodes of ends of edges.
func TestEndsOfEdges(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"nodes.csv": "id,label\n3,a\n1,b\n", "edges.csv": "src,dst\n1,3\n3,4\n5,1\n4,5\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	said := ""
	g := Graph{Nodes: filepath.Join(dir, "nodes.csv"), Edges: filepath.Join(dir, "edges.csv"), EdgeNodes: true}
	stats := must.Get(g.Load(t.Context(), filepath.Join(dir, "g"), Job{Notice: func(text string) { said += text }}))(t)
	if stats.Nodes != 4 || stats.Labelled != 2 || stats.Edges != 4 || !strings.Contains(said, "2 ends of edges") {
		t.Errorf("got %+v and %q, want 4 nodes, 2 of them ends of edges", stats, said)
	}
}
