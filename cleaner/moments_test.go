package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/index"
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
	s := must.Get(index.Open(p.loadDir(t), kv.Options{MemoryBudget: 64 << 20, OnRead: sweep.OnRead}))(t)
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
	for _, bare := range []bool{false, true} {
		s := swept(t, sweep, bare)
		n := 0
		update := func(change func(tx *kv.Tx) error) func() {
			return func() {
				n++
				must.Do(t, s.Update(change))
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
		view := func(name string, read func(ctx context.Context, tx *kv.Tx) (any, error)) moments.Call {
			return moments.View(s, name, read)
		}
		clean := func(name string, before func(tx *kv.Tx) error, opt Options) moments.Call {
			return moments.Call{Name: name, Before: update(before), Make: func(ctx context.Context) (any, error) {
				_, err := Clean(ctx, s, opt)
				return nil, err
			}}
		}
		rescore := func(name string, opt RescoreOptions) moments.Call {
			opt.Workers = 1
			return moments.Call{Name: name, Before: update(change), Make: func(ctx context.Context) (any, error) {
				_, err := Rescore(ctx, s, opt)
				return nil, err
			}}
		}
		if bare {
			predict := func(ctx context.Context) (any, error) {
				_, err := Predict(ctx, s, opt)
				return nil, err
			}
			sweep.Each(t, moments.Call{Name: "predict", Make: predict}, clean("clean without predictions", unpredict, opt))
		}
		if !bare { // of which the next clean takes a look of the audit, and a pass is due to follow it
			mustClean(t, s, opt)
			answer(t, s, "ann", newPlanted(3, 64).truths(t, s), drawAudit(t, s, 30).Draws)
		}
		must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.RemoveNode(7) }))
		published := opt
		published.Method = paper.Published
		sweep.Each(t, clean("clean published", change, published), clean("clean", change, opt),
			rescore("rescore", RescoreOptions{}), rescore("full rescore", RescoreOptions{Full: true}))
		must.Do(t, s.Update(change))
		size := 30
		decided := func() { mustDecide(t, s, decide.Options{Who: "ann"}, decide.Request{Node: 5, Kind: decide.Reject}) }
		sweep.Each(t,
			view("explain", func(ctx context.Context, tx *kv.Tx) (any, error) { return Explain(ctx, tx, 5, one) }),
			view("glance", func(ctx context.Context, tx *kv.Tx) (any, error) { return Glance(ctx, tx, 5, one) }),
			view("features", func(ctx context.Context, tx *kv.Tx) (any, error) {
				f, err := Features(ctx, tx, 2, one)
				if err != nil {
					return nil, err
				}
				return nil, f.Close()
			}),
			view("statistics", func(ctx context.Context, tx *kv.Tx) (any, error) { return Statistics(ctx, tx) }),
			view("plan", func(ctx context.Context, tx *kv.Tx) (any, error) { return PlanClean(ctx, tx, opt) }),
			view("remaining", func(ctx context.Context, tx *kv.Tx) (any, error) { return CountRemaining(ctx, tx) }),
			view("runs", func(_ context.Context, tx *kv.Tx) (any, error) { return Runs(tx) }),
			view("check", func(ctx context.Context, tx *kv.Tx) (any, error) {
				var problems []error
				err := Check(ctx, tx, func(p kv.Problem) { problems = append(problems, errors.New(p.String())) })
				if strings.Contains(fmt.Sprint(problems), moments.ErrDisk.Error()) {
					err = moments.ErrDisk
				}
				return problems, err
			}),
			moments.Call{Name: "draw", Before: func() { size++ }, Make: func(ctx context.Context) (any, error) {
				return nil, DrawAudit(ctx, s, size, 1)
			}},
			moments.Call{Name: "list", Before: update(forgetLists), Make: func(ctx context.Context) (any, error) {
				if err := DrawList(ctx, s, Promise{ListTrusted, 0.5}, 0); !bare || !errors.Is(err, ErrAudit) {
					return nil, err
				}
				return nil, nil
			}},
			moments.Call{Name: "undo", Before: decided, Make: func(ctx context.Context) (any, error) {
				_, err := Undo(ctx, s, decide.Options{})
				return nil, err
			}},
		)
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			v, err := tx.AddNode(kv.Node{ID: "added", Label: "beta"})
			return errors.Join(err, tx.AddEdge(v, 2), tx.AddEdge(v, 12))
		}))
		decided()
		sweep.Each(t,
			view("score", func(ctx context.Context, tx *kv.Tx) (any, error) {
				return Score(ctx, tx, []kv.NodeID{3, 9, 20, kv.NodeID(tx.NumNodes() - 1)}, one)
			}),
			view("changes", func(ctx context.Context, tx *kv.Tx) (any, error) {
				run, err := LastRun(tx)
				if err != nil {
					return nil, err
				}
				count, err := CountStale(ctx, tx, run, 100)
				since, another := ChangesSince(ctx, tx, run)
				return fmt.Sprint(count, since), errors.Join(err, another)
			}),
			view("predicted", func(ctx context.Context, tx *kv.Tx) (any, error) {
				at, err := Predicted(tx)
				if err != nil {
					return nil, err
				}
				class, chance, err := at(5)
				return fmt.Sprint(class, chance), err
			}),
			view("verdicts", func(ctx context.Context, tx *kv.Tx) (any, error) { return Verdicts(ctx, tx) }),
			view("audit", func(ctx context.Context, tx *kv.Tx) (any, error) { return ReadAudit(ctx, tx) }),
		)
	}
}
