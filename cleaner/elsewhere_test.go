package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// foreign is the last run of a store as another program would describe it, and what it says of nodes by id.
func foreign(t *testing.T, s *kv.Store) (run *ForeignRun, scores map[string]NodeScore) {
	t.Helper()
	scores = storedScores(t, s)
	for id, score := range scores {
		score.Label = "" // decisions change it
		scores[id] = score
	}
	view(t, s, func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		names := last.Classes
		model := &PieceModel{
			Census: &Census{Names: names, Counts: make([]float64, len(names)), Fitting: last.FittingNodes},
			Hops:   last.Hops, Model: last.Model, Warnings: last.Warnings,
		}
		run = &ForeignRun{
			Model: viaJSON(t, model), Started: last.Started, Seconds: last.Seconds, Seed: last.Seed,
			Elsewhere: Elsewhere{Nodes: last.Nodes, Edges: last.Edges, Scored: last.Scored, Suspects: last.Suspects},
		}
		return nil
	})
	return run, scores
}

// bringHome writes a run that was made elsewhere, and what it says of the nodes that the store has.
func bringHome(s *kv.Store, run *ForeignRun, scores map[string]NodeScore) (err error) {
	b, err := s.Bulk(context.Background())
	if err != nil {
		return err
	}
	defer b.Abort()
	w, err := NewRunWriter(b, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, id := range slices.Sorted(maps.Keys(scores)) {
		score := scores[id]
		score.Node, err = b.Tx().Node(id)
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		if err == nil {
			err = w.Put(score)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", id, err)
		}
	}
	if err := w.Finish(); err != nil {
		return err
	}
	return b.Commit(w.Mark)
}

// part is the first nodes, and the edges among them.
func (p plantedPartition) part(n int) plantedPartition {
	var edges [][2]int
	for _, e := range p.edges {
		if e[0] < n && e[1] < n {
			edges = append(edges, e)
		}
	}
	return plantedPartition{nodes: p.nodes[:n], truth: p.truth[:n], edges: edges, scores: p.scores[:n]}
}

// atHome is a store with a part of a graph, and the run of all of it.
func atHome(t *testing.T, p plantedPartition, n int) (whole, home *kv.Store) {
	t.Helper()
	whole = p.load(t, false)
	mustClean(t, whole, Options{Seed: 3, Imported: AsGiven})
	run, scores := foreign(t, whole)
	home = p.part(n).load(t, false)
	must.Do(t, bringHome(home, run, scores))
	return whole, home
}

// runText is the last run, with what is left to be found, except for what tells where it was made. NaN is NaN in it.
func runText(t *testing.T, s *kv.Store) (text string) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		run := must.Get(LastRun(tx))(t)
		left := must.Get(CountRemaining(t.Context(), tx))(t)
		text = fmt.Sprintf("%+v\n%+v\n", left, *run.Model)
		run.Elsewhere, run.Commit, run.meanScores, run.labelCounts, run.Model, run.kept = nil, 0, nil, nil, nil, keptFit{}
		text += fmt.Sprintf("%+v", *run)
		return nil
	})
	return text
}

func mustEqualHome(t *testing.T, when string, whole, home *kv.Store) {
	t.Helper()
	if got, want := runText(t, home), runText(t, whole); got != want {
		t.Errorf("%s: the run\n%.3000s\nwant\n%.3000s", when, got, want)
	}
	_, want := foreign(t, whole)
	_, got := foreign(t, home)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: other scores", when)
	}
}

// TestRunMadeElsewhere wants the run of a whole graph to answer as it does where it was made: before decisions, after
// some, after a rescore, and after an undo.
func TestRunMadeElsewhere(t *testing.T) {
	p := newPlanted(11, 500)
	whole, home := atHome(t, p, 500)
	mustEqualHome(t, "imported", whole, home)
	view(t, home, func(tx *kv.Tx) error {
		run := must.Get(LastRun(tx))(t)
		if run.Elsewhere == nil || *run.Elsewhere != (Elsewhere{500, run.Edges, run.Scored, run.Suspects}) {
			t.Errorf("elsewhere: got %+v", run.Elsewhere)
		}
		return nil
	})
	for _, s := range []*kv.Store{whole, home} {
		p.decideByTruth(t, s, 30, decide.Relabel)
	}
	mustEqualHome(t, "decided", whole, home)
	done := mustRescore(t, home)
	if done.Run.Threshold != done.Before.Threshold || done.Changed != 0 {
		t.Errorf("rescored: got threshold %v after %v, %d changed", done.Run.Threshold, done.Before.Threshold, done.Changed)
	}
	mustEqualHome(t, "rescored", whole, home)
	for _, s := range []*kv.Store{whole, home} {
		mustUndo(t, s, 1)
	}
	mustEqualHome(t, "undone", whole, home)
	var problems []kv.Problem
	view(t, home, func(tx *kv.Tx) error {
		return Check(t.Context(), tx, func(p kv.Problem) { problems = append(problems, p) })
	})
	if len(problems) > 0 {
		t.Errorf("check finds %v", problems)
	}
}

