package cleaner

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// questions are ways to read a store that was cleaned.
var questions = map[string]func(ctx context.Context, tx *kv.Tx) error{
	"suspects": func(ctx context.Context, tx *kv.Tx) error {
		plan, err := index.NewPlan(tx, index.Query{Where: Suspects(0),
			Order: []index.Order{{Property: ScoreColumn, Descending: true}}, Limit: -1})
		if err != nil {
			return err
		}
		for v, err := range plan.Rows(ctx) {
			if err != nil {
				return err
			}
			if _, err := tx.ID(v); err != nil {
				return err
			}
		}
		_, err = plan.Count(ctx)
		return err
	},
	"explain": func(ctx context.Context, tx *kv.Tx) error {
		for v := range kv.NodeID(5) {
			if _, err := Explain(ctx, tx, v, ops.Options{Workers: 2}); err != nil {
				return err
			}
		}
		return nil
	},
	"score": func(ctx context.Context, tx *kv.Tx) error {
		_, err := Score(ctx, tx, []kv.NodeID{1, 2, 3, 4, 5}, ops.Options{Workers: 2})
		return err
	},
	"remaining": func(ctx context.Context, tx *kv.Tx) error {
		_, err := CountRemaining(ctx, tx)
		return err
	},
	"outdated": func(ctx context.Context, tx *kv.Tx) error {
		run, err := LastRun(tx)
		if err != nil {
			return err
		}
		if _, err := CountStale(ctx, tx, run, 1000); err != nil {
			return err
		}
		_, err = ChangesSince(ctx, tx, run)
		return err
	},
	"nodes": func(_ context.Context, tx *kv.Tx) error {
		for v := range kv.NodeID(tx.NumNodes()) {
			var e Explanation
			e.Node = v
			if err := e.readNode(tx); err != nil {
				return err
			}
			for _, err := range tx.Neighbors(v) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	},
	"predictions": func(_ context.Context, tx *kv.Tx) error {
		matrix, err := tx.Matrix(PredictionsMatrix)
		if err != nil {
			return err
		}
		values := make([]float32, tx.NumNodes()*len(tx.Classes()))
		return matrix.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, len(tx.Classes()), values)
	},
	"history": func(_ context.Context, tx *kv.Tx) error {
		_, err := decide.Newest(tx)
		return err
	},
}

// TestReadsBesideClose closes a store while all that reads it is at work, in snapshots of their own and in one that is
// older. Each reads to its end or fails with ErrClosed, and so does each job that writes.
func TestReadsBesideClose(t *testing.T) {
	dir := newPlanted(5, 100).loadDir(t)
	s := openPlanted(t, dir)
	mustClean(t, s, Options{Seed: 2})
	for round := range longtest.Of(3, 20) {
		shared := s.Begin()
		var running, started sync.WaitGroup
		run := func(name string, job func() error) {
			started.Add(1)
			running.Go(func() {
				for first := true; ; first = false {
					err := job()
					if first {
						started.Done()
					}
					if errors.Is(err, kv.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("%s beside Close: got %v, want ErrClosed", name, err)
						return
					}
				}
			})
		}
		for name, ask := range questions {
			run(name, func() error { return s.View(func(tx *kv.Tx) error { return ask(t.Context(), tx) }) })
			run(name+" in an older snapshot", func() error { return ask(t.Context(), shared) })
		}
		run("rescore", func() error {
			_, err := Rescore(t.Context(), s, RescoreOptions{Full: true})
			return err
		})
		if round%2 == 0 {
			started.Wait()
		}
		for {
			err := s.Close()
			if err == nil {
				break
			}
			if !errors.Is(err, kv.ErrBusy) { // rescore was writing
				t.Fatal(err)
			}
		}
		running.Wait()
		shared.Close()
		if t.Failed() {
			return
		}
		s = openPlanted(t, dir)
	}
	endSound(t, s)
}
