package shell

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// graphText is the files of a graph whose degrees fall from node to node.
func graphText(nodes, edges, classes int, id string, seed uint64) (nodesFile, edgesFile string) {
	random := rand.New(rand.NewPCG(seed, 0))
	var n, m strings.Builder
	n.WriteString("id,label\n")
	for v := range nodes {
		fmt.Fprintf(&n, "%s%d,c%d\n", id, v, v%classes)
	}
	m.WriteString("src,dst\n")
	draw := func() int { return int(math.Pow(random.Float64(), 2) * float64(nodes)) }
	for range edges {
		fmt.Fprintf(&m, "%s%d,%s%d\n", id, draw(), id, draw())
	}
	return n.String(), m.String()
}

func estimated(t *testing.T, args ...string) (e estimate) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(mustRun(t, append([]string{"estimate", "g", "--format", "json"}, args...)...)), &e))
	return e
}

// TestEstimateOfTheDisk compares the size of a store with the one that was estimated.
func TestEstimateOfTheDisk(t *testing.T) {
	size := longtest.Of(4_000, 40_000)
	nodes, edges := graphText(size, 15*size/2, 3, "", 1)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	before := estimated(t, "--hops", "2")
	mustRun(t, "clean", "g", "--hops", "2")
	if ratio := float64(before.Cleaned) / float64(estimated(t).Store); ratio < 1/1.5 || ratio > 1.5 {
		t.Errorf("got %.2f of the size of the cleaned store, want it within a factor of 1.5", ratio)
	}
}

// TestLeastMemory compares the least memory for an amount of work with the first that is enough, one MiB after another.
func TestLeastMemory(t *testing.T) {
	const mebibyte = 1 << 20
	before := int64(-1)
	for memory := leastMemory; memory < 1<<30; memory += mebibyte {
		enough := (&resources{Memory: memory}).work()
		for _, work := range []int64{before + 1, enough} {
			if got := leastMemoryFor(work); got != int64(memory) {
				t.Fatalf("%d bytes of work: got %d bytes, want %d", work, got, memory)
			}
		}
		before = enough
	}
}
