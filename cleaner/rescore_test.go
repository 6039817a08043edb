package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// decideByTruth has a person who knows the truth decide on the nodes with the highest scores, so many of them.
// correction is decide.Relabel, or Unlabel where they know no right label.
func (p plantedPartition) decideByTruth(t *testing.T, s *kv.Store, count int, correction decide.Kind) (wrong int64) {
	t.Helper()
	scores := givenScores(t, s)
	order := make([]int, 0, len(scores))
	for i, score := range scores {
		if !math.IsNaN(score) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, scores[b]-scores[a])) })
	var requests []decide.Request
	view(t, s, func(tx *kv.Tx) error {
		for _, i := range order[:count] {
			v := must.Get(tx.Node(p.nodes[i].ID))(t)
			request := decide.Request{Node: v, Kind: decide.Reject}
			if p.truth[i] != p.nodes[i].Label {
				if request.Kind = correction; correction == decide.Relabel {
					request.To = p.truth[i]
				}
				wrong++
			}
			requests = append(requests, request)
		}
		return nil
	})
	mustDecide(t, s, decide.Options{}, requests...)
	return wrong
}

func mustRescore(t *testing.T, s *kv.Store) *Rescoring {
	t.Helper()
	return must.Get(Rescore(context.Background(), s, RescoreOptions{}))(t)
}

// TestRescoreTakesKeptDiagonals wants a pass to compute the diagonals only if the graph is another than that of the
// run.
func TestRescoreTakesKeptDiagonals(t *testing.T) {
	s := newPlanted(9, 300).load(t, true)
	mustClean(t, s, Options{Seed: 2})
	computes := func(change func(tx *kv.Tx) error) bool {
		must.Do(t, s.Update(change))
		count := 0
		must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true, OnStage: func(stage ops.Stage) {
			if stage.Name == "diagonal" {
				count++
			}
		}}))(t)
		return count > 0
	}
	if computes(func(tx *kv.Tx) error { return tx.SetLabel(3, "beta") }) {
		t.Error("diagonals were computed for another label")
	}
	if !computes(func(tx *kv.Tx) error { return tx.RemoveNode(3) }) {
		t.Error("no diagonals were computed for other edges")
	}
}

// TestRescore wants scores in the order that they had, the counts and the index to agree with them, and what Undo takes
// back to be as if it had never been said.
func TestRescore(t *testing.T) {
	p := newPlanted(8, 300)
	s := p.load(t, true)
	run := mustClean(t, s, Options{Seed: 2, Expect: 0.3, Imported: AsGiven})
	before := givenScores(t, s)
	if done := mustRescore(t, s); done.Run.Threshold != run.Threshold || !slices.Equal(givenScores(t, s)[:1], before[:1]) {
		t.Errorf("without a decision: got %+v", done)
	}
	wrong := p.decideByTruth(t, s, 40, decide.Relabel)
	around, err := Rescore(t.Context(), s, RescoreOptions{})
	if err != nil || around.Changed == 0 || around.Run.MislabelRate != run.MislabelRate {
		t.Fatalf("around the decisions: got %+v, %v, want scores and no rate to change", around, err)
	}
	before = givenScores(t, s)
	done := mustRescore(t, s)
	if done.Run.MislabelRate != run.MislabelRate || done.Run.Threshold != run.Threshold || done.Changed != 0 ||
		fmt.Sprint(givenScores(t, s)) != fmt.Sprint(before) {
		t.Errorf("%d of the first 40 suspects are wrong: got %+v, want scores, rate and threshold to stay", wrong, done)
	}
	view(t, s, func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		if last.Threshold != done.Run.Threshold || !last.Uncounted || last.Decisions != 0 {
			t.Errorf("stored: got %+v, want threshold %v and counts that wait", last, done.Run.Threshold)
		}
		must.Do(t, last.Recount(t.Context(), tx))
		left := must.Get(CountRemaining(t.Context(), tx))(t)
		if left.Suspects != last.Suspects || left.Settled != 40 {
			t.Errorf("got %+v, want %d suspects left", left, last.Suspects)
		}
		return nil
	})
	if problems := historyProblems(t, s); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestCleanTrustsDecisions wants a new clean to know the decisions: their labels are the truth to it.
func TestCleanTrustsDecisions(t *testing.T) {
	t.Run("relabel", func(t *testing.T) { cleanTrusts(t, decide.Relabel) })
	t.Run("unlabel", func(t *testing.T) { cleanTrusts(t, decide.Unlabel) })
}

func cleanTrusts(t *testing.T, correction decide.Kind) {
	p := newPlanted(8, 300)
	s := p.load(t, true)
	first := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	wrong := p.decideByTruth(t, s, 40, correction)
	second := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	if second.MislabelRate >= first.MislabelRate {
		t.Errorf("with %d labels put right: got a rate of %v, %v before", wrong, second.MislabelRate, first.MislabelRate)
	}
	again := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	if again.MislabelRate != second.MislabelRate || again.Threshold != second.Threshold {
		t.Errorf("again: got %v and %v, want %v and %v", again.MislabelRate, again.Threshold, second.MislabelRate,
			second.Threshold)
	}
	outdated := func() Outdated {
		t.Helper()
		tx := s.Begin()
		defer tx.Close()
		return must.Get(ChangesSince(t.Context(), tx, again))(t)
	}
	if changes := outdated(); changes.Changes != nil || changes.Misfits != nil {
		t.Errorf("decisions that the run has seen: got %q, want nothing outdated", changes)
	}
	mustUndo(t, s, 1)
	want := fmt.Sprintf("decisions that run %d trusted no longer hold: 40", again.ID)
	if changes := outdated(); !slices.Equal(changes.Misfits, []string{want}) || changes.Changes != nil {
		t.Errorf("all taken back: got %q, want %q", changes, want)
	}
}

func TestRescoreRefuses(t *testing.T) {
	p := newPlanted(8, 300)
	s := p.load(t, true)
	if _, err := Rescore(t.Context(), s, RescoreOptions{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("never cleaned: got %v, want ErrNotFound", err)
	}
	mustClean(t, s, Options{Seed: 2, Method: paper.Published, Hops: 1, Imported: AsGiven})
	p.decideByTruth(t, s, 10, decide.Relabel)
	if _, err := Rescore(t.Context(), s, RescoreOptions{}); !errors.Is(err, ErrNoModel) {
		t.Errorf("preset paper: got %v, want ErrNoModel", err)
	}
	if ok, err := RescoreDecided(t.Context(), s, RescoreOptions{}); !ok || err != nil {
		t.Errorf("preset paper: got %v, %v, want nothing done", ok, err)
	}
}
