package cleaner

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// TestRepair damages the history of a store in many ways. Afterwards it can be read, and every node has the label and
// decision that it had.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	for name, damage := range map[string]func(tx *kv.Tx, v kv.NodeID) error{
		"entry": func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(2)) },
		"entry and its node": func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(tx.Space(historySpace).Delete(entryKey(2)), tx.Space(historySpace).Delete(nodeKey(v+1, 2)))
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
		"another's entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.Space(historySpace).Put(nodeKey(v+1, 3), nil)
		},
		"label":    func(tx *kv.Tx, v kv.NodeID) error { return tx.SetLabel(v, "") },
		"decision": func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v, DecisionColumn, kv.StringValue("accept")) },
		"decision without entry": func(tx *kv.Tx, v kv.NodeID) error {
			return tx.SetValue(v+5, DecisionColumn, kv.StringValue("unsure"))
		},
		"column": func(tx *kv.Tx, _ kv.NodeID) error { return tx.DropColumn(DecisionColumn) },
	} {
		s := newPlanted(12, 60).load(t, true)
		v := kv.NodeID(0)
		for states(t, s)[v].label == "" || states(t, s)[v+1].label == "" {
			v++
		}
		opt := DecideOptions{Now: at(noon)}
		mustDecide(t, s, opt, DecisionRequest{Node: v, Kind: Relabel, To: "beta"}, DecisionRequest{Node: v + 1, Kind: Reject})
		mustDecide(t, s, opt, DecisionRequest{Node: v, Kind: Relabel, To: "gamma"})
		mustUndo(t, s, 1)
		mustDecide(t, s, opt, DecisionRequest{Node: v, Kind: Unsure})
		want := states(t, s)
		if err := s.Update(func(tx *kv.Tx) error { return damage(tx, v) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := historyProblems(t, s); len(problems) == 0 {
			t.Errorf("%s: Check finds no damage", name)
		}
		var done []kv.Mend
		if err := Repair(ctx, s, func(m kv.Mend) { done = append(done, m) }); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after the repair, which did %v: %v", name, done, problems)
		}
		got := states(t, s)
		if name == "entry and its node" { // nothing says what it was about
			delete(got, v+1)
			delete(want, v+1)
		}
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
		err := Repair(ctx, s, func(m kv.Mend) { t.Errorf("%s: repairing again did %v", name, m) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
