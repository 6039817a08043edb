package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/moments"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestMoments has each read of each call fail once, at every place of the code, and the context of the call end there.
func TestMoments(t *testing.T) {
	sweep := moments.New("cleaner/decide")
	s := loadedWith(t, 3, 60, kv.Options{MemoryBudget: 64 << 20, OnRead: sweep.OnRead})
	score(t, s, 3)
	must.Do(t, index.Create(t.Context(), s, kv.LabelColumn))
	v := labelledNode(t, s, 4)
	ann, bob := Options{Who: "ann", Now: at(noon)}, Options{Who: "bob", Now: at(noon)}
	n := 0
	decided := func() { // what differs from the time before
		n++
		mustDecide(t, s, ann, Request{Node: v, Kind: Relabel, To: storeClasses[n%3]}, Request{Node: v + 1, Kind: Unsure})
	}
	decided()
	mustDecide(t, s, bob, Request{Node: v, Kind: Relabel, To: "δelta"}, Request{Node: v + 2, Kind: Unlabel})
	mustUndo(t, s, 1)
	mustDecide(t, s, bob, Request{Node: v, Kind: Reject})
	decisions := func(w *StepWriter) error {
		return errors.Join(w.Begin(ann), w.Add(Request{Node: v, Kind: Accept}), w.Add(Request{Node: v + 3, Kind: Relabel, To: storeClasses[n%3]}))
	}
	wrote := func(_ Entries, err error) (any, error) { return nil, err }
	damaged := func() {
		must.Do(t, s.Update(func(tx *kv.Tx) error {
			return errors.Join(tx.SetValue(v, Column, kv.Value{}), tx.Space(historySpace).Delete(nodeKey(v, 1)))
		}))
	}
	check := func(ctx context.Context, tx *kv.Tx) (any, error) {
		var problems []error
		err := Check(ctx, tx, func(p kv.Problem) { problems = append(problems, errors.New(p.String())) })
		if strings.Contains(fmt.Sprint(problems), moments.ErrDisk.Error()) {
			err = moments.ErrDisk
		}
		return problems, err
	}
	view := func(name string, read func(ctx context.Context, tx *kv.Tx) (any, error)) moments.Call {
		return moments.View(s, name, read)
	}
	sweep.Each(t,
		moments.Call{Name: "write", Before: decided, Make: func(ctx context.Context) (any, error) {
			_, err := Write(ctx, s, []Request{{Node: v, Kind: Accept}, {Node: v + 1, Kind: Unsure}}, bob)
			return nil, err
		}},
		moments.Call{Name: "write in bulk", Before: decided, Make: func(ctx context.Context) (any, error) {
			return wrote(writeInBulk(ctx, s, decisions))
		}},
		moments.Call{Name: "undo", Before: decided, Make: func(ctx context.Context) (any, error) {
			return wrote(Undo(ctx, s, Options{}, Newest))
		}},
		view("history", func(ctx context.Context, tx *kv.Tx) (any, error) {
			var all []Decision
			for _, node := range []kv.NodeID{kv.NoNode, v} {
				for d, err := range History(ctx, tx, node) {
					if err != nil {
						return nil, err
					}
					all = append(all, d)
				}
			}
			return all, nil
		}),
		view("labels after", func(ctx context.Context, tx *kv.Tx) (any, error) { return LabelsAfter(ctx, tx, 1) }),
		view("nodes after", func(ctx context.Context, tx *kv.Tx) (any, error) { return NodesAfter(ctx, tx, 1) }),
		view("reversals", func(ctx context.Context, tx *kv.Tx) (any, error) { return Reversals(ctx, tx, 1) }),
		view("judgement", func(ctx context.Context, tx *kv.Tx) (any, error) { return JudgementAfter(ctx, tx, v, "beta", 1) }),
		view("judgements", func(ctx context.Context, tx *kv.Tx) (any, error) {
			right, wrong, err := CountJudgements(ctx, tx, kv.NodeID(tx.NumNodes()))
			return fmt.Sprint(right, wrong), err
		}),
		view("words", func(ctx context.Context, tx *kv.Tx) (any, error) {
			words, disputed, err := Words(ctx, tx, v)
			if err != nil {
				return nil, err
			}
			standing, err := Standing(ctx, tx, v)
			return fmt.Sprint(words, disputed, standing), err
		}),
		view("verdicts", func(ctx context.Context, tx *kv.Tx) (any, error) {
			labels := make([]kv.Class, tx.NumNodes())
			if err := tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(len(labels))}, labels); err != nil {
				return nil, err
			}
			return Verdicts(ctx, tx, labels)
		}),
		view("own step", func(ctx context.Context, tx *kv.Tx) (any, error) { return LastOwnStep(ctx, tx, "bob", 100) }),
		view("check", check),
		moments.Call{Name: "repair", Heals: true, Before: damaged, Make: func(ctx context.Context) (any, error) {
			if err := Repair(ctx, s, func(kv.Correction) {}); err != nil {
				return nil, err
			}
			return moments.View(s, "", check).Make(t.Context())
		}},
	)
}
