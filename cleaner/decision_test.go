package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// The decisions themselves are tested where they are made. Here they meet runs.

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// cleaned is a store that was cleaned, of n nodes.
func cleaned(t *testing.T, seed uint64, n int) *kv.Store {
	t.Helper()
	s := newPlanted(seed, n).load(t, false)
	mustClean(t, s, Options{Method: paper.Published, Seed: seed, Imported: AsGiven})
	t.Cleanup(func() { mustEndTrue(t, s) })
	return s
}

// mustEndTrue fails the test where the history does not agree with the store.
func mustEndTrue(t *testing.T, s *kv.Store) {
	t.Helper()
	for _, p := range historyProblems(t, s) {
		t.Errorf("history: %s", p)
	}
}

func historyProblems(t *testing.T, s *kv.Store) (problems []kv.Problem) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		return decide.Check(context.Background(), tx, func(p kv.Problem) { problems = append(problems, p) })
	})
	return problems
}

func mustDecide(t *testing.T, s *kv.Store, opt decide.Options, reqs ...decide.Request) {
	t.Helper()
	if _, err := decide.Write(context.Background(), s, reqs, opt); err != nil {
		t.Fatalf("deciding %v: %v", reqs, err)
	}
}

func mustUndo(t *testing.T, s *kv.Store, steps int) {
	t.Helper()
	for range steps {
		must.Get(Undo(context.Background(), s, decide.Options{}))(t)
	}
}

// states are labels and decisions of all nodes.
func states(t *testing.T, s *kv.Store) map[kv.NodeID]decide.State {
	t.Helper()
	all := map[kv.NodeID]decide.State{}
	view(t, s, func(tx *kv.Tx) error {
		nodes := must.Get(decide.NewReader(tx))(t)
		for v := range kv.NodeID(tx.NumNodes()) {
			of := must.Get(nodes.View(v))(t)
			all[v] = decide.State{Label: of.Label, Decision: of.Decision}
		}
		return nil
	})
	return all
}

// valueOrNull is a value of a node, null where the store has no such column.
func valueOrNull(tx *kv.Tx, v kv.NodeID, column string) (kv.Value, error) {
	value, err := tx.Value(v, column)
	if errors.Is(err, kv.ErrNoColumn) {
		return kv.Value{}, nil
	}
	return value, err
}

func historyOf(t *testing.T, s *kv.Store, node kv.NodeID) (entries []decide.Decision) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for d, err := range decide.History(context.Background(), tx, node) {
			must.Do(t, err)
			entries = append(entries, d)
		}
		return nil
	})
	return entries
}

// labelledNode is the first labelled node from v on whose suggestion is another class.
func labelledNode(t *testing.T, s *kv.Store, v kv.NodeID) kv.NodeID {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for ; int(v) < tx.NumNodes(); v++ {
			label := must.Get(tx.Value(v, kv.LabelColumn))(t)
			suggested, err := valueOrNull(tx, v, SuggestedColumn)
			if err != nil || !label.IsNull() && suggested != label {
				return err
			}
		}
		return errors.New("no labelled node")
	})
	return v
}

// Decisions, labels and their indexes as they were, after a run and other predictions.
func TestDecisionsSurviveCleanAndImport(t *testing.T) {
	p := newPlanted(9, 300)
	s := p.load(t, false)
	t.Cleanup(func() { mustEndTrue(t, s) })
	mustClean(t, s, Options{Method: paper.Published, Imported: AsGiven})
	v := labelledNode(t, s, 0)
	w := labelledNode(t, s, v+1)
	mustDecide(t, s, decide.Options{Time: noon}, decide.Request{Node: v, Kind: decide.Accept},
		decide.Request{Node: w, Kind: decide.Reject})
	want, entries := states(t, s), historyOf(t, s, kv.NoNode)
	second := mustClean(t, s, Options{Method: paper.Published, Seed: 7, Imported: AsGiven})
	if second.Decisions != 2 {
		t.Errorf("run after two decisions: got %d, want 2", second.Decisions)
	}
	p.predict(t, s)
	must.Do(t, errors.Join(s.Compact(context.Background(), nil), index.Compact(context.Background(), s)))
	if got := states(t, s); !maps.Equal(got, want) {
		t.Errorf("labels and decisions: got %v, want %v", got, want)
	}
	if got := historyOf(t, s, kv.NoNode); fmt.Sprint(got) != fmt.Sprint(entries) {
		t.Errorf("history: got %v, want %v", got, entries)
	}
	view(t, s, func(tx *kv.Tx) error {
		e := must.Get(Explain(context.Background(), tx, v, ops.Options{}))(t)
		if e.Decision != decide.Accept || fmt.Sprint(e.History) != fmt.Sprint(entries[:1]) {
			t.Errorf("explained: got decision %s, history %+v, want accept, %+v", e.Decision, e.History, entries[:1])
		}
		return nil
	})
}

