package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestEndsOfEdges makes nodes of ends of edges. It warns where most nodes have no edge.
func TestEndsOfEdges(t *testing.T) {
	for _, c := range []struct {
		name         string
		nodes, edges []string
		want         string // of the warning; empty: there is none
	}{
		{"some nodes are not listed", []string{"0", "1", "2", "3"}, []string{"0,1", "2,3", "3,4", "5,0"}, ""},
		{"words", []string{"ada", "bob"}, []string{"ada,bob", "bob,eve"}, ""},
		{"others", []string{"a", "b", "c"}, []string{"x,y", "y,z"}, "Only 0 of the 3 labelled nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			nodes, edges := "id,label\n", "src,dst\n"+strings.Join(c.edges, "\n")+"\n"
			for i, id := range c.nodes {
				nodes += fmt.Sprintf("%s,%c\n", id, 'a'+i%2)
			}
			for name, text := range map[string]string{"nodes.csv": nodes, "edges.csv": edges} {
				must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			warning := ""
			g := Graph{Nodes: Names{filepath.Join(dir, "nodes.csv")}, Edges: Names{filepath.Join(dir, "edges.csv")},
				EdgeNodes: true}
			job := Job{Warn: func(text string) { warning += text }}
			must.Get(g.Load(t.Context(), filepath.Join(dir, "g"), job))(t)
			if (c.want == "") != (warning == "") || !strings.Contains(warning, c.want) {
				t.Errorf("got the warning %q, want %q", warning, c.want)
			}
		})
	}
}
