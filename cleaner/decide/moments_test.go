package decide

import (
	"context"
	"errors"
	"fmt"
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
	ann, bob := Options{Who: "ann", Time: noon}, Options{Who: "bob", Time: noon}
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
		return errors.Join(w.Begin(ann), w.Add(Request{Node: v, Kind: Accept}),
			w.Add(Request{Node: v + 3, Kind: Relabel, To: storeClasses[n%3]}))
	}
	damaged := func() {
		must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.SetValue(v, Column, kv.Value{}) }))
	}
	sweep.Each(t,
		moments.Write("write", decided, func(ctx context.Context) ([]Decision, error) {
			return Write(ctx, s, []Request{{Node: v, Kind: Accept}, {Node: v + 1, Kind: Unsure}}, bob)
		}),
		moments.Write("write in bulk", decided, func(ctx context.Context) (any, error) {
			_, err := writeInBulk(ctx, s, decisions)
			return nil, err
		}),
		moments.Write("undo", decided,
			func(ctx context.Context) ([]Decision, error) { return Undo(ctx, s, Options{}, Newest) }),
		moments.View(s, "history", func(ctx context.Context, tx *kv.Tx) (all []Decision, _ error) {
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
		moments.View(s, "after", func(ctx context.Context, tx *kv.Tx) (string, error) {
			changes, err := ChangesAfter(ctx, tx, 1)
			judgement, another := JudgementAfter(ctx, tx, v, "beta", 1)
			return fmt.Sprint(changes, judgement), errors.Join(err, another)
		}),
		moments.View(s, "standing",
			func(ctx context.Context, tx *kv.Tx) ([]Decision, error) { return Standing(ctx, tx, v) }),
		moments.View(s, "verdicts", func(ctx context.Context, tx *kv.Tx) ([]Verdict, error) {
			labels := make([]kv.Class, tx.NumNodes())
			if err := tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(len(labels))}, labels); err != nil {
				return nil, err
			}
			return Verdicts(ctx, tx, labels)
		}),
		moments.View(s, "own step",
			func(ctx context.Context, tx *kv.Tx) (int64, error) { return LastOwnStep(ctx, tx, "bob", 100) }),
		moments.Check(s, Check),
		moments.Write("repair", damaged, func(ctx context.Context) (any, error) {
			return nil, Repair(ctx, s, func(kv.Correction) {})
		}),
	)
}
