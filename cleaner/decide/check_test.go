package decide

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// rewritten changes an entry.
func rewritten(seq int64, change func(d *historyRecord)) func(tx *kv.Tx, _ kv.NodeID) error {
	return func(tx *kv.Tx, _ kv.NodeID) error {
		d, err := readDecision(tx, seq)
		if err != nil {
			return err
		}
		change(&d)
		return tx.Space(historySpace).Put(entryKey(seq), d.append(nil))
	}
}

// Whatever does not fit together is found. What cannot be read of the history is an error, and never another history.
func TestCheckHistoryFinds(t *testing.T) {
	s := loaded(t, 12, 60)
	v := kv.NodeID(0)
	for states(t, s)[v].Label == "" {
		v++
	}
	mustDecide(t, s, Options{Time: noon}, Request{Node: v, Kind: Relabel, To: "beta"})
	mustDecide(t, s, Options{Time: noon}, Request{Node: v, Kind: Relabel, To: "gamma"})
	mustUndo(t, s, 1)
	if problems := historyProblems(t, s); len(problems) > 0 {
		t.Fatalf("before any damage: got %v", problems)
	}
	undamaged := errors.New("takes the damage back")
	for _, test := range []struct {
		name   string
		damage func(tx *kv.Tx, v kv.NodeID) error
		want   string
		unread string // histories that cannot be read: of the node, of all nodes
	}{
		{"label", func(tx *kv.Tx, v kv.NodeID) error { return tx.SetLabel(v, "alpha") }, "has the label", ""},
		{"decision", func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v, Column, kv.ValueOf("unsure")) },
			"has the decision", ""},
		{"decision without entry",
			func(tx *kv.Tx, v kv.NodeID) error { return tx.SetValue(v+1, Column, kv.ValueOf("unsure")) },
			"has the decision", ""},
		{"entry", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(2)) },
			"entry 2 is missing", "node, all"},
		{"first entry", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(1)) },
			"entry 1 is missing", "node, all"},
		{"entry before one that takes nothing back", func(tx *kv.Tx, v kv.NodeID) error {
			return errors.Join(rewritten(3, func(d *historyRecord) { d.Undoes = 0 })(tx, v),
				tx.Space(historySpace).Delete(entryKey(2)))
		}, "entry 2 is missing", "node, all"},
		{"last entry", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Delete(entryKey(3)) },
			"entry 3 is missing", "node"},
		{"node's entry", func(tx *kv.Tx, v kv.NodeID) error { return tx.Space(historySpace).Delete(nodeKey(v, 2)) },
			"not found by its node", ""},
		{"body", func(tx *kv.Tx, _ kv.NodeID) error {
			return tx.Space(historySpace).Put(entryKey(2), []byte{historyForm})
		}, "another length", "node, all"},
		{"form", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put(entryKey(2), []byte{9}) },
			"another form", "node, all"},
		{"key", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("Dx"), []byte{9}) },
			"an entry under 4478", "all"},
		{"node's key", func(tx *kv.Tx, _ kv.NodeID) error { return tx.Space(historySpace).Put([]byte("N"), nil) },
			"no entry for the key 4e", ""},
		{"place", rewritten(2, func(d *historyRecord) { d.place = 2 }), "contradicts its place", "node, all"},
		{"kind", rewritten(2, func(d *historyRecord) { d.Kind = 7 }), "it is no decision", "node, all"},
		{"node", rewritten(2, func(d *historyRecord) { d.Node = 60 }), "node number 60 of 60", "node"},
		{"no node", rewritten(2, func(d *historyRecord) { d.Node = kv.NoNode }), "it is about no node", "node, all"},
		{"id", rewritten(2, func(d *historyRecord) { d.ID = "n" }), `is about node "n"`, ""},
		{"undoes", rewritten(3, func(d *historyRecord) { d.Undoes = 3 }), "contradicts its place", "node, all"},
	} {
		var problems []kv.Problem
		err := s.Update(func(tx *kv.Tx) error {
			if err := test.damage(tx, v); err != nil {
				return err
			}
			err := Check(context.Background(), tx, func(p kv.Problem) { problems = append(problems, p) })
			for node, fails := range map[kv.NodeID]bool{
				kv.NoNode: strings.Contains(test.unread, "all"), v: strings.Contains(test.unread, "node"),
			} {
				var last error
				for _, last = range History(context.Background(), tx, node) {
				}
				if errors.Is(last, kv.ErrCorrupt) != fails || !fails && last != nil {
					t.Errorf("%s: history of node number %d: got %v, want kv.ErrCorrupt: %v", test.name, node, last, fails)
				}
			}
			if _, err := ChangesAfter(context.Background(), tx, 0); errors.Is(err,
				kv.ErrCorrupt) != strings.Contains(test.unread, "all") {
				t.Errorf("%s: changes after all entries: got %v", test.name, err)
			}
			return errors.Join(err, undamaged)
		})
		if !errors.Is(err, undamaged) || err.Error() != undamaged.Error() {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !slices.ContainsFunc(problems, func(p kv.Problem) bool { return strings.Contains(p.What, test.want) }) {
			t.Errorf("%s: got %v, want one that says %q", test.name, problems, test.want)
		}
	}
}

func FuzzParseDecision(f *testing.F) {
	d := historyRecord{Decision{
		Seq: 9, Step: 4, Time: noon, Node: 3, ID: "p3", Kind: Accept, From: "a", To: "b", Label: "b", After: Accept,
		Who: "w", Score: 0.5, Undoes: 2,
	}, 1}
	f.Add(int64(9), d.append(nil))
	f.Add(int64(1), []byte{historyForm})
	f.Fuzz(func(t *testing.T, seq int64, body []byte) {
		d, err := parseDecision(seq, body)
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Fatalf("got %v, want kv.ErrCorrupt", err)
			}
			return
		}
		again, err := parseDecision(seq, d.append(nil))
		if err != nil || !sameEntries([]Decision{again.Decision}, []Decision{d.Decision}) || again.place != d.place {
			t.Fatalf("read back: got %+v, %v, want %+v", again, err, d)
		}
	})
}
