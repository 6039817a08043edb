package index

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// propertyStore is a store of n nodes in a ring, with integer properties, which are not indexed.
func propertyStore(tb testing.TB, n int, names []string, values func(i int) []kv.Value) *kv.Store {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "store")
	var columns []kv.Column
	for _, name := range names {
		columns = append(columns, kv.Column{Name: name, Kind: kv.KindInt})
	}
	loader := must.Get(kv.NewLoader(tb.Context(), dir, kv.LoadOptions{Properties: columns}))(tb)
	for i := range n {
		must.Do(tb, loader.AddNode(kv.Node{ID: strconv.Itoa(i), Values: values(i)}))
	}
	for i := range n {
		must.Do(tb, loader.AddEdge(strconv.Itoa(i), strconv.Itoa((i+1)%n), 0))
	}
	must.Get(loader.Commit(context.Background(), nil))(tb)
	return open(tb, dir)
}

func integer(name string, op Op, value int64) Predicate { return Compare{name, op, kv.ValueOf(value)} }

// exclusive is a store in which every third node has a = 1 and every third b = 1, and none both, except the last
// twenty.
func exclusive(tb testing.TB, n int) *kv.Store {
	return propertyStore(tb, n, []string{"a", "b"}, func(i int) []kv.Value {
		a, b := 0, 0
		switch {
		case i >= n-20:
			a, b = 1, 1
		case i%3 == 0:
			a = 1
		case i%3 == 1:
			b = 1
		}
		return []kv.Value{kv.ValueOf(int64(a)), kv.ValueOf(int64(b))}
	})
}

func TestWalkInFileOrderGivesWay(t *testing.T) {
	const n = 20_000
	tx := exclusive(t, n).Begin()
	defer tx.Close()
	plan := must.Get(NewPlan(tx, Query{Where: and(integer("a", Eq, 1), integer("b", Eq, 1)), Limit: 3}))(t)
	if plan.way != byFileOrder {
		t.Fatalf("got plan %v, want a walk in file order", plan)
	}
	got := rowsOf(t, plan)
	var ids []string
	for _, v := range got {
		id := must.Get(tx.ID(v))(t)
		ids = append(ids, id)
	}
	if want := []string{"19980", "19981", "19982"}; !slices.Equal(ids, want) {
		t.Errorf("got nodes %q, want %q\n%v", ids, want, plan)
	}
	if rows := plan.reads.Rows; rows > n+walkRows {
		t.Errorf("%d rows touched for matches that come last, want at most %d\n%v", rows, n+walkRows, plan)
	}
	want := "\n  given up unfinished, for\n    where (and (eq a 1) (eq b 1))\n      all nodes, in blocks"
	if !strings.Contains(plan.String(), want) {
		t.Errorf("plan after it gave way: got\n%v\nwant it to have%s", plan, want)
	}
	if n, err := plan.Count(context.Background()); err != nil || n != 3 || strings.Contains(plan.String(), "given up") {
		t.Errorf("count: got %d, %v, want 3\n%v", n, err, plan)
	}
}

// A walk in the order of an index gives way too, when the rows that the residual keeps have the least scores.
func TestWalkOfAnIndexGivesWay(t *testing.T) {
	const n = 20_000
	s := propertyStore(t, n, []string{"rank", "a"}, func(i int) []kv.Value {
		a := int64(0)
		if i < n/50 {
			a = 1
		}
		return []kv.Value{kv.ValueOf(int64(i)), kv.ValueOf(a)}
	})
	must.Do(t, Create(context.Background(), s, "rank"))
	tx := s.Begin()
	defer tx.Close()
	plan := must.Get(NewPlan(tx, Query{Where: integer("a", Eq, 1), Order: []Order{{"rank", true}}, Limit: 2}))(t)
	if plan.way != byOrderedIndex {
		t.Fatalf("got plan %v, want a walk of the index on rank", plan)
	}
	var ranks []int64
	for _, v := range rowsOf(t, plan) {
		rank := must.Get(tx.Value(v, "rank"))(t)
		ranks = append(ranks, rank.Int())
	}
	if want := []int64{n/50 - 1, n/50 - 2}; !slices.Equal(ranks, want) {
		t.Errorf("got ranks %d, want %d\n%v", ranks, want, plan)
	}
	if got := plan.reads; plan.gaveWay == nil || got.Rows > 2*n {
		t.Errorf("touched %+v, want at most %d rows, and that the walk gave way\n%v", got, 2*n, plan)
	}
}

// A scan for the best few leaves out blocks that have none of them, in either direction, nulls among them.
func TestScanForTheBest(t *testing.T) {
	const n = 20_000
	tx := propertyStore(t, n, []string{"late", "early"}, func(i int) []kv.Value {
		values := []kv.Value{{}, {}}
		if i >= n/2 {
			values[0] = kv.ValueOf(int64(i / 3))
		}
		if i < n/2 {
			values[1] = kv.ValueOf(int64(i / 3))
		}
		return values
	}).Begin()
	defer tx.Close()
	for _, c := range []struct {
		order Order
		want  []string // ids
	}{
		{Order{"late", false}, []string{"10000", "10001", "10002", "10003"}}, // 3333 twice, 3334 thrice
		{Order{"late", true}, []string{"19998", "19999", "19995", "19996"}},
		{Order{"early", false}, []string{"0", "1", "2", "3"}},
		{Order{"early", true}, []string{"9999", "9996", "9997", "9998"}},
	} {
		plan := must.Get(NewPlan(tx, Query{Order: []Order{c.order}, Limit: len(c.want)}))(t)
		var ids []string
		for _, v := range rowsOf(t, plan) {
			id := must.Get(tx.ID(v))(t)
			ids = append(ids, id)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("best by %+v: got %q, want %q\n%v", c.order, ids, c.want, plan)
		}
		if got := plan.reads; got.SkippedBlocks == 0 && c.order != (Order{"late", true}) {
			t.Errorf("best by %+v: touched %+v, want some blocks skipped\n%v", c.order, got, plan)
		}
	}
}
