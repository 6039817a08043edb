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

// TestRepair damages the history of a store in many ways. Afterwards it can be read, and every node has the label and
// decision that it had, or those from before the entry that is lost.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func(tx *kv.Tx, v kv.NodeID) error{
		"entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(2)) },
		"entry and its node": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(2)), tx.Space(historySpace).Delete(nodeKey(v+1, 2)))
		},
		"entry taken back, and its node": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(3)), tx.Space(historySpace).Delete(nodeKey(v, 3)))
		},
		"entry of two nodes": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(3)), tx.Space(historySpace).Put(nodeKey(v+2, 3), nil))
		},
		"last entry of two nodes": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(5)), tx.Space(historySpace).Put(nodeKey(v+2, 5), nil))
		},
		"key far behind": func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Put(nodeKey(v, 9), nil) },
		"key of no entry": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Put(nodeKey(v, 0), nil), tx.Space(historySpace).Put(nodeKey(1<<20, 3), nil))
		},
		"first entries": func(tx *kv.Tx, _ kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(1)), tx.Space(historySpace).Delete(entryKey(2)))
		},
		"last entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(5)) },
		"body": func(tx *kv.Tx, _ kv.NodeID) error {
			return tx.Space(historySpace).Put(entryKey(3), []byte{historyForm})
		},
		"key":          func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("Dx"), []byte{9}) },
		"node's key":   func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("N"), nil) },
		"node's entry": func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Delete(nodeKey(v, 3)) },
		"entry, twice": func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Put(nodeKey(v+1, 3), nil) },
		"label":        func(tx *kv.Tx, v kv.NodeID) error { return tx.SetLabel(v, "") },
		"decision":     func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v, Column, kv.ValueOf("accept")) },
		"decision without entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.SetValue(v+5, Column, kv.ValueOf("unsure"))
		},
	} {
		s := loaded(t, 12, 60)
		v := kv.NodeID(0)
		for states(t, s)[v].label == "" || states(t, s)[v+1].label == "" {
			v++
		}
		opt := Options{Now: at(noon)}
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "beta"}, Request{Node: v + 1, Kind: Reject})
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "gamma"})
		mustUndo(t, s, 1)
		mustDecide(t, s, opt, Request{Node: v, Kind: Unsure})
		want := states(t, s)
		if err := s.Update(func(tx *kv.Tx) error { return damage(tx, v) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := historyProblems(t, s); len(problems) == 0 {
			t.Errorf("%s: Check finds no damage", name)
		}
		var done []kv.Correction
		if err := Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after the repair, which did %v: %v", name, done, problems)
		}
		switch name {
		case "entry", "entry and its node", "first entries":
			want[v+1] = nodeState{label: want[v+1].label}
		case "last entry", "last entry of two nodes":
			want[v] = nodeState{label: "beta", decision: Relabel}
		}
		got := states(t, s)
		if !maps.Equal(got, want) {
			t.Errorf("%s: after the repair, which did %v: got %v, want %v", name, done, got, want)
		}
		if len(done) == 0 {
			t.Errorf("%s: the repair told nothing", name)
		}
		mustUndo(t, s, 1)
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after an undo: %v", name, problems)
		}
		err := Repair(ctx, s, func(m kv.Correction) { t.Errorf("%s: repairing again did %v", name, m) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := loaded(t, 12, 60) // a step stays taken back, though the entry that the last undo entry names is lost
	mustDecide(t, s, Options{Now: at(noon)}, Request{Node: 1, Kind: Unsure}, Request{Node: 2, Kind: Unsure})
	mustUndo(t, s, 1)
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.Space(historySpace).Delete(entryKey(1)) }))
	must.Do(t, Repair(ctx, s, func(kv.Correction) {}))
	if made, err := Undo(ctx, s, Options{}, nil); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("undo after the repair: got %v and %v, want %v", made, err, ErrNothingToUndo)
	}
}

// TestRepairOfLostNodes has the history of a store in one that lost the nodes which were added last, and a key by node:
// the node of a decision is there again, with it, and no entry is lost. The repair is stopped after each thing it does.
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
			return copied.Delete(nodeKey(3, 2))
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
	if len(done) != 3 {
		t.Errorf("the repair did %v, want three things", done)
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
