package decide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

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
		return Check(context.Background(), tx, func(p kv.Problem) { problems = append(problems, p) })
	})
	return problems
}

func mustDecide(t *testing.T, s *kv.Store, opt Options, reqs ...Request) []Decision {
	t.Helper()
	made, err := Write(context.Background(), s, reqs, opt)
	if err != nil {
		t.Fatalf("deciding %v: %v", reqs, err)
	}
	return made
}

// mustUndo takes back some steps.
func mustUndo(t *testing.T, s *kv.Store, steps int) (entries []Decision) {
	t.Helper()
	for range steps {
		entries = append(entries, must.Get(Undo(context.Background(), s, Options{}, nil))(t)...)
	}
	return entries
}

// A decisionStep is decisions that are made as one.
type decisionStep struct {
	Requests []Request
	Options  Options
}

// decideSteps is WriteSteps of steps in memory.
func decideSteps(t *testing.T, s *kv.Store, steps []decisionStep) []Decision {
	t.Helper()
	return must.Get(WriteSteps(t.Context(), s, func(w *StepWriter) error {
		for _, step := range steps {
			if err := w.Begin(step.Options); err != nil {
				return err
			}
			for _, req := range step.Requests {
				if err := w.Add(req); err != nil {
					return err
				}
			}
		}
		return nil
	}))(t)
}

// states are labels and decisions of all nodes that are there.
func states(t *testing.T, s *kv.Store) map[kv.NodeID]State {
	t.Helper()
	all := map[kv.NodeID]State{}
	view(t, s, func(tx *kv.Tx) error {
		nodes := must.Get(NewReader(tx))(t)
		for v := range kv.NodeID(tx.NumNodes()) {
			if must.Get(tx.Removed())(t).Has(v) {
				continue
			}
			of := must.Get(nodes.View(v))(t)
			all[v] = State{of.Label, of.Decision, of.Disputed}
		}
		return nil
	})
	return all
}

func historyOf(t *testing.T, s *kv.Store, node kv.NodeID) (entries []Decision) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		for d, err := range History(context.Background(), tx, node) {
			must.Do(t, err)
			entries = append(entries, d)
		}
		return nil
	})
	return entries
}

// sameEntries compares entries, with NaN equal to NaN.
func sameEntries(got, want []Decision) bool {
	return slices.EqualFunc(got, want, func(a, b Decision) bool {
		same := a.Score == b.Score || a.Score != a.Score && b.Score != b.Score
		a.Score, b.Score = 0, 0
		return same && a == b
	})
}

// labelledNode is the first labelled node from v on whose suggestion is another class, and unlabelledNode the first
// without a label.
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

func unlabelledNode(t *testing.T, s *kv.Store) (v kv.NodeID) {
	t.Helper()
	for v, state := range states(t, s) {
		if state.Label == "" {
			return v
		}
	}
	t.Fatal("no unlabelled node")
	return v
}

// What every kind says of itself, and back again. TestDecisionsModel has what it leaves in the store.
func TestDecide(t *testing.T) {
	s := scored(t, 3, 300)
	before := states(t, s)
	unlabelled := unlabelledNode(t, s)
	nodes := []kv.NodeID{labelledNode(t, s, 0)}
	for len(nodes) < 5 {
		nodes = append(nodes, labelledNode(t, s, nodes[len(nodes)-1]+1))
	}
	reqs := []Request{
		{Node: nodes[0], Kind: Accept}, {Node: nodes[1], Kind: Reject}, {Node: nodes[2], Kind: Relabel, To: "gamma"},
		{Node: nodes[3], Kind: Unlabel}, {Node: nodes[4], Kind: Unsure}, {Node: unlabelled, Kind: Accept},
	}
	made := mustDecide(t, s, Options{Who: "ada", Why: "title says so", Time: noon}, reqs...)
	if len(made) != len(reqs) {
		t.Fatalf("got %d decisions, want %d", len(made), len(reqs))
	}
	view(t, s, func(tx *kv.Tx) error {
		for i, req := range reqs {
			want := Decision{
				Seq: int64(i + 1), Step: 1, Time: noon, Node: req.Node, Kind: req.Kind,
				From: before[req.Node].Label,
				To:   before[req.Node].Label, After: req.Kind, Who: "ada", Why: "title says so", Run: 1, Score: made[i].Score,
			}
			suggested := must.Get(tx.Value(req.Node, SuggestedColumn))(t)
			want.ID = must.Get(tx.ID(req.Node))(t)
			switch req.Kind {
			case Accept:
				want.To = suggested.Str()
			case Relabel:
				want.To = "gamma"
			case Unlabel:
				want.To = ""
			}
			want.Label = want.To
			if !sameEntries(made[i:i+1], []Decision{want}) {
				t.Errorf("%s of node %s: got %+v, want %+v", req.Kind, want.ID, made[i], want)
			}
			score := must.Get(tx.Value(req.Node, ScoreColumn))(t)
			if score.IsNull() != (made[i].Score != made[i].Score) || !score.IsNull() && score.Float() != made[i].Score {
				t.Errorf("%s of node %s: got score %v, want %v", req.Kind, want.ID, made[i].Score, score)
			}
		}
		return nil
	})

	back := mustUndo(t, s, 1)
	for i, d := range back {
		if undone := made[len(made)-1-i]; d.Undoes != undone.Seq || d.From != undone.To || d.To != undone.From ||
			d.Kind != undone.Kind || d.Step != 2 {
			t.Errorf("undo of %+v: got %+v", undone, d)
		}
	}
}

