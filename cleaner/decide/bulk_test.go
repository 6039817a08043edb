package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/logged"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// suggestedStore is a store of n labelled nodes without edges, whose suggestion is B, with an index on label. At the
// end of each bulk write it calls written.
func suggestedStore(t *testing.T, n int, written func()) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	l := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{}))(t)
	defer l.Abort() //nolint:errcheck // after Commit it does nothing
	for v := range n {
		must.Do(t, l.AddNode(kv.Node{ID: fmt.Sprint("n", v), Label: []string{"A", "B", "C"}[v%3]}))
	}
	must.Get(l.Commit(t.Context(), nil))(t)
	isOpen := false
	s := must.Get(index.Open(dir,
		kv.Options{MemoryBudget: 16 << 20, Logger: logged.To(func(what string, _ map[string]any) {
			if isOpen && what == "commit" {
				written()
			}
		})}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	suggest(t, s, "B")
	must.Do(t, index.Create(t.Context(), s, kv.LabelColumn))
	isOpen = true
	return s
}

// suggest writes one suggestion for all nodes.
func suggest(t *testing.T, s *kv.Store, class string) {
	t.Helper()
	b := must.Get(s.Bulk(context.Background()))(t)
	defer b.Abort()
	column := must.Get(b.Column(SuggestedColumn, kv.KindClass))(t)
	for v := range kv.NodeID(b.Tx().NumNodes()) {
		must.Do(t, column.Put(v, kv.ValueOf(class)))
	}
	must.Do(t, b.Commit(nil))
}

// acceptAll accepts the suggestions of all nodes, in one step, as far as shown tells.
func acceptAll(ctx context.Context, s *kv.Store, n int, shown func(v kv.NodeID) *View) ([]Decision, error) {
	return WriteSteps(ctx, s, func(w *StepWriter) error {
		if err := w.Begin(Options{Who: "ada", Time: noon}); err != nil {
			return err
		}
		for v := range kv.NodeID(n) {
			if err := w.Add(Request{Node: v, Kind: Accept, View: shown(v)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestBulkDecisions decides on 15,000 nodes and takes that back. More than memory is for are refused.
func TestBulkDecisions(t *testing.T) {
	const nodes, tooMany = 15_000, 48_000
	writes := 0
	s := suggestedStore(t, tooMany, func() { writes++ })
	before := states(t, s)
	unseen := func(kv.NodeID) *View { return nil }
	if made, err := acceptAll(t.Context(), s, tooMany, unseen); !errors.Is(err, ErrOptions) ||
		!strings.Contains(err.Error(), "the memory budget is for 47934 decisions at once") {
		t.Errorf("%d nodes: got %d decisions, %v, want ErrOptions", tooMany, len(made), err)
	}
	made, err := acceptAll(t.Context(), s, nodes, unseen)
	if err != nil || len(made) != nodes || made[nodes-1].Seq != nodes || made[nodes-1].Step != 1 {
		t.Fatalf("got %d decisions, %v, want one step of %d", len(made), err, nodes)
	}
	back, err := Undo(t.Context(), s, Options{}, nil)
	if err != nil || len(back) != nodes || back[0].Seq != nodes+1 || back[nodes-1].Step != 2 {
		t.Fatalf("got %d decisions, %v, want one step of %d", len(back), err, nodes)
	}
	if writes != 2 {
		t.Errorf("got %d bulk writes, want 2", writes)
	}
	if !maps.Equal(states(t, s), before) {
		t.Error("after the undo labels and decisions are not what they were")
	}
	mustEndTrue(t, s)
}

// TestDecideAboutWhatWasShown decides nothing where a node is not what was shown, in a transaction and in a bulk write,
// and names the first of those nodes.
func TestDecideAboutWhatWasShown(t *testing.T) {
	for _, nodes := range []int{30, 20_000} {
		s := suggestedStore(t, nodes, func() {})
		shown := func(v kv.NodeID) *View { return &View{Label: []string{"A", "B", "C"}[v%3], Suggestion: "B"} }
		before := states(t, s)
		refused := func(what string, count int64, says string) {
			t.Helper()
			_, err := acceptAll(t.Context(), s, nodes, shown)
			changed, ok := errors.AsType[*ChangedError](err)
			if !ok || !errors.Is(err, ErrChanged) || changed.Count != count ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("%d nodes, %s: got %v, want a ChangedError of %d nodes that says %q", nodes, what, err, count, says)
			}
			if now := states(t, s); !maps.Equal(now, before) || len(historyOf(t, s, kv.NoNode)) > 0 {
				t.Errorf("%d nodes, %s: something was decided", nodes, what)
			}
		}
		set := func(v kv.NodeID, column, value string) {
			t.Helper()
			must.Do(t, s.Update(func(tx *kv.Tx) error {
				if column == kv.LabelColumn {
					return tx.SetLabel(v, value)
				}
				return tx.SetValue(v, column, kv.ValueOf(value))
			}))
		}
		set(7, SuggestedColumn, "C")
		refused("a suggestion", 1, "node n7 has changed since it was shown: the suggestion was B, is C")
		set(7, SuggestedColumn, "B")
		set(3, kv.LabelColumn, "C")
		before[3] = State{Label: "C"}
		refused("a label", 1, "n3 has changed since it was shown: the label was A, is C")
		set(3, kv.LabelColumn, "A")
		before[3] = State{Label: "A"}
		suggest(t, s, "C")
		refused("all suggestions", int64(nodes),
			fmt.Sprintf("%d nodes have changed since they were shown, such as n0: the suggestion was B, is C", nodes))
		suggest(t, s, "B")
		if made, err := acceptAll(t.Context(), s, nodes, shown); err != nil || len(made) != nodes {
			t.Errorf("%d nodes, nothing changed: got %d decisions, %v, want all decided", nodes, len(made), err)
		}
		again := *shown(4)
		_, err := Write(t.Context(), s, []Request{{Node: 4, Kind: Unsure, View: &again}}, Options{})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("decided by somebody else meanwhile: got %v, want ErrChanged", err)
		}
		mustEndTrue(t, s)
	}
}

// TestLastOwnStep finds the last step of one person that was not taken back.
func TestLastOwnStep(t *testing.T) {
	s := suggestedStore(t, 30, func() {})
	step := func(who string, v kv.NodeID) int64 {
		return mustDecide(t, s, Options{Who: who}, Request{Node: v, Kind: Unsure})[0].Step
	}
	first, second, last, _ := step("ann", 1), step("ann", 2), step("ann", 1), step("bob", 3)
	own := func(most int64) int64 {
		t.Helper()
		tx := s.Begin()
		defer tx.Close()
		return must.Get(LastOwnStep(t.Context(), tx, "ann", most))(t)
	}
	if got := own(1); got != 0 {
		t.Errorf("in the last entry: got step %d of ann, want none", got)
	}
	if _, err := Undo(t.Context(), s, Options{Who: "ann", Last: second}, nil); !errors.Is(err, ErrChanged) {
		t.Errorf("undo of a step that is not the last: got %v, want ErrChanged", err)
	}
	for _, want := range []int64{last, second, first} {
		if got := own(1000); got != want {
			t.Errorf("the last step of ann: got %d, want %d", got, want)
		}
		must.Get(Undo(t.Context(), s, Options{Who: "ann", Last: want}, nil))(t)
	}
	if got := own(1000); got != 0 {
		t.Errorf("after undo of all: got step %d of ann, want none", got)
	}
}

// Undo takes back the steps of one person, unless somebody else has decided on one of their nodes later.
func TestUndoOfOnePerson(t *testing.T) {
	const nodes = 30
	s := suggestedStore(t, nodes, func() {})
	write := func(who string, nodes ...kv.NodeID) {
		t.Helper()
		requests := make([]Request, len(nodes))
		for i, v := range nodes {
			requests[i] = Request{Node: v, Kind: Accept}
		}
		mustDecide(t, s, Options{Who: who}, requests...)
	}
	undo := func(who string, want int) error {
		t.Helper()
		back, err := Undo(t.Context(), s, Options{Who: who}, nil)
		if err == nil && len(back) != want {
			t.Errorf("undo of %s took back %d decisions, want %d", who, len(back), want)
		}
		return err
	}
	var long []kv.NodeID
	for v := kv.NodeID(1); v < nodes; v++ {
		long = append(long, v)
	}
	write("ann", 0, 6)
	write("bob", 1)
	write("bob", 2, 3)
	if err := undo("cy", 0); !errors.Is(err, ErrNothingToUndo) ||
		!strings.Contains(err.Error(), `"cy" has nothing to undo`) {
		t.Errorf("somebody without steps: got %v, want ErrNothingToUndo", err)
	}
	if err := undo("ann", 2); err != nil { // bob's steps are about other nodes
		t.Errorf("a step before those of somebody else: %v", err)
	}
	if got := states(t, s); got[6] != (State{Label: "A"}) || got[1] != (State{Label: "B", Decision: Accept}) ||
		got[3] != got[1] {
		t.Errorf("ann's decisions are not taken back, or bob's are")
	}
	write("ann", 6)
	write("bob", long...)
	before := states(t, s)
	err := undo("ann", 0)
	if later, ok := errors.AsType[*LaterDecisionError](err); !ok || !errors.Is(err, ErrChanged) || later.ID != "n6" {
		t.Errorf("bob has decided since: got %v, want a LaterDecisionError that names n6", err)
	}
	if !maps.Equal(states(t, s), before) {
		t.Errorf("something was taken back")
	}
	if err := errors.Join(undo("bob", len(long)), undo("ann", 1), undo("", 2)); err != nil {
		t.Errorf("bob has taken his step back: %v", err)
	}
	mustEndTrue(t, s)
}
