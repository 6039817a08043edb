package shell

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// reviewedTemplate is the directory that reviewedStore copies.
var reviewedTemplate struct {
	made sync.Once
	dir  string
}

// reviewedStore makes a new working directory with a store "g" of two communities that was cleaned, and in which
// somebody decided on some nodes: it has indexes, runs and a history, and is closed.
func reviewedStore(t testing.TB) {
	t.Helper()
	reviewedTemplate.made.Do(func() {
		makeReviewedStore(t)
		dir, err := os.MkdirTemp("", "reviewed")
		must.Do(t, errors.Join(err, memdir.Copy(".", dir)))
		reviewedTemplate.dir = dir
	})
	if reviewedTemplate.dir == "" {
		t.Fatal("the store cannot be made")
	}
	t.Chdir(t.TempDir())
	must.Do(t, memdir.Copy(reviewedTemplate.dir, "."))
}

// makeReviewedStore imports the graph, cleans it and decides, in a new working directory.
func makeReviewedStore(t testing.TB) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	const n = 240
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,year\n")
	edges.WriteString("src,dst\n")
	for v := range n {
		label := []string{"even", "odd"}[v%2]
		if v%20 == 3 {
			label = "even"
		}
		fmt.Fprintf(&nodes, "node %d,%s,%d\n", v, label, 1990+r.IntN(30))
		for range 3 {
			fmt.Fprintf(&edges, "node %d,node %d\n", v, (v+2*(1+r.IntN(n/2-1)))%n)
		}
	}
	writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	mustRun(t, "clean", "g", "--hops", "2")
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(s *kv.Store) error {
		for v := range kv.NodeID(12) {
			requests := []decide.Request{
				{Node: v, Kind: decide.Relabel, To: "odd"}, {Node: v + 20, Kind: decide.Reject}, {Node: v + 40, Kind: decide.Unlabel},
			}
			if _, err := decide.Write(t.Context(), s, requests, decide.Options{Who: "tester"}); err != nil {
				return err
			}
		}
		_, err := cleaner.Undo(t.Context(), s, 2, decide.Options{Who: "tester"})
		return err
	}))
}
