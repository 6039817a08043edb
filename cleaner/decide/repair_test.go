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
	}{
		"entry":                          {drop(entryKey(2)), first},
		"entry and its node":             {drop(entryKey(2), nodeKey(v+1, 2)), first},
		"first entries":                  {drop(entryKey(1), entryKey(2)), first},
		"first entry":                    {drop(entryKey(1)), taken},
		"entry taken back":               {drop(entryKey(3)), taken},
		"entry taken back, and its node": {drop(entryKey(3), nodeKey(v, 3)), taken},
		"last entry":                     {drop(entryKey(5)), last},
		"last entry, unreadable":         {put(entryKey(5), []byte{historyForm}), last},
		"body":                           {put(entryKey(3), []byte{historyForm}), taken},
		"key far behind":                 {put(nodeKey(v, 9), nil), behind},
		"key of no node":                 {put(nodeKey(1<<20, 3), nil), ""},
		"key of entry 0":                 {put(nodeKey(v, 0), nil), ""},
		"key":                            {put([]byte("Dx"), []byte{9}), ""},
		"node's key":                     {put([]byte("N"), nil), ""},
		"node's entry":                   {drop(nodeKey(v, 3)), ""},
		"entry, twice":                   {put(nodeKey(v+1, 3), nil), ""},
		"label":                          {func(tx *kv.Tx) error { return tx.SetLabel(v, "") }, ""},
		"decision":                       {func(tx *kv.Tx) error { return tx.SetValue(v, Column, kv.ValueOf("accept")) }, ""},
		"decision without entry":         {func(tx *kv.Tx) error { return tx.SetValue(v+5, Column, kv.ValueOf("unsure")) }, ""},
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
		if problems := historyProblems(t, s); len(problems) == 0 {
			t.Errorf("%s: Check finds no damage", name)
		}
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
