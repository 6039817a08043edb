package cleaner

import (
	"errors"
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestScoreByPass wants a pass to make of nodes what walks around them make, also of nodes without predictions, and of
// such as nobody can predict.
func TestScoreByPass(t *testing.T) {
	for name := range scoreForms() {
		if !longtest.Asked() && name != "joined predictions" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := cleanedForm(t, name)
			addLabelled(t, s, "alpha", "δelta", "first used now", "")
			view(t, s, func(tx *kv.Tx) error {
				var nodes []kv.NodeID
				for v := kv.NodeID(tx.NumNodes()); v > 0; v-- { // descending, so that order matters
					nodes = append(nodes, v-1)
				}
				nodes = append(nodes, 5, 5)
				passing := mustScorer(t, tx)
				must.Do(t, passing.passOver(t.Context()))
				predicted := 0
				for _, v := range nodes {
					want := must.Get(mustScorer(t, tx).score(v))(t)
					got := must.Get(passing.score(v))(t)
					if got.Predicted {
						predicted++
					}
					if !near(got.Score, want.Score, 1e-5) || !near(got.Confidence, want.Confidence, 1e-5) {
						t.Errorf("got %+v, want %+v", got, want)
					}
					got.Score, got.Confidence, want.Score, want.Confidence = 0, 0, 0, 0 // NaN is not NaN
					if got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
				}
				if want := 12; predicted != want {
					t.Errorf("got %d predicted nodes, want %d", predicted, want)
				}
				return nil
			})
		})
	}
}

// addLabelled adds 12 nodes with labels, and edges.
func addLabelled(t *testing.T, s *kv.Store, labels ...string) {
	t.Helper()
	var ids []string
	view(t, s, func(tx *kv.Tx) error {
		for id, err := range tx.IDs() {
			must.Do(t, err)
			ids = append(ids, id)
		}
		return nil
	})
	p := must.Get(s.NewPatch(kv.PatchOptions{Labels: true}))(t)
	for i := range 12 {
		id := fmt.Sprint("in-", i)
		must.Do(t, p.AddNode(kv.Node{ID: id, Label: labels[i%len(labels)]}))
		for j := range 3 {
			must.Do(t, p.AddEdge(id, ids[(i*31+j)%len(ids)], int64(j)))
		}
	}
	must.Get(p.Commit(t.Context()))(t)
}

// TestScoreOfMany wants Score to take the pass where walks around all nodes cost more, and to keep the order of nodes.
func TestScoreOfMany(t *testing.T) {
	s := cleanedForm(t, "built-in predictions")
	addLabelled(t, s, "alpha", "beta")
	view(t, s, func(tx *kv.Tx) error {
		nodes := []kv.NodeID{311, 300, 7, 305, 300}
		want := must.Get(Score(t.Context(), tx, nodes, ops.Options{}))(t)
		work := mustScorer(t, tx).scoreWork
		work.steps.Store(0) // none is left
		_, err := work.each(t.Context(), nodes)
		if !errors.Is(err, ops.ErrReach) {
			t.Errorf("got %v, want a pass to be due", err)
		}
		must.Do(t, work.passOver(t.Context()))
		got := must.Get(work.each(t.Context(), nodes))(t)
		for i := range nodes {
			if got[i].Node != nodes[i] || !near(got[i].Score, want[i].Score, 1e-5) || got[i].Suggestion != want[i].Suggestion {
				t.Errorf("got %+v, want %+v", got[i], want[i])
			}
		}
		if _, err := Score(t.Context(), tx, []kv.NodeID{1 << 20}, ops.Options{}); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("a node that is not there: got %v, want ErrNotFound", err)
		}
		return nil
	})
}

// TestScoreByPassTakesKeptDiagonals wants a pass to compute the diagonals only if the graph is another than that of the
// run.
func TestScoreByPassTakesKeptDiagonals(t *testing.T) {
	s := newPlanted(9, 300).load(t, true)
	mustClean(t, s, Options{Seed: 2})
	diagonals := func(tx *kv.Tx) (count int) {
		scorer := mustScorer(t, tx)
		scorer.opt.OnStage = func(stage ops.Stage) {
			if stage.Name == "diagonal" {
				count++
			}
		}
		must.Do(t, scorer.passOver(t.Context()))
		return count
	}
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		must.Do(t, tx.SetLabel(3, "beta"))
		if got := diagonals(tx); got != 0 {
			t.Errorf("got %d diagonals computed for another label, want none", got)
		}
		v, err := tx.AddNode(kv.Node{ID: "in", Label: "beta"})
		if err == nil {
			err = tx.AddEdge(3, v)
		}
		if got := diagonals(tx); got == 0 {
			t.Error("got no diagonals computed for other edges, want some")
		}
		return err
	}))
}
