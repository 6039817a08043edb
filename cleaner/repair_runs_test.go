package cleaner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestRepairOfRuns loses records of runs. After one repair Check finds no problem, scores are those of the last run or
// none, and the store can be asked and cleaned again.
func TestRepairOfRuns(t *testing.T) {
	const nodes = 60
	noRun := func(tx *kv.Tx) error { return tx.Documents(runsSpace).Delete(runKey(2)) }
	for name, test := range map[string]struct {
		damage func(tx *kv.Tx) error
		last   int64  // run that is left
		scores bool   // are left
		lost   string // in what the corrections lost
	}{
		"the last run": {noRun, 1, false, " scores"},
		"all runs": {func(tx *kv.Tx) error {
			return errors.Join(noRun(tx), tx.Documents(runsSpace).Delete(runKey(1)))
		}, 0, false, " scores"},
		"an earlier run": {func(tx *kv.Tx) error { return tx.Documents(runsSpace).Put(runKey(1), "no run") }, 2,
			true, "1 run"},
		"a run of other form": {func(tx *kv.Tx) error { return tx.Documents(runsSpace).Put(runKey(2), "no run") }, 1,
			false, "1 run"},
		"what it has fitted": {func(tx *kv.Tx) error { return tx.Documents(fitSpace).Delete(fitKey) }, 1, false, "1 run"},
		"the run of a node": {func(tx *kv.Tx) error {
			return tx.SetValue(firstScored(t, tx), RunColumn, kv.ValueOf(1))
		}, 2, false, " scores"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cleaned(t, 41, nodes)
			mustClean(t, s, Options{Method: paper.Published, Seed: 2})
			must.Do(t, DrawAudit(t.Context(), s, 10, 1))
			must.Do(t, s.Update(test.damage))
			if len(runProblems(t, s)) == 0 {
				t.Error("Check finds no damage")
			}
			var lost []string
			must.Do(t, Repair(t.Context(), s, func(m kv.Correction) { lost = append(lost, m.Lost.String()) }))
			if problems := runProblems(t, s); len(problems) > 0 {
				t.Errorf("after the repair: got %v, want no problem", problems)
			}
			if said := strings.Join(lost, ", "); !strings.Contains(said, test.lost) ||
				!test.scores != strings.Contains(said, " scores") {
				t.Errorf("got losses %q, want %q, and scores: %v", said, test.lost, !test.scores)
			}
			view(t, s, func(tx *kv.Tx) error {
				run, err := LastRun(tx)
				if test.last == 0 && errors.Is(err, kv.ErrNotFound) {
					return nil
				}
				if err != nil || run.ID != test.last || (run.joint != nil) != test.scores {
					return fmt.Errorf("the last run: got %+v (%w), want run %d, its fit: %v", run, err, test.last, test.scores)
				}
				scores := must.Get(tx.Reader(ScoreColumn))(t)
				left := 0
				for v := range kv.NodeID(nodes) {
					score := must.Get(scores.At(v))(t)
					if !score.IsNull() {
						left++
					}
				}
				if (left > 0) != test.scores {
					t.Errorf("got %d scores, want some: %v", left, test.scores)
				}
				_, err = Explain(t.Context(), tx, 0, ops.Options{})
				return err
			})
			must.Do(t, Repair(t.Context(), s, func(m kv.Correction) { t.Errorf("repairing again did %v", m) }))
			if err := DrawAudit(t.Context(), s, 20, 1); test.last == 0 != errors.Is(err, ErrNotCleaned) {
				t.Errorf("more draws of the audit: got %v", err)
			}
			if run := mustClean(t, s, Options{}); run.ID != test.last+1 {
				t.Errorf("cleaned again: got run %d, want %d", run.ID, test.last+1)
			}
			if problems := runProblems(t, s); len(problems) > 0 {
				t.Errorf("cleaned again: got %v, want no problem", problems)
			}
		})
	}
}

func firstScored(t *testing.T, tx *kv.Tx) kv.NodeID {
	t.Helper()
	for v := range kv.NodeID(tx.NumNodes()) {
		if score, err := tx.Value(v, ScoreColumn); err == nil && !score.IsNull() {
			return v
		}
	}
	t.Fatal("no node has a score")
	return kv.NoNode
}

func runProblems(t *testing.T, s *kv.Store) (problems []kv.Problem) {
	t.Helper()
	view(t, s, func(tx *kv.Tx) error {
		return checkRuns(t.Context(), tx, func(p kv.Problem) { problems = append(problems, p) })
	})
	return problems
}
