package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestDemoGraph(t *testing.T) {
	g, again := newDemoGraph(500, 7), newDemoGraph(500, 7)
	if !slices.Equal(g.label, again.label) || !slices.Equal(g.edges, again.edges) {
		t.Error("the same seed gave two graphs")
	}
	if got, want := len(g.mislabels()), 45; got != want {
		t.Errorf("planted: got %d, want %d", got, want)
	}
	degree := make([]int, 500)
	inField := 0
	for _, e := range g.edges {
		degree[e[0]]++
		degree[e[1]]++
		if g.field[e[0]] == g.field[e[1]] {
			inField++
		}
	}
	if share := float64(inField) / float64(len(g.edges)); share < 0.7 || share > 0.95 {
		t.Errorf("edges inside of a field: got a share of %.2f, want 0.7 to 0.95", share)
	}
	if hub := slices.Max(degree); hub < 30 {
		t.Errorf("largest degree: got %d, want a hub of 30 or more", hub)
	}
	if !slices.Contains(degree, 0) {
		t.Error("no isolated paper, want some")
	}
}

// What an earlier demo left is removed, and nothing else is.
func TestDemoClear(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	c := demoCommand{Dir: "g"}
	if err := c.clear("g.files"); err == nil || !strings.Contains(err.Error(), "g is there and is not of an earlier demo") {
		t.Errorf("a store of one's own: got %v", err)
	}
	must.Do(t, os.Mkdir("g.files", 0o755))
	must.Do(t, os.WriteFile(filepath.Join("g.files", demoMark), []byte("some other store\n"), 0o644))
	if err := c.clear("g.files"); err == nil || !strings.Contains(err.Error(), "g is there and is not the store of the earlier demo") {
		t.Errorf("another store where a demo was: got %v", err)
	}
	mustRun(t, "check", "g")
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error { return mark("g.files", store.ID()) }))
	if err := c.clear("g.files"); err != nil {
		t.Errorf("the demo's own store: got %v", err)
	}
	if names := listDir(t); slices.Contains(names, "g") {
		t.Error("the demo's own store is still there")
	}
}