// A score is of a label. Undo removes that of a label which it takes back, and leaves one of the label it restores.
func TestUndoAfterClean(t *testing.T) {
	p := newPlanted(9, 300)
	s := p.load(t, false)
	t.Cleanup(func() { mustEndTrue(t, s) })
	mustClean(t, s, Options{Method: paper.Published, Imported: AsGiven})
	v := labelledNode(t, s, 0)
	w := labelledNode(t, s, v+1)
	var before, other string
	view(t, s, func(tx *kv.Tx) error {
		label, err := tx.Value(v, kv.LabelColumn)
		before = label.Str()
		for _, class := range tx.Classes() {
			if class != before {
				other = class
			}
		}
		return err
	})
	explained := func() (e *Explanation) {
		view(t, s, func(tx *kv.Tx) (err error) {
			e, err = Explain(context.Background(), tx, v, ops.Options{})
			return err
		})
		return e
	}
	relabel := decide.Request{Node: v, Kind: decide.Relabel, To: other}
	mustDecide(t, s, decide.Options{Time: noon}, relabel, decide.Request{Node: w, Kind: decide.Reject})
	if e := explained(); e.ScoredAs != before || e.Label != other ||
		slices.ContainsFunc(e.Counterfactual, func(c ClassShare) bool { return c.Class == before }) {
		t.Errorf("relabelled: got given %q, scored as %q, counterfactuals %v, want %q, %q, none of it",
			e.Label, e.ScoredAs, e.Counterfactual, other, before)
	}
	if back, err := Undo(context.Background(), s, decide.Options{}); err != nil || len(back) != 2 {
		t.Errorf("undo before another run: got %+v, %v, want two entries", back, err)
	}
	if e := explained(); math.IsNaN(e.Score) || e.ScoredAs != before {
		t.Errorf("undone: got score %v of %q, want that of %q", e.Score, e.ScoredAs, before)
	}
	mustDecide(t, s, decide.Options{Time: noon}, relabel, decide.Request{Node: w, Kind: decide.Reject})
	mustClean(t, s, Options{Method: paper.Published, Imported: AsGiven})
	if back, err := Undo(context.Background(), s, decide.Options{}); err != nil || len(back) != 2 {
		t.Errorf("undo after another run: got %+v, %v, want two entries", back, err)
	}
	if e := explained(); !math.IsNaN(e.Score) || e.ScoredAs != "" || e.Label != before {
		t.Errorf("undone after another run: got score %v of %q, given %q, want none, %q", e.Score, e.ScoredAs,
			e.Label, before)
	}
	view(t, s, func(tx *kv.Tx) error {
		return Check(context.Background(), tx, func(p kv.Problem) { t.Errorf("check: %v", p) })
	})
}

// What is decided while a cleaning computes stays, and is in the future of its run.
func TestDecideDuringClean(t *testing.T) {
	s := newPlanted(10, 200).load(t, false)
	t.Cleanup(func() { mustEndTrue(t, s) })
	v := labelledNode(t, s, 0)
	before := states(t, s)[v]
	decided := false
	run := mustClean(t, s, Options{Method: paper.Published, OnStage: func(stage ops.Stage) {
		if !decided && stage.Name == "noise" {
			mustDecide(t, s, decide.Options{}, decide.Request{Node: v, Kind: decide.Unlabel})
			decided = true
		}
	}})
	if got := (decide.State{Decision: decide.Unlabel}); !decided || states(t, s)[v] != got {
		t.Errorf("got %+v, want %+v", states(t, s)[v], got)
	}
	if run.Decisions != 0 {
		t.Errorf("a run that began before the decision: got %d entries seen, want 0", run.Decisions)
	}
	view(t, s, func(tx *kv.Tx) error {
		changes, err := decide.ChangesAfter(context.Background(), tx, run.Decisions)
		if changes[v].Was.Label != before.Label || len(changes) != 1 {
			t.Errorf("changes since the run: got %v, want only node number %d, which was %+v", changes, v, before)
		}
		return err
	})
}
