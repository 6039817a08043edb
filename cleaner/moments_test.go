package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/moments"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// swept is a small store whose reads can fail, with features, and with predictions unless it is bare.
func swept(t *testing.T, sweep *moments.Sweep, bare bool) *kv.Store {
	t.Helper()
	p := newPlanted(3, 64)
	s := sweep.Open(t, p.loadDir(t))
	endSound(t, s)
	if !bare {
		p.predict(t, s)
	}
	kvtest.MakeMatrix(t, s, FeaturesMatrix, []string{"a", "b", "c", "d"})
	r := rand.New(rand.NewPCG(3, 0))
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for v := range kv.NodeID(tx.NumNodes()) {
			must.Do(t, tx.SetRow(FeaturesMatrix, v, []float32{r.Float32(), r.Float32(), r.Float32(), 1}))
		}
		return nil
	}))
	return s
}

// TestMoments has each read of each call fail once, at every place of the code, and the context of the call end there.
func TestMoments(t *testing.T) {
	sweep := moments.New("cleaner")
	one, opt := ops.Options{Workers: 1}, Options{Seed: 1, Workers: 1}
	published := Options{Seed: 1, Workers: 1, Method: paper.Published}
	for _, bare := range []bool{false, true} {
		s := swept(t, sweep, bare)
		n, next := 0, int64(0)
		update := func(change func(tx *kv.Tx) error) func() {
			return func() {
				n++
				must.Do(t, s.Update(change))
				next = nextRun(s)
			}
		}
		change := func(tx *kv.Tx) error {
			labels := []string{"alpha", "beta"}
			return errors.Join(tx.SetLabel(3, labels[n%2]), tx.SetLabel(9, labels[n/2%2]))
		}
		forgetLists := func(tx *kv.Tx) error {
			r, err := readAuditRecord(tx)
			r.Lists = nil
			return errors.Join(err, tx.Documents(auditSpace).Put(auditKey, r))
		}
		unpredict := func(tx *kv.Tx) error {
			m, err := tx.Matrix(PredictionsMatrix)
			if errors.Is(err, kv.ErrNotFound) {
				return nil
			}
			return errors.Join(err, m.Drop(), tx.SetIndexed(kv.LabelColumn, false))
		}
		clean := func(name string, before func(tx *kv.Tx) error, opt Options) moments.Call {
			return moments.Write(name, update(before), func(ctx context.Context) (*Run, error) {
				run, err := Clean(ctx, s, opt)
				if err != nil && !errors.Is(err, kv.ErrCommitted) && nextRun(s) != next {
					t.Errorf("a run is stored that failed: %v", err)
				}
				return run, err
			})
		}
		rescore := func(name string, full bool) moments.Call {
			return moments.Write(name, update(change), func(ctx context.Context) (*Rescoring, error) {
				return Rescore(ctx, s, RescoreOptions{Full: full, Workers: 1})
			})
		}
		if bare {
			sweep.Each(t,
				moments.Write("predict", nil, func(ctx context.Context) (*PredictReport, error) { return Predict(ctx, s, opt) }),
				clean("clean without predictions", unpredict, opt))
		}
		mustClean(t, s, opt)
		if !bare { // of which the next clean takes a look of the audit
			answer(t, s, "ann", newPlanted(3, 64).truths(t, s), drawAudit(t, s, 30).Draws)
		}
		must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(7) }))
		sweep.Each(t, clean("clean published", change, published), clean("clean", change, opt),
			rescore("rescore", false), rescore("full rescore", true))
		must.Do(t, s.Update(change))
		size := 30
		decided := func() { mustDecide(t, s, decide.Options{Who: "ann"}, decide.Request{Node: 5, Kind: decide.Reject}) }
		sweep.Each(t,
			moments.View(s, "explain",
				func(ctx context.Context, tx *kv.Tx) (*Explanation, error) { return Explain(ctx, tx, 5, one) }),
			moments.View(s, "glance",
				func(ctx context.Context, tx *kv.Tx) (*Explanation, error) { return Glance(ctx, tx, 5, one) }),
			moments.View(s, "features", func(ctx context.Context, tx *kv.Tx) (any, error) {
				f, err := Features(ctx, tx, 2, one)
				if err != nil {
					return nil, err
				}
				return nil, f.Close()
			}),
			moments.View(s, "statistics", Statistics),
			moments.View(s, "plan", func(ctx context.Context, tx *kv.Tx) (*Plan, error) { return PlanClean(ctx, tx, opt) }),
			moments.View(s, "remaining", CountRemaining),
			moments.View(s, "runs", func(_ context.Context, tx *kv.Tx) ([]*Run, error) { return Runs(tx) }),
			moments.Check(s, Check),
			moments.Write("draw", func() { size++ },
				func(ctx context.Context) (any, error) { return nil, DrawAudit(ctx, s, size, 1) }),
			moments.Write("list", update(forgetLists), func(ctx context.Context) (any, error) {
				if err := DrawList(ctx, s, Promise{ListTrusted, 0.5}, 0); !bare || !errors.Is(err, ErrAudit) {
					return nil, err
				}
				return nil, nil
			}),
			moments.Write("undo", decided,
				func(ctx context.Context) ([]decide.Decision, error) { return Undo(ctx, s, decide.Options{}) }),
		)
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			v, err := tx.AddNode(kv.Node{ID: "added", Label: "beta"})
			return errors.Join(err, tx.AddEdge(v, 2), tx.AddEdge(v, 12))
		}))
		decided()
		sweep.Each(t,
			moments.View(s, "score", func(ctx context.Context, tx *kv.Tx) ([]NodeScore, error) {
				return Score(ctx, tx, []kv.NodeID{3, 9, 20, kv.NodeID(tx.NumNodes() - 1)}, one)
			}),
			moments.View(s, "changes", func(ctx context.Context, tx *kv.Tx) (string, error) {
				run, err := LastRun(tx)
				if err != nil {
					return "", err
				}
				count, err := CountStale(ctx, tx, run, 100)
				since, another := ChangesSince(ctx, tx, run)
				return fmt.Sprint(count, since), errors.Join(err, another)
			}),
			moments.View(s, "predicted", func(_ context.Context, tx *kv.Tx) (kv.Class, error) {
				at, err := Predicted(tx)
				if err != nil {
					return 0, err
				}
				class, _, err := at(5)
				return class, err
			}),
			moments.View(s, "verdicts", Verdicts),
			moments.View(s, "audit", ReadAudit),
		)
	}
}

// nextRun is the number of the run after the last; 0 where that cannot be read.
func nextRun(s *kv.Store) (next int64) {
	err := s.View(func(tx *kv.Tx) (err error) {
		next, err = nextRunID(tx)
		return err
	})
	if err != nil {
		return 0
	}
	return next
}