// TestPartOfAGraph wants a store not to compute scores from a part of the graph, until it is cleaned by itself.
func TestPartOfAGraph(t *testing.T) {
	p := newPlanted(12, 600)
	_, home := atHome(t, p, 200)
	_, before := foreign(t, home)
	ctx := t.Context()

	must.Do(t, home.Update(func(tx *kv.Tx) error {
		if _, err := tx.AddNode(kv.Node{ID: "new", Label: "alpha"}); err != nil {
			return err
		}
		return errors.Join(tx.AddEdge(3, 4), tx.AddEdge(200, 7), tx.SetLabel(9, "beta"))
	}))
	mustDecide(t, home, decide.Options{}, decide.Request{Node: labelledNode(t, home, 20), Kind: decide.Accept})
	if ok, err := RescoreDecided(ctx, home, RescoreOptions{}); err != nil || !ok {
		t.Errorf("rescore after a decision: got %v, %v", ok, err)
	}
	_, got := foreign(t, home)
	delete(got, "new")
	if fmt.Sprint(got) != fmt.Sprint(before) {
		t.Error("scores have changed")
	}
	keepRandom(t, home, InputStructure, 13, false)
	full := RescoreOptions{Full: true, Notice: func(text string) { t.Errorf("full rescore: it says %s", text) }}
	if _, err := Rescore(ctx, home, full); !errors.Is(err, ErrElsewhere) ||
		!strings.Contains(err.Error(), "run 1 was made elsewhere, on a larger graph, of 600 nodes") {
		t.Errorf("full rescore: got %v", err)
	}
	view(t, home, func(tx *kv.Tx) error {
		run := must.Get(LastRun(tx))(t)
		if run.Nodes != 200 || run.Elsewhere.Nodes != 600 || run.Elsewhere.Scored <= run.Scored ||
			run.Elsewhere.Suspects <= run.Suspects || run.Suspects == 0 {
			t.Errorf("run: got %+v of %+v", run, run.Elsewhere)
		}
		if _, err := Score(ctx, tx, []kv.NodeID{1}, ops.Options{}); !errors.Is(err, ErrElsewhere) {
			t.Errorf("score: got %v", err)
		}
		if stale, err := CountStale(ctx, tx, run, 10); stale != 0 || err != nil {
			t.Errorf("stale: got %d, %v", stale, err)
		}
		if o, err := ChangesSince(ctx, tx, run); o.Changes != nil || o.Misfits != nil || err != nil {
			t.Errorf("outdated: got %+v, %v", o, err)
		}
		if left, err := CountRemaining(ctx, tx); left.Suspects != run.Suspects || err != nil {
			t.Errorf("remaining: got %+v, %v", left, err)
		}
		if rates := run.ClassMislabelRates(); len(rates) != 4 || !math.IsNaN(rates[2]) {
			t.Errorf("rates by class: got %v", rates)
		}
		e := mustExplain(t, tx, 1, ops.Options{})
		if e.Features != nil || e.Counterfactual != nil || e.Opponents == nil || e.Votes == nil ||
			e.TopClasses == nil ||
			!strings.Contains(e.Incomplete, "made elsewhere, on a graph of 600 nodes") {
			t.Errorf("explanation: got %+v", e)
		}
		if e := mustExplain(t, tx, 200, ops.Options{}); e.TopClasses != nil || !math.IsNaN(e.Score) {
			t.Errorf("explanation of a node without predictions: got %+v", e)
		}
		return nil
	})

	var said []string
	run := must.Get(Clean(ctx, home,
		Options{Imported: AsGiven, Notice: func(text string) { said = append(said, text) }}))(t)
	if run.ID != 2 || run.Elsewhere != nil ||
		!strings.Contains(strings.Join(said, "\n"), "run 1 was made elsewhere, on a graph of 600 nodes: this run is of "+
			"the 201 nodes") {
		t.Errorf("cleaned: got run %+v, and %q", run, said)
	}
	must.Do(t, home.Update(func(tx *kv.Tx) error { return tx.AddEdge(5, 11) }))
	if done := mustRescore(t, home); done.Changed == 0 {
		t.Error("after a run of its own, changes of the graph move no score")
	}
}

