package query

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// starStore is a store of a node "hub" with n neighbours, of which the first is labelled A and the others B.
func starStore(t *testing.T, n int) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	must.Do(t, load.AddNode(kv.Node{ID: "hub", Label: "A"}))
	for i := range n {
		node := kv.Node{ID: fmt.Sprint("n", i), Label: []string{"A", "B"}[min(i, 1)]}
		must.Do(t, load.AddNode(node))
	}
	for i := range n {
		must.Do(t, load.AddEdge("hub", fmt.Sprint("n", i), 0))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	return papers.Reopen(t, dir)
}

// TestNeighborhoodsFitMemory holds that many nodes within several hops are refused, and the neighbours of a hub are
// not.
func TestNeighborhoodsFitMemory(t *testing.T) {
	const n = 5000 // more than a MiB has room for
	store := starStore(t, n)
	tiny := Options{MemoryBudget: 1}
	got, err := answered(t.Context(), store, tiny, "nodes where id = 'hub' return share(label)")
	if want := kv.ValueOf(1.0 / n); err != nil || len(got) != 1 || got[0][0] != want {
		t.Errorf("share of a hub: got %s, %v, want %s", got, err, want)
	}
	for _, text := range []string{
		"nodes where share(label, 2) > 0.5", "nodes order by share(label, 2)", "nodes return share(label, 2)",
		"count nodes return avg(share('B', 2))",
	} {
		if _, err := answered(t.Context(), store, tiny, text); err == nil || !strings.Contains(err.Error(), "more --memory") {
			t.Errorf("%s in a MiB: got %v, want an error that names --memory", text, err)
		}
	}
	text := "nodes where id = 'n1' and share(label, 2) > 0.5 return id"
	if got, err := answered(t.Context(), store, Options{MemoryBudget: 64 << 20}, text); err != nil || len(got) != 1 {
		t.Errorf("%s in 64 MiB: got %s, %v, want n1", text, got, err)
	}
}

// TestNeighborhoodsAreInterrupted holds that a walk ends with its context.
func TestNeighborhoodsAreInterrupted(t *testing.T) {
	store := starStore(t, 3000)
	tx := store.Begin()
	defer tx.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	var err error
	for _, err = range newSurroundings(ctx, tx, 0).around(1, 2) {
		if steps++; steps == 300 {
			cancel()
		}
	}
	if !errors.Is(err, context.Canceled) || steps > 1000 {
		t.Errorf("a walk: got %v after %d steps, want %v soon after 300", err, steps, context.Canceled)
	}
	if _, err := Query(ctx, tx, Options{}, "count nodes where share(label, 2) > 0.5"); !errors.Is(err, context.Canceled) {
		t.Errorf("a count: got %v, want %v", err, context.Canceled)
	}
}
