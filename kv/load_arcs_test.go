package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// An arcRow is a row of an edges file.
type arcRow struct {
	src, dst string
	weight   float32
}

// randomArcRows draws nodes, with ids that are dense, sparse or words, and rows of edges between them: loops, parallel
// ones, and ones in both directions.
func randomArcRows(r *rand.Rand, f codec.ArcForm) (ids []string, rows []arcRow) {
	n := []int{1, 2, 6, 40}[r.IntN(4)]
	format := []string{"%d", "%d7", "x%d"}[r.IntN(3)]
	for i := range n {
		ids = append(ids, fmt.Sprintf(format, i))
	}
	for range r.IntN(6 * n) {
		row := arcRow{ids[r.IntN(n)], ids[r.IntN(1+r.IntN(n))], 1}
		for range 1 + r.IntN(6)/4 {
			if f.Weighted {
				row.weight = []float32{1, 2, r.Float32() + 0.01, 1e-6, 16777216}[r.IntN(5)]
			}
			rows = append(rows, row)
			if r.IntN(2) == 0 {
				row.src, row.dst = row.dst, row.src
			}
		}
	}
	return ids, rows
}

// arcTotals are the weights of the arcs by the ids of their ends, and what a load should count.
func arcTotals(f codec.ArcForm, rows []arcRow) (totals map[[2]string]float32, loops, parallel int64) {
	weights := map[[2]string][]float64{}
	for _, row := range rows {
		if row.src == row.dst {
			loops++
			continue
		}
		ends := [][2]string{{row.src, row.dst}}
		if !f.Directed {
			ends = append(ends, [2]string{row.dst, row.src})
		}
		if len(weights[ends[0]]) > 0 {
			parallel++
		}
		for _, e := range ends {
			weights[e] = append(weights[e], float64(row.weight))
		}
	}
	totals = map[[2]string]float32{}
	for e, all := range weights {
		slices.Sort(all)
		sum := 0.0
		for _, w := range all {
			sum += w
		}
		if !f.Weighted {
			sum = 1
		}
		totals[e] = float32(sum)
	}
	return totals, loops, parallel
}

func loadArcs(t *testing.T, dir string, ids []string, rows []arcRow, opt LoadOptions, writers int) (Stats, error) {
	t.Helper()
	l := must.Get(NewLoader(t.Context(), dir, opt))(t)
	for i, id := range ids {
		must.Do(t, l.AddNode(Node{ID: id, Source: int64(i)}))
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			edges := l.EdgeWriter()
			for i := w; i < len(rows); i += writers {
				if err := edges.AddWeighted(rows[i].src, rows[i].dst, rows[i].weight, int64(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return l.Commit(t.Context(), nil)
}

func TestLoadArcs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Of(9, 54)) {
		r := rand.New(rand.NewPCG(seed, 3))
		f := arcForms[1+seed%3]
		ids, rows := randomArcRows(r, f)
		totals, loops, parallel := arcTotals(f, rows)
		dir := filepath.Join(t.TempDir(), "graph")
		opt := LoadOptions{MemoryBudget: []int64{1, 64 << 20}[seed%2], Directed: f.Directed, Weighted: f.Weighted}
		stats, err := loadArcs(t, dir, ids, rows, opt, 1+r.IntN(3))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		s := openTest(t, dir)
		checkClean(t, s)
		must.Do(t, s.View(func(tx *Tx) error {
			m := &arcModel{form: f, nodes: len(ids), arcs: map[edge]float32{}}
			for e, w := range totals {
				u := must.Get(tx.Node(e[0]))(t)
				v := must.Get(tx.Node(e[1]))(t)
				m.arcs[edge{u, v}] = w
			}
			m.verify(t, tx)
			want := Stats{Nodes: int64(len(ids)), Edges: tx.Shape().Edges, SelfLoops: loops, ParallelEdges: parallel,
				Weighted: f.Weighted}
			if f.Directed {
				want.Arcs = int64(len(totals))
			}
			if stats != want {
				t.Fatalf("seed %d, %+v: got %+v, want %+v", seed, f, stats, want)
			}
			return nil
		}))
	}
}

// TestLoadRefusesWeights has weights of one pair of nodes whose sum is no number.
func TestLoadRefusesWeights(t *testing.T) {
	const large = 3e38
	for _, rows := range [][]arcRow{{{"a", "b", large}, {"a", "b", large}}, {{"a", "b", large}, {"b", "a", large}}} {
		for _, directed := range []bool{false, true} {
			_, err := loadArcs(t, filepath.Join(t.TempDir(), "graph"), []string{"c", "b", "a"}, rows,
				LoadOptions{MemoryBudget: 1 << 20, Weighted: true, Directed: directed}, 1)
			if !errors.Is(err, ErrInvalidEdge) || !strings.Contains(err.Error(), `nodes "b" and "a"`) {
				t.Errorf("%v, directed %v: got %v, want ErrInvalidEdge between b and a", rows, directed, err)
			}
		}
	}
}