// TestRunWriterRefuses wants a run or a node that does not fit to be refused, and the store to stay as it is.
func TestRunWriterRefuses(t *testing.T) {
	p := newPlanted(13, 200)
	whole := p.load(t, false)
	mustClean(t, whole, Options{Seed: 3, Imported: AsGiven})
	own := p.load(t, false)
	mustClean(t, own, Options{Seed: 3, Imported: AsGiven})
	home := p.load(t, false)
	wrongNode := func(change func(*NodeScore)) func(*ForeignRun, map[string]NodeScore) {
		return func(_ *ForeignRun, scores map[string]NodeScore) {
			score := scores["n7"]
			change(&score)
			scores["n7"] = score
		}
	}
	for want, c := range map[string]func(*ForeignRun, map[string]NodeScore){
		"has no model":                     func(r *ForeignRun, _ map[string]NodeScore) { r.Model = nil },
		"mislabel rate 2":                  func(r *ForeignRun, _ map[string]NodeScore) { r.Model.Model.Told = 2 },
		"threshold NaN":                    func(r *ForeignRun, _ map[string]NodeScore) { r.Model.Model.Threshold = math.NaN() },
		"started at 0001":                  func(r *ForeignRun, _ map[string]NodeScore) { r.Started = time.Time{} },
		"took -1 seconds":                  func(r *ForeignRun, _ map[string]NodeScore) { r.Seconds = -1 },
		"150 nodes, ":                      func(r *ForeignRun, _ map[string]NodeScore) { r.Nodes = 150 },
		"and the run saw 200 and 7":        func(r *ForeignRun, _ map[string]NodeScore) { r.Edges = 7 },
		"the run found 3 and 2":            func(r *ForeignRun, _ map[string]NodeScore) { r.Scored, r.Suspects = 3, 2 },
		`class "gamma" of the store`:       func(r *ForeignRun, _ map[string]NodeScore) { r.Model.Census.Names[2] = "zeta" },
		"node n7: score 1.5":               wrongNode(func(s *NodeScore) { s.Score = 1.5 }),
		"node n7: confidence -0.5":         wrongNode(func(s *NodeScore) { s.Confidence = -0.5 }),
		`node n7: suggestion "" with conf`: wrongNode(func(s *NodeScore) { s.Suggestion = "" }),
	} {
		run, scores := foreign(t, whole)
		c(run, scores)
		if err := bringHome(home, run, scores); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	run, scores := foreign(t, whole)
	if err := bringHome(own, run, scores); !errors.Is(err, kv.ErrExists) {
		t.Errorf("a store with a run of its own: got %v", err)
	}
	view(t, home, func(tx *kv.Tx) error {
		if _, err := LastRun(tx); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("got a run, %v", err)
		}
		if _, ok := tx.Column(ScoreColumn); ok {
			t.Error("got scores")
		}
		return nil
	})
}

// TestRepairOfARunMadeElsewhere wants what is left of a damaged one to be removed.
func TestRepairOfARunMadeElsewhere(t *testing.T) {
	_, home := atHome(t, newPlanted(14, 200), 100)
	must.Do(t, home.Update(func(tx *kv.Tx) error { return tx.Documents(fitSpace).Put(fitKey, "no model") }))
	if len(runProblems(t, home)) == 0 {
		t.Error("check finds no damage")
	}
	must.Do(t, Repair(context.Background(), home, func(kv.Correction) {}))
	if problems := runProblems(t, home); len(problems) > 0 {
		t.Errorf("after the repair: got %v", problems)
	}
	view(t, home, func(tx *kv.Tx) error {
		if _, err := LastRun(tx); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("the run is still there: %v", err)
		}
		return nil
	})
}