func TestDecideRefuses(t *testing.T) {
	s := scored(t, 4, 200)
	bare := loaded(t, 5, 60) // no run, no suggestion
	labelled, unlabelled := labelledNode(t, s, 0), unlabelledNode(t, s)
	for _, test := range []struct {
		name  string
		store *kv.Store
		reqs  []Request
		opt   Options
		want  error
		says  string
	}{
		{"reject", s, []Request{{Node: unlabelled, Kind: Reject}}, Options{}, ErrNoLabel, " has no label to reject"},
		{"unlabel", s, []Request{{Node: unlabelled, Kind: Unlabel}}, Options{}, ErrNoLabel, " has no label to unlabel"},
		{"accept", bare, []Request{{Node: 0, Kind: Accept}}, Options{}, ErrNoSuggestion,
			"node n0 has no suggested label to accept: clean and rescore make suggestions"},
		{"relabel", s, []Request{{Node: labelled, Kind: Relabel, To: "gama"}}, Options{}, ErrUnknownClass,
			`class "gama": the store has alpha`},
		{"relabel to nothing", s, []Request{{Node: labelled, Kind: Relabel}}, Options{}, ErrUnknownClass, `class ""`},
		{"label with accept", s, []Request{{Node: labelled, Kind: Accept, To: "beta"}}, Options{}, ErrOptions, "beta"},
		{"no kind", s, []Request{{Node: labelled}}, Options{}, ErrOptions, "want accept"},
		{"kind 9", s, []Request{{Node: labelled, Kind: 9}}, Options{}, ErrOptions, "decision kind 9"},
		{"node twice", s, []Request{{Node: labelled, Kind: Reject}, {Node: labelled, Kind: Unsure}}, Options{},
			ErrOptions, "is decided on twice"},
		{"no node", s, []Request{{Node: 200, Kind: Reject}}, Options{}, kv.ErrNotFound, "node number 200 of 200"},
		{"last of two", s, []Request{{Node: labelled, Kind: Reject}, {Node: unlabelled, Kind: Reject}}, Options{},
			ErrNoLabel, "node n"},
		{"who", s, []Request{{Node: labelled, Kind: Reject}}, Options{Who: strings.Repeat("x", MaxWho+1)}, ErrOptions, "257"},
		{"why", s, []Request{{Node: labelled, Kind: Reject}}, Options{Why: "\xff"}, ErrOptions, "UTF-8"},
		{"year", s, []Request{{Node: labelled, Kind: Reject}}, Options{Time: noon.AddDate(10000, 0, 0)}, ErrOptions,
			"want 1 to 9999"},
	} {
		before := states(t, test.store)
		made, err := Write(context.Background(), test.store, test.reqs, test.opt)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || made != nil {
			t.Errorf("%s: got %v, %v, want %v that says %q", test.name, made, err, test.want, test.says)
		}
		if after := states(t, test.store); !maps.Equal(before, after) || len(historyOf(t, test.store, kv.NoNode)) > 0 {
			t.Errorf("%s: the store was changed", test.name)
		}
	}
	if made, err := Write(context.Background(), s, nil, Options{}); err != nil || made != nil {
		t.Errorf("no requests: got %v, %v, want nothing", made, err)
	}
}

// Steps that were made elsewhere keep the times at which they were made, and are taken back one by one. It does not
// matter whether they fit into a transaction.
func TestDecideSteps(t *testing.T) {
	var want [][]Decision
	for _, why := range []string{"", strings.Repeat("w", MaxWhy)} {
		s := loaded(t, 31, 400)
		t.Cleanup(func() { mustEndTrue(t, s) })
		before := states(t, s)
		var steps []decisionStep
		for i := range 200 {
			opt := Options{Who: fmt.Sprint("person ", i%3), Why: why, Time: noon.Add(-time.Duration(i*37%200) * time.Minute)}
			steps = append(steps, decisionStep{Options: opt}, decisionStep{Options: opt, Requests: []Request{
				{Node: kv.NodeID(2 * i), Kind: Unsure}, {Node: kv.NodeID(2*i + 1), Kind: Relabel, To: "beta"},
			}})
		}
		twice := Request{Node: 7, Kind: Relabel, To: "gamma"}
		steps = append(steps, decisionStep{Options: Options{Time: noon}, Requests: []Request{twice}})
		made := decideSteps(t, s, steps)
		if len(made) != 401 {
			t.Fatalf("got %d decisions, want 401", len(made))
		}
		for i, d := range made[:400] {
			if opt := steps[i/2*2].Options; d.Step != int64(i/2+1) || !d.Time.Equal(opt.Time) ||
				d.Who != opt.Who {
				t.Fatalf("decision %d: got %+v, want step %d, made at %v by %s", i, d, i/2+1, opt.Time, opt.Who)
			}
		}
		if last := made[400]; last.From != "beta" || last.Before != Relabel || !last.Time.Equal(noon) {
			t.Errorf("decided on again: got %+v, want from beta, at %v", last, noon)
		}
		if got := historyOf(t, s, kv.NoNode); !sameEntries(got, made) {
			t.Errorf("history: got %v, want %v", got, made)
		}
		back := mustUndo(t, s, 2)
		if len(back) != 3 || back[0].Node != 7 || states(t, s)[7].Label != "beta" {
			t.Errorf("two steps taken back: got %+v, want node 7 and two of the step before", back)
		}
		mustUndo(t, s, 199)
		if got := states(t, s); !maps.Equal(got, before) {
			t.Errorf("all taken back: got %v, want %v", got, before)
		}
		for i := range made {
			made[i].Why = ""
		}
		want = append(want, made)
	}
	if !sameEntries(want[0], want[1]) {
		t.Error("the steps of a transaction and those of a bulk write differ")
	}
}
