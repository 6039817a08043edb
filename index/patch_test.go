package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestPatchKeepsIndexes adds, changes and removes nodes of a store with indexes, few in one transaction and so many
// that the columns are written again: the indexes are sound, and find what is there.
func TestPatchKeepsIndexes(t *testing.T) {
	t.Parallel()
	for _, edges := range []int{0, 20_000} {
		s := open(t, loadLabelled(t, 200))
		for _, column := range []string{"label", "year"} {
			must.Do(t, Create(context.Background(), s, column))
		}
		p, err := s.NewPatch(kv.PatchOptions{Labels: true, Properties: []kv.Column{{Name: "year", Kind: kv.KindInt}}})
		must.Do(t, err)
		for i := range 50 { // the half of them are there
			id := fmt.Sprint("n", 175+i)
			err = errors.Join(err, p.AddNode(kv.Node{ID: id, Label: "patched", Values: []kv.Value{kv.ValueOf(int64(i))}}))
		}
		for i := range 30 {
			err = errors.Join(err, p.RemoveNode(fmt.Sprint("n", i), 0))
		}
		for i := range edges {
			err = errors.Join(err, p.AddEdge(fmt.Sprint("n", 40+i%100), fmt.Sprint("n", 150+i%50), 0))
		}
		must.Do(t, err)
		stats, err := p.Commit(context.Background())
		if err != nil || stats.Rewritten != (edges > 0) || stats.Nodes != 25 || stats.Known != 25 ||
			stats.RemovedNodes != 30 {
			t.Fatalf("with %d edges: got %+v, %v", edges, stats, err)
		}
		mustEndSound(t, s)
		view(t, s, func(tx *kv.Tx) error {
			for value, want := range map[string]int{"patched": 50, "class 0": 49} {
				var got []kv.NodeID
				plan := must.Get(NewPlan(tx, Query{Where: Compare{"label", Eq, kv.ValueOf(value)}, Limit: -1}))(t)
				for v, err := range plan.Rows(context.Background()) {
					must.Do(t, err)
					got = append(got, v)
				}
				if len(got) != want || len(slices.Compact(slices.Sorted(slices.Values(got)))) != want {
					t.Errorf("with %d edges: got %d nodes of label %s, want %d", edges, len(got), value, want)
				}
			}
			return nil
		})
	}
}

// loadLabelled loads n nodes n0, n1, … of three classes, with the property year.
func loadLabelled(t *testing.T, n int) (dir string) {
	t.Helper()
	dir = t.TempDir() + "/store"
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{{Name: "year",
		Kind: kv.KindInt}}}))(t)
	for i := range n {
		node := kv.Node{ID: fmt.Sprint("n", i), Label: fmt.Sprint("class ", i%3), Values: []kv.Value{kv.ValueOf(int64(i))}}
		must.Do(t, l.AddNode(node))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	return dir
}
