package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rewritten changes an entry.
func rewritten(seq int64, change func(d *historyRecord)) func(tx *kv.Tx) error {
	return func(tx *kv.Tx) error {
		d, err := readDecision(tx, seq)
		if err != nil {
			return err
		}
		change(&d)
		return tx.Space(historySpace).Put(entryKey(seq), d.append(nil))
	}
}

// TestRepair damages the history of a store in many ways. Check finds it, and what cannot be read of the
// history is an error, and never another history. Afterwards it can be read, and every node has the label and
// decision that it had, or those from before the entry that is lost.
func TestRepair(t *testing.T) {
	ctx := t.Context()
	put := func(key, value []byte) func(tx *kv.Tx) error {
		return func(tx *kv.Tx) error { return tx.Space(historySpace).Put(key, value) }
	}
	drop := func(keys ...[]byte) func(tx *kv.Tx) error {
		return func(tx *kv.Tx) (err error) {
			for _, key := range keys {
				err = errors.Join(err, tx.Space(historySpace).Delete(key))
			}
			return err
		}
	}
	const v = kv.NodeID(0)
	const first, last, taken, behind = "of the other node", "of the node", "taken back", "none"
	for name, test := range map[string]struct {
		damage func(tx *kv.Tx) error
		lost   string // the decision that nobody has made; "": none
		says   string // what Check reports
		unread string // histories that cannot be read before the repair: of the node, of all nodes
	}{
		"entry":                          {drop(entryKey(2)), first, "entry 2 is missing", "all"},
		"entry and its node":             {drop(entryKey(2), nodeKey(v+1, 2)), first, "entry 2 is missing", "all"},
		"first entries":                  {drop(entryKey(1), entryKey(2)), first, "entries 1 to 2 are missing", "node, all"},
		"first entry":                    {drop(entryKey(1)), taken, "entry 1 is missing", "node, all"},
		"entry taken back":               {drop(entryKey(3)), taken, "entry 3 is missing", "node, all"},
		"entry taken back, and its node": {drop(entryKey(3), nodeKey(v, 3)), taken, "entry 3 is missing", "all"},
		"last entry":                     {drop(entryKey(5)), last, "entry 5 is missing", "node"},
		"last entry, unreadable":         {put(entryKey(5), []byte{historyForm}), last, "another length", "node, all"},
		"body":                           {put(entryKey(3), []byte{historyForm}), taken, "another length", "node, all"},
		"form":                           {put(entryKey(3), []byte{9}), taken, "another form", "node, all"},
		"place": {rewritten(3, func(d *historyRecord) { d.place = 3 }), taken, "contradicts its place",
			"node, all"},
		"kind":    {rewritten(3, func(d *historyRecord) { d.Kind = 7 }), taken, "it is no decision", "node, all"},
		"no node": {rewritten(3, func(d *historyRecord) { d.Node = kv.NoNode }), taken, "about no node", "node, all"},
		"undoes": {rewritten(4, func(d *historyRecord) { d.Undoes = 4 }), taken, "contradicts its place",
			"node, all"},
		"key far behind": {put(nodeKey(v, 9), nil), behind, "entries 6 to 9 are missing", "node"},
		"key of no node": {put(nodeKey(1<<20, 3), nil), "", "no entry for the key", ""},
		"key of entry 0": {put(nodeKey(v, 0), nil), "", "no entry for the key", "node"},
		"key":            {put([]byte("Dx"), []byte{9}), "", "an entry under 4478", "all"},
		"node's key":     {put([]byte("N"), nil), "", "no entry for the key 4e", ""},
		"node's entry":   {drop(nodeKey(v, 3)), "", "not found by its node", ""},
		"entry, twice":   {put(nodeKey(v+1, 3), nil), "", "no entry for the key", ""},
		"label":          {func(tx *kv.Tx) error { return tx.SetLabel(v, "") }, "", "has the label", ""},
		"decision": {func(tx *kv.Tx) error { return tx.SetValue(v, Column, kv.ValueOf("accept")) }, "",
			"has the decision", ""},
		"decision without entry": {func(tx *kv.Tx) error { return tx.SetValue(v+5, Column, kv.ValueOf("unsure")) }, "",
			"has the decision", ""},
	} {
		s := loaded(t, 12, 60)
		opt := Options{Time: noon}
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "beta"}, Request{Node: v + 1, Kind: Unsure})
		mustDecide(t, s, opt, Request{Node: v, Kind: Relabel, To: "gamma"})
		mustUndo(t, s, 1)
		mustDecide(t, s, opt, Request{Node: v, Kind: Unsure})
		want := states(t, s)
		switch test.lost {
		case first:
			want[v+1] = State{Label: want[v+1].Label}
		case last:
			want[v] = State{Label: "beta", Decision: Relabel}
		}
		must.Do(t, s.Update(test.damage))
		says := func(p kv.Problem) bool { return strings.Contains(p.What, test.says) }
		if problems := historyProblems(t, s); !slices.ContainsFunc(problems, says) {
			t.Errorf("%s: Check says %v, want %q", name, problems, test.says)
		}
		view(t, s, func(tx *kv.Tx) error {
			for of, node := range map[string]kv.NodeID{"all": kv.NoNode, "node": v} {
				var err error
				for _, err = range History(ctx, tx, node) {
				}
				if fails := strings.Contains(test.unread, of); errors.Is(err, kv.ErrCorrupt) != fails || !fails && err != nil {
					t.Errorf("%s: history of %s: got %v, want kv.ErrCorrupt: %v", name, of, err, fails)
				}
			}
			return nil
		})
		var done []kv.Correction
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { done = append(done, m) }))
		if got := states(t, s); !maps.Equal(got, want) {
			t.Errorf("%s: after the repair, which did %v: got %v, want %v", name, done, got, want)
		}
		if len(done) == 0 || (test.lost != "") != (done[0].Lost != nil) {
			t.Errorf("%s: the repair did %v", name, done)
		}
		if problems := historyProblems(t, s); len(problems) > 0 {
			t.Errorf("%s: after the repair, which did %v: %v", name, done, problems)
		}
		historyOf(t, s, kv.NoNode)
		next := map[bool]int64{false: 6, true: 10}[test.lost == behind]
		if got := mustDecide(t, s, opt, Request{Node: v, Kind: Unsure}); got[0].Seq != next {
			t.Errorf("%s: got %+v, want entry %d", name, got, next)
		}
		var err error
		for err == nil {
			_, err = Undo(ctx, s, opt, nil)
		}
		if problems := historyProblems(t, s); len(problems) > 0 || !errors.Is(err, ErrNothingToUndo) {
			t.Errorf("%s: after all was taken back: %v, %v", name, err, problems)
		}
		must.Do(t, Repair(ctx, s, func(m kv.Correction) { t.Errorf("%s: repairing again did %v", name, m) }))
	}
}

