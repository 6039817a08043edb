package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A graph that is loaded takes the estimated space on the disk, whatever its edges have.
func TestLoadTakesAsMuchAsEstimated(t *testing.T) {
	const nodes, rows = 20_000, 200_000
	for _, c := range []struct{ directed, weighted bool }{{}, {true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("directed=%v weighted=%v", c.directed, c.weighted), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{MemoryBudget: 64 << 20, Directed: c.directed, Weighted: c.weighted}))(t)
			defer func() { must.Do(t, l.Abort()) }()
			for v := range nodes {
				must.Do(t, l.AddNode(kv.Node{ID: strconv.Itoa(v)}))
			}
			random := rand.New(rand.NewPCG(1, 2))
			end := func() int { return int(nodes * random.Float64() * random.Float64()) } // low numbers are hubs
			edges, degrees := map[[2]int]bool{}, make([]uint32, nodes)
			w := l.EdgeWriter()
			for range rows {
				u, v := end(), end()
				weight := float32(1)
				if c.weighted {
					weight = float32(1 + random.IntN(4))
				}
				must.Do(t, w.AddWeighted(strconv.Itoa(u), strconv.Itoa(v), weight, 0))
				if pair := [2]int{min(u, v), max(u, v)}; u != v && !edges[pair] {
					edges[pair] = true
					degrees[u]++
					degrees[v]++
				}
			}
			must.Get(l.Commit(t.Context(), nil))(t)
			slices.Sort(degrees)
			slices.Reverse(degrees)
			g := loadedGraph{nodes: nodes, rows: rows, edges: int64(len(edges)), directed: c.directed, degrees: degrees}
			if c.weighted {
				g.weightBytes = 1
			}
			const node = 12 // bytes of a node beside its edges
			want := float64(diskBytes(t, dir) - node*nodes)
			if got := float64(g.estimateLoad(64<<20, 2).adjacencyBytes); got < want/1.15 || got > want*1.15 {
				t.Errorf("got %.0f bytes of adjacency, the tables have %.0f", got, want)
			}
		})
	}
}

// With less memory, a load holds less and uses files.
func TestMemoryOfALoad(t *testing.T) {
	g := loadedGraph{nodes: 1 << 20, rows: 1 << 26, edges: 1 << 26, degrees: []uint32{1 << 10}}
	most := func(budget int64) (most int64) {
		for _, m := range g.estimateLoad(budget, 2).moments {
			most = max(most, m.mapped+m.live-m.blank)
		}
		if most > budget {
			t.Errorf("with a budget of %d bytes: got %d bytes held", budget, most)
		}
		return most
	}
	little, much := most(256<<20), most(16<<30)
	if little >= much {
		t.Errorf("got %d bytes with little memory, %d with much", little, much)
	}
	const ids = 8 << 20 // bytes of a file that there always is
	if much, little := g.estimateLoad(16<<30, 2).temporaryBytes, g.estimateLoad(256<<20, 2).temporaryBytes; much != ids || little <= ids {
		t.Errorf("got %d bytes of files with much memory, %d with little, want %d and more", much, little, ids)
	}
}

func TestWritingStore(t *testing.T) {
	const table = 8 << 20
	for _, c := range []struct {
		budget, written int64
		closing         bool
		want            memoryUse
	}{
		{0, 0, false, memoryUse{live: table * 13 / 10, blank: table * 13 / 10}},
		{64 << 20, table, true, memoryUse{live: 2*(table*13/10) + table, blank: 2*(table*13/10) - table}},
		{64 << 20, 100 * table, false, memoryUse{live: 3*(table*13/10) + table, blank: 3*(table*13/10) - 3*table}},
	} {
		got := writingStore(c.budget, c.written, c.closing)
		if d := got.live - c.want.live; d > 8 || d < -8 || got.blank-c.want.blank != d || got.mapped != 0 {
			t.Errorf("a budget of %d bytes, %d written, closing %v: got %+v, want %+v", c.budget, c.written, c.closing, got, c.want)
		}
	}
}

func diskBytes(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	tables := must.Get(filepath.Glob(filepath.Join(dir, "*.sst")))(t)
	for _, table := range tables {
		info := must.Get(os.Stat(table))(t)
		bytes += info.Size()
	}
	return bytes
}
