package decide

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestMain(m *testing.M) { os.Exit(memdir.Tests(m).Run()) }

var storeClasses = []string{"alpha", "beta", "gamma", "δelta"}

// loadDir makes the directory of a store of n nodes in four classes, of which one in forty is unlabelled.
func loadDir(t *testing.T, seed uint64, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	for v := range n {
		node := kv.Node{ID: fmt.Sprintf("n%d", v), Label: storeClasses[r.IntN(4)]}
		if v%40 == 17 {
			node.Label = ""
		}
		must.Do(t, l.AddNode(node))
	}
	must.Get(l.Commit(context.Background(), nil))(t)
	return dir
}

func openDir(t *testing.T, dir string) *kv.Store {
	t.Helper()
	return must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20}))(t)
}

// loaded is a store that no run has scored, closed when the test ends.
func loaded(t *testing.T, seed uint64, n int) *kv.Store {
	t.Helper()
	return loadedWith(t, seed, n, kv.Options{MemoryBudget: 64 << 20})
}

// loadedWith is loaded, with options.
func loadedWith(t *testing.T, seed uint64, n int, opt kv.Options) *kv.Store {
	t.Helper()
	s := must.Get(index.Open(loadDir(t, seed, n), opt))(t)
	t.Cleanup(func() {
		mustEndSound(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// scored is a store that has what a run writes.
func scored(t *testing.T, seed uint64, n int) *kv.Store {
	t.Helper()
	s := loaded(t, seed, n)
	score(t, s, seed)
	t.Cleanup(func() { mustEndTrue(t, s) })
	return s
}

// score writes what a run writes, drawn.
func score(t *testing.T, s *kv.Store, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for name, kind := range map[string]kv.Kind{ScoreColumn: kv.KindSingle, SuggestedColumn: kv.KindClass,
			RunColumn: kv.KindInt} {
			must.Do(t, tx.AddColumn(name, kind))
		}
		for v := range kv.NodeID(tx.NumNodes()) {
			must.Do(t, tx.SetValue(v, SuggestedColumn, kv.ValueOf(storeClasses[r.IntN(4)])))
			must.Do(t, tx.SetValue(v, RunColumn, kv.ValueOf(1)))
			label := must.Get(tx.Value(v, kv.LabelColumn))(t)
			if label.IsNull() {
				continue
			}
			must.Do(t, tx.SetValue(v, ScoreColumn, kv.ValueOf(float64(r.Float32()))))
		}
		return nil
	}))
}

// mustEndSound fails the test where the store or its indexes are damaged.
func mustEndSound(t *testing.T, s *kv.Store) {
	t.Helper()
	kvtest.Check(t, s)
	view(t, s, func(tx *kv.Tx) error {
		return index.Check(context.Background(), tx, func(p kv.Problem) { t.Errorf("index after the test: %s", p) })
	})
}

func view(t *testing.T, s *kv.Store, fn func(tx *kv.Tx) error) {
	t.Helper()
	must.Do(t, s.View(fn))
}
