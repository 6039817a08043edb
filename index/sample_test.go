package index

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func planned(t testing.TB, tx *kv.Tx, where Predicate) (*planner, Predicate) {
	t.Helper()
	s, err := newSchema(tx, Properties(where), nil)
	if err != nil {
		t.Fatalf("%v: %v", where, err)
	}
	return newPlanner(tx, s, Query{}), s.simplify(where)
}

func TestSampledShares(t *testing.T) {
	for _, n := range []int{1, 7, 100, 512, 513, 9001} {
		s := propertyStore(t, n, []string{"tenth", "seldom", "some"}, func(i int) []kv.Value {
			values := []kv.Value{kv.IntValue(int64(i % 10)), kv.IntValue(0), {}}
			if i%2 == 0 {
				values[2] = kv.IntValue(int64(i % 4))
			}
			return values
		})
		tx := s.Begin()
		defer tx.Close()
		for _, p := range []Predicate{
			integer("tenth", Eq, 3), integer("tenth", Ge, 5), integer("seldom", Ne, 0), IsNull{"some"},
			not(IsNull{"some"}), integer("some", Lt, 2), not(In{"tenth", []kv.Value{kv.IntValue(1), kv.IntValue(9)}}),
			integer("degree", Ge, 2),
		} {
			pl, where := planned(t, tx, p)
			got, err := pl.share(where)
			if err != nil {
				t.Fatalf("%d nodes, %v: %v", n, p, err)
			}
			count := 0
			holds := must.Get(newReader(tx, nil).condition(where))(t)
			for v := range kv.NodeID(n) {
				if outcome, err := holds(v); err != nil {
					t.Fatal(err)
				} else if outcome == isTrue {
					count++
				}
			}
			want, tolerance := float64(count)/float64(n), 0.05
			if n <= sampleStretches*sampleRows {
				tolerance = 1e-9 // the sample is all nodes
			}
			if math.Abs(got-want) > tolerance {
				t.Errorf("%d nodes, %v: share estimated at %v, want %v, within %v", n, p, got, want, tolerance)
			}
		}
	}
}

// stars is a store of n nodes, where node i has about n/(i+1)^2 neighbours of its own choice: few of high degree.
func stars(tb testing.TB, n int) *kv.Store {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "store")
	loader := must.Get(kv.NewLoader(tb.Context(), dir, kv.LoadOptions{}))(tb)
	for i := range n {
		must.Do(tb, loader.AddNode(kv.Node{ID: strconv.Itoa(i), Label: fmt.Sprint("class ", i%3)}))
	}
	for i := range n {
		for j := range n / (i + 1) / (i + 1) {
			must.Do(tb, loader.AddEdge(strconv.Itoa(i), strconv.Itoa((i+1+j*7)%n), 0))
		}
	}
	must.Get(loader.Commit(context.Background(), nil))(tb)
	s := open(tb, dir)
	must.Do(tb, Create(context.Background(), s, "label"))
	return s
}

func TestDegreeShares(t *testing.T) {
	const n = 20_000
	s := stars(t, n)
	tx := s.Begin()
	defer tx.Close()
	degrees := make([]uint32, n)
	must.Do(t, tx.ReadDegrees(kv.Range{End: n}, degrees))
	for op := Eq; op <= Ge; op++ {
		for _, bound := range []float64{-1, 0, 0.5, 1, 2, 3, 10, 100, 1000, 5000, 1e6} {
			p := Compare{"degree", op, kv.FloatValue(bound)}
			pl, _ := planned(t, tx, p)
			share, err := pl.degreeShare(p)
			if err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			want := 0.0
			for _, d := range degrees {
				if newTest(p)(kv.IntValue(int64(d))) == isTrue {
					want++
				}
			}
			if got := share * n; math.Abs(got-want) > searchTolerance*min(want, n-want)+1e-6 {
				t.Errorf("%v: %v of %d nodes estimated, want %v within %v", p, got, n, want, searchTolerance)
			}
		}
	}
}

// Queries of few nodes of high degree read one block of nodes, with and without a limit.
func TestDegreeBoundsLeaveOutBlocks(t *testing.T) {
	const n, block, class = 60_000, 4096, 20_000
	tx := stars(t, n).Begin()
	defer tx.Close()
	hubs := integer("degree", Gt, 1000)
	for _, c := range []struct {
		name string
		q    Query
		rows int64 // touched at most
	}{
		{"hubs", Query{Where: hubs, Limit: -1}, block},
		{"hubs, limited", Query{Where: hubs, Limit: 3}, block},
		{"hubs of a class, limited", Query{Where: and(label(Eq, "class 1"), hubs), Limit: 3}, block},
		{"no hubs, limited", Query{Where: and(label(Eq, "class 1"), integer("degree", Gt, n)), Limit: 3}, 0},
		{"nodes of low degree, limited", Query{Where: integer("degree", Ge, 1), Limit: 3}, 2 * firstBatch},
		{"first nodes", Query{Limit: 10}, 0},
		{"highest degrees", Query{Order: []Order{{"degree", true}}, Limit: 5}, block},
		{"lowest degrees of a class", Query{Where: label(Eq, "class 1"), Order: []Order{{"degree", false}}, Limit: 5}, class},
	} {
		plan, err := NewPlan(tx, c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows := rowsOf(t, plan)
		if got := plan.Reads(); got.Rows > c.rows {
			t.Errorf("%s: %d rows found by touching %+v, want at most %d rows\n%v", c.name, len(rows), got, c.rows, plan)
		}
	}
}
