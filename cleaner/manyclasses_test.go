package cleaner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestCleanOfManyClasses cleans a small graph with more classes than a transaction holds pairs of.
func TestCleanOfManyClasses(t *testing.T) {
	const n, c = 4000, 2000
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{MemoryBudget: 64 << 20}))(t)
	for v := range n {
		must.Do(t, l.AddNode(kv.Node{ID: fmt.Sprint(v), Label: fmt.Sprintf("class %d", v%c)}))
	}
	for v := range n {
		for _, u := range []int{(v + c) % n, (v + 1) % n} {
			must.Do(t, l.AddEdge(fmt.Sprint(v), fmt.Sprint(u), 0))
		}
	}
	must.Get(l.Commit(context.Background(), nil))(t)
	s := openPlanted(t, dir)
	endSound(t, s)
	var classes []string
	view(t, s, func(tx *kv.Tx) error { classes = tx.Classes(); return nil })
	row := make([]float64, c)
	must.Do(t, importPredictions(s, classes, PredictionOptions{}, func(w *PredictionWriter, tx *kv.Tx) error {
		for v := range kv.NodeID(n) {
			y, err := tx.Label(v)
			if err != nil {
				return err
			}
			clear(row)
			row[(int(y)+int(v)%3)%c] = 1
			if err := w.Put(v, row); err != nil {
				return err
			}
		}
		return nil
	}))
	// A matrix of 32 MB is refused before the work, with the number that would do. The default preset has none so
	// large, however many classes there are.
	const little = 24 << 20
	if got := (&problem{classes: 10 * c, fitting: n}).heldInScoring(); got > 48<<20 {
		t.Errorf("matrices between %d classes of the default preset: got %d bytes, want at most 48 MiB", 10*c, got)
	}
	var small *ops.BudgetError
	_, err := Clean(context.Background(), s, Options{Method: paper.Published, MemoryBudget: little})
	if !errors.As(err, &small) || small.Least < 8*c*c {
		t.Fatalf("cleaning %d classes in %d bytes: got %v, want a budget error", c, little, err)
	}
	var untrained *ops.BudgetError
	_, err = Predict(context.Background(), s, Options{MemoryBudget: 16 << 20})
	if !errors.As(err, &untrained) {
		t.Errorf("training %d classes in 16 MiB: got %v, want a budget error", c, err)
	}
	view(t, s, func(tx *kv.Tx) error {
		const matrix = 8 * c * c
		if err := CheckTransition(tx, matrix-1); !errors.Is(err, ops.ErrBudget) {
			t.Errorf("writing the transition matrix in a byte too little: got %v, want a budget error", err)
		}
		return CheckTransition(tx, matrix)
	})
	run, err := Clean(context.Background(), s, Options{Method: paper.Published, MemoryBudget: small.Least})
	if err != nil {
		t.Fatalf("cleaning %d classes: %v", c, err)
	}
	view(t, s, func(tx *kv.Tx) error {
		back, err := LastRun(tx)
		if err == nil && !reflect.DeepEqual(back.Joint(), run.Joint()) {
			t.Error("the joint distribution read back is not the one of the run")
		}
		return err
	})
}
