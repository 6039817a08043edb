package kv

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/load"
)

// addEdges adds a graph's edges through so many writers at once, those of integers as such by turns.
func (g *testGraph) addEdges(l *Loader, writers int) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			w := l.EdgeWriter()
			for j := i; j < len(g.src) && errs[i] == nil; j += writers {
				src, notSrc := strconv.ParseUint(g.src[j], 10, 64)
				dst, notDst := strconv.ParseUint(g.dst[j], 10, 64)
				if notSrc == nil && notDst == nil && j%3 > 0 {
					errs[i] = w.AddIntegers(src, dst, int64(j+2))
					continue
				}
				errs[i] = w.Add(g.src[j], g.dst[j], int64(j+2))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (g *testGraph) addNodes(l *Loader) error {
	for i, id := range g.ids {
		if err := l.AddNode(Node{ID: id, Label: g.labels[i], Values: []Value{g.years[i]}, Source: int64(i + 2)}); err != nil {
			return err
		}
	}
	return nil
}

// A load makes the same records whatever memory and goroutines it has. With little memory it sorts edges on disk, and
// ids of text are joined.
func TestLoadIsTheSameAtAnyBudget(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 11))
	for _, prefix := range []string{"", "word ", strings.Repeat("long ", 160)} {
		g := &testGraph{}
		const n = 2000
		for i := range n {
			g.ids = append(g.ids, prefix+strconv.Itoa((i*7919+5)%n*3)) // permuted, with gaps
			g.labels = append(g.labels, "c"+strconv.Itoa(r.IntN(5)))
			g.years = append(g.years, ValueOf(int64(r.IntN(9))))
		}
		for range 12000 {
			g.src, g.dst = append(g.src, g.ids[r.IntN(n)]), append(g.dst, g.ids[r.IntN(1+r.IntN(n))])
		}
		var want map[string]string
		var wantStats Stats
		for _, budget := range []int64{1, 1 << 18, 1 << 30} {
			for _, workers := range []int{1, 2, 4} {
				if !longtest.Asked() && (budget == 1<<18) != (workers == 2) { // each budget and each number at least once
					continue
				}
				dir := filepath.Join(t.TempDir(), "graph")
				spilled := 0
				var l *Loader
				progress := func(stage string, _, _ int64) {
					if stage == load.StageEdges {
						names := must.Get(filepath.Glob(filepath.Join(l.work.sort(), "spill-*")))(t)
						spilled = max(spilled, len(names))
					}
				}
				l = must.Get(NewLoader(t.Context(), dir, LoadOptions{
					MemoryBudget: budget, Workers: workers, Properties: []Column{{Name: "year", Kind: KindInt}},
					Progress: progress,
				}))(t)
				must.Do(t, errors.Join(g.addNodes(l), g.addEdges(l, workers)))
				stats := must.Get(l.Commit(t.Context(), nil))(t)
				if (spilled > 0) != (budget < 1<<30) {
					t.Errorf("budget %d: got %d files of spilled edges", budget, spilled)
				}
				s := openTest(t, dir)
				checkClean(t, s)
				got := graphRecords(t, s)
				if want == nil {
					want, wantStats = got, stats
				}
				if !maps.Equal(got, want) || stats != wantStats {
					t.Errorf("ids like %.10s, budget %d, %d workers: got other records, or %+v, want %+v", prefix, budget, workers,
						stats, wantStats)
				}
			}
		}
	}
}

func TestAddingAllocatesNothing(t *testing.T) {
	l, err := NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), LoadOptions{MemoryBudget: 1 << 30})
	must.Do(t, err)
	defer func() { must.Do(t, l.Abort()) }()
	const n = 200000
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(n - 1 - i)
	}
	next := 0
	perNode := testing.AllocsPerRun(n/2, func() {
		err = errors.Join(err, l.AddNode(Node{ID: ids[next], Label: "a", Source: int64(next)}))
		next++
	})
	for ; next < n; next++ {
		err = cmp.Or(err, l.AddNode(Node{ID: ids[next], Label: "a"}))
	}
	w := l.EdgeWriter()
	edge := 0
	perEdge := testing.AllocsPerRun(n, func() {
		err = errors.Join(err, w.Add(ids[edge%n], ids[edge*7919%n], int64(edge)))
		edge++
	})
	must.Do(t, err)
	if perNode > 0.01 || perEdge > 0.01 {
		t.Errorf("got %v allocations a node and %v an edge, want none", perNode, perEdge)
	}
	must.Get(l.Commit(t.Context(), nil))(t)
}
