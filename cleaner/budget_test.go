package cleaner

import (
	"context"
	"errors"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestLeastBudgets asks every job for the least budget that would do, and wants it to do, one byte less not to, and
// nothing to be computed before that is known.
func TestLeastBudgets(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(5, 300).load(t, false)
	bare := newPlanted(5, 300).load(t, true)
	jobs := map[string]func(budget int64, stage func(ops.Stage)) error{
		"clean": func(budget int64, stage func(ops.Stage)) error {
			_, err := Clean(ctx, s, Options{MemoryBudget: budget, OnStage: stage, Workers: 2})
			return err
		},
		"features": func(budget int64, stage func(ops.Stage)) error {
			return s.View(func(tx *kv.Tx) error {
				z, err := Features(ctx, tx, 3, ops.Options{MemoryBudget: budget, OnStage: stage, Workers: 2})
				if err != nil {
					return err
				}
				return z.Close()
			})
		},
		"predict": func(budget int64, stage func(ops.Stage)) error {
			_, err := Predict(ctx, s, Options{MemoryBudget: budget, OnStage: stage, Workers: 2})
			return err
		},
	}
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			least := refused(t, job, 1)
			refused(t, job, least-1)
			if err := job(least, nil); err != nil {
				t.Errorf("%s with the least budget of %d bytes: %v", name, least, err)
			}
		})
	}
	// A store without predictions is refused before they are trained.
	refused(t, func(budget int64, stage func(ops.Stage)) error {
		_, err := Clean(ctx, bare, Options{MemoryBudget: budget, OnStage: stage})
		return err
	}, 1)
	view(t, bare, func(tx *kv.Tx) error {
		if _, err := tx.Matrix(PredictionsMatrix); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("predictions after a refused cleaning: got error %v, want kv.ErrNotFound", err)
		}
		return nil
	})
}

// refused runs a job with too small a budget and returns the least that it asks for.
func refused(t *testing.T, job func(budget int64, stage func(ops.Stage)) error, budget int64) int64 {
	t.Helper()
	err := job(budget, func(s ops.Stage) {
		if s.Name != "read" && s.Name != "degrees" { // which tell what the least is
			t.Errorf("budget of %d bytes: stage %s was run, want none", budget, s.Name)
		}
	})
	var small *ops.BudgetError
	if !errors.As(err, &small) || small.Budget != budget || small.Least <= budget {
		t.Fatalf("budget of %d bytes: got error %v, want an *ops.BudgetError that names it and a larger one", budget, err)
	}
	return small.Least
}
