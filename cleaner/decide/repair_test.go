package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestRepair changes a column, of which every node has afterwards what it had. An entry that is lost in both copies
// stays so, and is reported; other nodes can still be decided on.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func(tx *kv.Tx, v kv.NodeID) error{
		"label":    func(tx *kv.Tx, v kv.NodeID) error { return tx.SetLabel(v, "") },
		"decision": func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v, Column, kv.ValueOf("accept")) },
		"decision without entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.SetValue(v+5, Column, kv.ValueOf("unsure"))
		},
		"entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(2)) },
	} {
		s := loaded(t, 12, 60)
		v := labelledNode(t, s, 0)
		opt := Options{Now: at(noon)}
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "beta"}, Request{Node: v + 1, Kind: Unsure})
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "gamma"})
		mustUndo(t, s, 1)
		want := states(t, s)
		must.Do(t, s.Update(func(tx *kv.Tx) error { return damage(tx, v) }))
		if problems := historyProblems(t, s); len(problems) == 0 {
			t.Errorf("%s: Check finds no damage", name)
		}
		var done []kv.Correction
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }))
		if got := states(t, s); !maps.Equal(got, want) {
			t.Errorf("%s: after the repair, which did %v: got %v, want %v", name, done, got, want)
		}
		if isLost, problems := name == "entry", historyProblems(t, s); isLost != (len(problems) > 0) ||
			isLost != (len(done) == 0) {
			t.Errorf("%s: after the repair, which did %v: %v", name, done, problems)
		}
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { t.Errorf("%s: repairing again did %v", name, m) }))
		mustDecide(t, s, opt, Request{Node: v, Kind: Unsure})
		mustUndo(t, s, 1)
	}
}

// TestRepairOfLostNodes has the history of a store in one that lost the nodes which were added last: the node of
// a decision is there again, with it. The repair is stopped after each thing it does.
func TestRepairOfLostNodes(t *testing.T) {
	s := loaded(t, 12, 60)
	lost := loaded(t, 12, 60)
	last := kv.NodeID(0)
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for i := range 3 {
			last = must.Get(tx.AddNode(kv.Node{ID: fmt.Sprint("added-", i), Label: "alpha"}))(t)
		}
		return nil
	}))
	opt := Options{Now: at(noon)}
	mustDecide(t, s, opt, Request{Node: last, Kind: Relabel, To: "beta"})
	mustDecide(t, s, opt, Request{Node: 3, Kind: Unsure})
	want := historyOf(t, s, kv.NoNode)
	must.Do(t, lost.Update(func(tx *kv.Tx) error {
		copied := tx.Space(historySpace)
		must.Do(t, copied.KeepTwice())
		return s.View(func(from *kv.Tx) error {
			for e, err := range from.Space(historySpace).Ascend(nil) {
				must.Do(t, errors.Join(err, copied.Put(slices.Clone(e.Key), slices.Clone(e.Value))))
			}
			return nil
		})
	}))
	var done []kv.Correction
	for err := context.Canceled; errors.Is(err, context.Canceled); {
		ctx, cancel := context.WithCancel(t.Context())
		err = Repair(ctx, lost, func(m kv.Correction) {
			done = append(done, m)
			cancel()
		})
		cancel()
	}
	if len(done) != 2 {
		t.Errorf("the repair did %v, want two things", done)
	}
	if got := historyOf(t, lost, kv.NoNode); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the repair, which did %v: got %v, want %v", done, got, want)
	}
	all, wanted := states(t, lost), states(t, s)
	if all[last] != wanted[last] || all[3] != wanted[3] || len(all) != 61 {
		t.Errorf("after the repair, which did %v: got %d nodes with %v and %v, want 61 with %v and %v",
			done, len(all), all[last], all[3], wanted[last], wanted[3])
	}
	mustEndTrue(t, lost)
}
