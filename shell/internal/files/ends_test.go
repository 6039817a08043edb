package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// countedFiles counts how often each file is opened.
type countedFiles struct {
	stream.System
	opened map[string]int
}

func (f countedFiles) Open(ctx context.Context, path string) (*stream.File, error) {
	f.opened[filepath.Base(path)]++
	return f.System.Open(ctx, path)
}

// TestEndsOfEdges makes nodes of ends of edges. The nodes file is read once more only where its ids may be written in
// another way than those of the edges, and then the way is told.
func TestEndsOfEdges(t *testing.T) {
	for _, c := range []struct {
		name         string
		nodes, edges []string
		want         string // of the warning; empty: there is none, and the nodes file is not read again
	}{
		{"some nodes are not listed", []string{"0", "1", "2", "3"}, []string{"0,1", "2,3", "3,4", "5,0"}, ""},
		{"words", []string{"ada", "bob"}, []string{"ada,bob", "bob,eve"}, ""},
		{"counted from 1", []string{"0", "1", "2", "3"}, []string{"1,2", "2,3", "3,4"}, "1 less"},
		{"counted from 0", []string{"1", "2", "3", "4"}, []string{"0,1", "1,2", "2,3"}, "1 more"},
		{"one is a float", []string{"1", "2", "3", "4"}, []string{"1,2", "3,4", "1,4.0"}, ".0"},
		{"a blank", []string{"1", "2 ", "3", "4"}, []string{"1,2", "3,4", "1,4"}, "blanks"},
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
			files, warning := countedFiles{opened: map[string]int{}}, ""
			g := Graph{Nodes: Names{filepath.Join(dir, "nodes.csv")}, Edges: Names{filepath.Join(dir, "edges.csv")},
				EdgeNodes: true}
			job := Job{Warn: func(text string) { warning += text }}
			must.Get(g.Load(stream.WithFiles(t.Context(), files), filepath.Join(dir, "g"), job))(t)
			if (c.want == "") != (warning == "") || !strings.Contains(warning, c.want) {
				t.Errorf("got the warning %q, want %q", warning, c.want)
			}
			if opened := files.opened["nodes.csv"]; c.want == "" && opened != 1 {
				t.Errorf("got the nodes file opened %d times, want once", opened)
			}
		})
	}
}