// TestUndoOfLostEntries wants a step to stay taken back, though an entry that the last entry of the undo names is lost.
func TestUndoOfLostEntries(t *testing.T) {
	s := loaded(t, 12, 60)
	mustDecide(t, s, Options{Time: noon}, Request{Node: 1, Kind: Unsure}, Request{Node: 2, Kind: Unsure})
	mustUndo(t, s, 1)
	must.Do(t, s.Update(func(tx *kv.Tx) error { return tx.Space(historySpace).Delete(entryKey(1)) }))
	must.Do(t, Repair(t.Context(), s, func(kv.Correction) {}))
	if made, err := Undo(t.Context(), s, Options{}, nil); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("undo after the repair: got %v and %v, want %v", made, err, ErrNothingToUndo)
	}
}

// TestRepairOfLostNodes has the history of a store in one that lost the nodes which were added last: the node of
// a decision is there again, with it, and the other entry is found. The repair is stopped after each thing it does.
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
	opt := Options{Time: noon}
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

// TestCheckKnowsIDs finds an entry about another node than it says.
func TestCheckKnowsIDs(t *testing.T) {
	s := loaded(t, 12, 60)
	mustDecide(t, s, Options{}, Request{Node: 3, Kind: Unsure})
	must.Do(t, s.Update(rewritten(1, func(d *historyRecord) { d.ID = "n" })))
	if problems := historyProblems(t, s); len(problems) != 1 || !strings.Contains(problems[0].What, `is about node "n"`) {
		t.Errorf("got %v, want the node that the entry is about", problems)
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

// A gap between two entries is one problem, however long. Check ends with its context there.
func TestCheckOfGaps(t *testing.T) {
	s := loaded(t, 12, 60)
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.Space(historySpace).Put(entryKey(1<<16), []byte{lostForm}),
			tx.Space(historySpace).Put(entryKey(1<<62), []byte{lostForm}))
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var problems []string
	err := s.View(func(tx *kv.Tx) error {
		return Check(ctx, tx, func(p kv.Problem) {
			if problems = append(problems, p.What); len(problems) == 2 {
				cancel()
			}
		})
	})
	want := []string{"entries 1 to 65535 are missing", "entries 65537 to 4611686018427387903 are missing"}
	if !slices.Equal(problems, want) || !errors.Is(err, context.Canceled) {
		t.Errorf("got the problems %q and the error %v, want %q", problems, err, want)
	}
}
