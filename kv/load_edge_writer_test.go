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
			errs[i] = errors.Join(errs[i], w.Close(), w.Close())
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

func TestLoadIsTheSameWithAnyWorkers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 11))
	for _, prefix := range []string{"", "word "} {
		g := &testGraph{}
		const n = 2000
		for i := range n {
			g.ids = append(g.ids, prefix+strconv.Itoa((i*7919+5)%n*3)) // permuted, with gaps
			g.labels = append(g.labels, "c"+strconv.Itoa(r.IntN(5)))
			g.years = append(g.years, IntValue(int64(r.IntN(9))))
		}
		for range 8000 {
			g.src, g.dst = append(g.src, g.ids[r.IntN(n)]), append(g.dst, g.ids[r.IntN(1+r.IntN(n))])
		}
		var want map[string]string
		var wantStats LoadStats
		for _, budget := range []int64{1, 1 << 18, 1 << 30} {
			for _, workers := range []int{1, 2, 4} {
				if !longtest.Asked() && (budget == 1<<18) != (workers == 2) { // each budget and each number at least once
					continue
				}
				dir := filepath.Join(t.TempDir(), "graph")
				l := must.Get(NewLoader(t.Context(), dir, LoadOptions{
					MemoryBudget: budget, Workers: workers, Properties: []Column{{Name: "year", Kind: KindInt}},
				}))(t)
				must.Do(t, errors.Join(g.addNodes(l), g.addEdges(l, workers)))
				stats := must.Get(l.Commit(t.Context(), nil))(t)
				s := openTest(t, dir)
				checkClean(t, s)
				got := graphRecords(t, s)
				if want == nil {
					want, wantStats = got, stats
				}
				if !maps.Equal(got, want) || stats != wantStats {
					t.Errorf("ids like %s1, budget %d, %d workers: got other records, or %+v, want %+v", prefix, budget, workers, stats, wantStats)
				}
			}
		}
	}
}

// Ids that memory does not hold are joined by several sorters at once, with the same graph as in memory.
func TestLongIDsAreTheSameBeyondMemory(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 12))
	g := &testGraph{}
	const n = 2500
	long := strings.Repeat("long ", 160)
	for i := range n {
		g.ids = append(g.ids, long+strconv.Itoa(i*7919%n))
		g.labels, g.years = append(g.labels, "c"+strconv.Itoa(i%5)), append(g.years, IntValue(int64(i)))
	}
	for range 4000 {
		src, dst := g.ids[r.IntN(n)], g.ids[r.IntN(1+r.IntN(n))]
		g.src, g.dst = append(g.src, src), append(g.dst, dst)
	}
	var want map[string]string
	for _, c := range []struct {
		budget  int64
		workers int
	}{{1 << 30, 2}, {6 << 20, 3}, {6 << 20, 1}} {
		dir := filepath.Join(t.TempDir(), "graph")
		l := must.Get(NewLoader(t.Context(), dir, LoadOptions{
			MemoryBudget: c.budget, Workers: c.workers, Properties: []Column{{Name: "year", Kind: KindInt}},
		}))(t)
		must.Do(t, errors.Join(g.addNodes(l), g.addEdges(l, c.workers)))
		must.Get(l.Commit(t.Context(), nil))(t)
		s := openTest(t, dir)
		checkClean(t, s)
		got := graphRecords(t, s)
		if want == nil {
			want = got
		}
		if !maps.Equal(got, want) {
			t.Errorf("%+v: got other records than in memory", c)
		}
	}
}

func TestEdgeWriterErrors(t *testing.T) {
	l := must.Get(NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), LoadOptions{}))(t)
	early := l.EdgeWriter()
	if err := l.AddNode(Node{ID: "late"}); err == nil {
		t.Error("AddNode after EdgeWriter: got no error")
	}
	must.Do(t, errors.Join(early.Close(), l.Abort()))
	if err := l.EdgeWriter().Add("a", "b", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("EdgeWriter after Abort: got %v, want ErrClosed", err)
	}
	if _, err := NewLoader(t.Context(), filepath.Join(t.TempDir(), "graph"), LoadOptions{Workers: -1}); err == nil {
		t.Error("NewLoader with -1 workers: got no error")
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
	must.Do(t, errors.Join(err, w.Close()))
	if perNode > 0.01 || perEdge > 0.01 {
		t.Errorf("got %v allocations a node and %v an edge, want none", perNode, perEdge)
	}
	must.Get(l.Commit(t.Context(), nil))(t)
}
