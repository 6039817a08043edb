package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// emptyStore is a store of n nodes without edges and one string column, indexed, that is sound when the test ends.
func emptyStore(t testing.TB, n int) *kv.Store {
	t.Helper()
	s := storeToDamage(t, n)
	t.Cleanup(func() { mustEndSound(t, s) })
	return s
}

// mustEndSound fails the test where a store that it left open, or its indexes, are not sound.
func mustEndSound(t testing.TB, s *kv.Store) {
	t.Helper()
	if err := s.View(func(*kv.Tx) error { return nil }); errors.Is(err, kv.ErrClosed) {
		return
	}
	kvtest.Check(t, s)
	mustBeSound(t, s)
}

// storeToDamage is an emptyStore that may end as it likes.
func storeToDamage(t testing.TB, n int) *kv.Store {
	t.Helper()
	s := must.Get(kv.Create(t.TempDir()+"/store", kv.Options{MemoryBudget: 64 << 20, OnWrite: Maintain}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	update(t, s, func(tx *kv.Tx) error {
		for i := range n {
			if _, err := tx.AddNode(kv.Node{ID: fmt.Sprint("n", i)}); err != nil {
				return err
			}
		}
		return tx.AddColumn("title", kv.KindString)
	})
	must.Do(t, Create(context.Background(), s, "title"))
	return s
}

// Entries set and unset in transactions, before and after they are folded into leaves, are those of a sorted slice, in
// any range, up and down.
func TestPostingsAgainstSortedSlice(t *testing.T) {
	for seed := range uint64(longtest.Of(2, 12)) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := emptyStore(t, 4000)
		values := make([]string, 4000) // of each node; "" for none
		for round := range 6 {
			update(t, s, func(tx *kv.Tx) error {
				for range []int{0, 3000, 5, 700, 0, 3000}[round] {
					v, title := r.IntN(len(values)), fmt.Sprint("title ", r.IntN(900))
					if r.IntN(4) == 0 {
						title = ""
					}
					value := kv.ValueOf(title)
					if title == "" {
						value = kv.Value{}
					}
					values[v] = title
					must.Do(t, tx.SetValue(kv.NodeID(v), "title", value))
				}
				return comparePostings(t, tx, values, r) // a transaction sees what it wrote itself
			})
			if round%2 == 1 {
				must.Do(t, Compact(context.Background(), s))
			}
			view(t, s, func(tx *kv.Tx) error { return comparePostings(t, tx, values, r) })
			mustBeSound(t, s)
		}
	}
}

func comparePostings(t *testing.T, tx *kv.Tx, values []string, r *rand.Rand) error {
	var all []string
	for v, title := range values {
		if title != "" {
			key, _ := appendKey(nil, kv.ValueOf(title))
			all = append(all, string(newEntry(key, kv.NodeID(v))))
		}
	}
	slices.Sort(all)
	p := openPostings(tx, "title")
	for range 5 {
		bounds := wholeRange(kv.KindString)
		if low, high := r.IntN(900), r.IntN(900); r.IntN(3) > 0 {
			bounds.low, _ = appendKey(nil, kv.ValueOf(fmt.Sprint("title ", low)))
			bounds.high, _ = appendKey(nil, kv.ValueOf(fmt.Sprint("title ", high)))
		}
		var want []string
		for _, entry := range all {
			if entry >= string(bounds.low) && entry < string(bounds.high) {
				want = append(want, entry)
			}
		}
		for _, down := range []bool{false, true} {
			var got []string
			for g, err := range p.merge(bounds, down) {
				must.Do(t, err)
				part := make([]string, 0, len(g.nodes))
				for _, v := range g.nodes {
					part = append(part, string(newEntry(g.key, v)))
				}
				if down {
					slices.Reverse(part)
				}
				got = append(got, part...)
			}
			if down {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("range %q, down %t: got %d entries, want %d", bounds, down, len(got), len(want))
			}
		}
	}
	return nil
}

// mustBeSound fails the test where Check finds anything.
func mustBeSound(t testing.TB, s *kv.Store) {
	t.Helper()
	for _, p := range problems(t, s) {
		t.Errorf("check: %s", p)
	}
}

// TestDamagedEntries has an index that lacks an entry and has two too many, beside one that is sound: Check tells of
// each, and Repair builds that index anew.
func TestDamagedEntries(t *testing.T) {
	ctx := t.Context()
	s := storeToDamage(t, 10)
	repair := func() (done []kv.Correction) {
		t.Helper()
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }))
		return done
	}
	update(t, s, func(tx *kv.Tx) error {
		for v := range kv.NodeID(5) {
			must.Do(t, errors.Join(tx.SetValue(v, "title", text("a")), tx.SetLabel(v, "x")))
		}
		return nil
	})
	must.Do(t, Create(ctx, s, kv.LabelColumn))
	if done := repair(); len(done) > 0 {
		t.Errorf("sound indexes: got %v, want nothing done", done)
	}
	update(t, s, func(tx *kv.Tx) error {
		p := openPostings(tx, "title")
		return errors.Join(
			p.set(text("a"), 1, false), // missing
			p.set(text("b"), 2, true),  // two
			p.set(text("b"), 7, true),  // of a node without a value
		)
	})
	got := problems(t, s)
	want := []string{
		`index on title: node number 1 holds "a", and has no entry`,
		`index on title: node number 2 has entry 2 for "b", want one entry at most`,
		`index on title: node number 7 holds null, its entry is for "b"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("check of a damaged index: got\n%q\nwant\n%q", got, want)
	}
	if done := repair(); len(done) != 1 || done[0].Where != "index on title" {
		t.Errorf("got %v, want the index on title built anew", done)
	}
	mustEndSound(t, s)
}

// A store whose writes do not reach the index is found out although every node with a value has one entry.
func TestCheckFindsAnIndexLeftBehind(t *testing.T) {
	g := kvtest.NumberedGraph([]string{"a", "b", "a", ""}, [2]int{0, 1})
	dir := kvtest.LoadDir(t, g)
	s := open(t, dir)
	must.Do(t, Create(context.Background(), s, kv.LabelColumn))
	mustBeSound(t, s)
	must.Do(t, s.Close())
	s = must.Get(kv.Open(dir, kv.Options{MemoryBudget: 64 << 20,
		OnWrite: func(*kv.Tx, kv.NodeID, string, kv.Value, kv.Value) error { return nil }}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	var changed kv.NodeID
	update(t, s, func(tx *kv.Tx) error {
		v, err := tx.Node(g.Nodes[0].ID)
		changed = v
		return errors.Join(err, tx.SetLabel(v, "b"))
	})
	want := []string{fmt.Sprintf(`index on label: node number %d holds "b", its entry is for "a"`, changed)}
	if got := problems(t, s); !slices.Equal(got, want) {
		t.Errorf("check after a change that the index was not told of: got\n%q\nwant\n%q", got, want)
	}
}

// problems are the problems that Check reports.
func problems(t testing.TB, s *kv.Store) (got []string) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		return Check(context.Background(), tx, func(p kv.Problem) { got = append(got, p.String()) })
	})
	return got
}

func TestDamagedLeafIsAnError(t *testing.T) {
	s := storeToDamage(t, 3)
	update(t, s, func(tx *kv.Tx) error {
		return tx.Space(spaceName("title")).Put(leafKey([]byte{tagString}), []byte("no leaf"))
	})
	view(t, s, func(tx *kv.Tx) error {
		_, err := NewPlan(tx, Query{Where: Compare{"title", Eq, kv.ValueOf("a")}, Limit: -1})
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("plan over a damaged leaf: got %v, want a kv.ErrCorrupt", err)
		}
		return nil
	})
}

// TestEntryBeyondTheNodes: an index that has an entry of a node that is not there is damaged, and no reader panics.
func TestEntryBeyondTheNodes(t *testing.T) {
	s := storeToDamage(t, 3)
	update(t, s, func(tx *kv.Tx) error {
		return errors.Join(tx.SetValue(1, "title", text("a")), openPostings(tx, "title").set(text("a"), 5000, true))
	})
	view(t, s, func(tx *kv.Tx) error {
		for _, q := range []Query{
			{Where: Compare{"title", Eq, text("a")}, Limit: -1},
			{Where: Compare{"title", Eq, text("a")}, Order: []Order{{Property: "title"}}, Limit: 2},
		} {
			plan, err := NewPlan(tx, q)
			must.Do(t, err)
			_, err = plan.Count(t.Context())
			for _, row := range plan.Rows(t.Context()) {
				err = errors.Join(err, row)
			}
			if !errors.Is(err, kv.ErrCorrupt) || plan.way == byScan {
				t.Errorf("%v: got %v, want a kv.ErrCorrupt", plan, err)
			}
		}
		return nil
	})
}
