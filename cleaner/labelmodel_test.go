package cleaner

import (
	"reflect"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// TestModelExplains wants the stored model to give every node the score that it was given, and the others that it
// would have.
func TestModelExplains(t *testing.T) {
	s := newPlanted(8, 300).load(t, false)
	run := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	view(t, s, func(tx *kv.Tx) error {
		last := must.Get(LastRun(tx))(t)
		if !reflect.DeepEqual(last.Model, run.Model) || last.joint != nil {
			t.Fatalf("stored model: got %+v and %v, want %+v and none", last.Model, last.joint, run.Model)
		}
		if last.MislabelRate != run.Model.Told || last.Threshold != run.Threshold ||
			!(run.Threshold > 0 && run.Threshold < 1) {
			t.Fatalf("got rate %v and threshold %v, want %v and %v", last.MislabelRate, last.Threshold, run.Model.Told,
				run.Threshold)
		}
		labels := must.Get(readLabels(tx))(t)
		matrix := must.Get(scoredFrom(tx, nil))(t)
		predictions, c, width := inClassOrder(tx, matrix), len(tx.Classes()), featureWidth(run.Hops)
		all := mustFeatures(t, tx, labels, predictions, everyClass(tx.NumNodes(), c), run.Hops, ops.Options{})
		for v := range tx.NumNodes() {
			e := mustExplain(t, tx, kv.NodeID(v), ops.Options{})
			around := surroundings{labels: make([][]float64, run.Hops)}
			for k := range c {
				z := all[k][v*width:][:width]
				around.own = append(around.own, z[0])
				for hop, label := range z[1+run.Hops:] {
					around.labels[hop] = append(around.labels[hop], float64(label))
				}
			}
			by := labelmodel.Evidence{Predictions: around.own, Votes: make([]float64, c), Ranks: run.ranks()}
			for _, vote := range e.Votes {
				by.Votes[slices.Index(tx.Classes(), vote.Class)] = vote.Share
			}
			score := func(k kv.Class) float64 {
				score, _, _ := run.judge().judgeAs(k, by, &around, slices.Contains(run.Model.Untaught, k))
				return float64(score)
			}
			if y := labels[v]; y != kv.NoClass && !golden.Near(e.Score, score(y), 1e-4) {
				t.Fatalf("node %s: got score %v, want %v", e.ID, e.Score, score(y))
			}
			for _, other := range e.Counterfactual {
				k := kv.Class(slices.Index(tx.Classes(), other.Class))
				if want := score(k); !golden.Near(other.Share, want, 1e-3) {
					t.Fatalf("node %s, had it been %s: got score %v, want %v", e.ID, other.Class, other.Share, want)
				}
			}
		}
		return nil
	})
	if run := mustClean(t, s, Options{Method: paper.Published, Imported: AsGiven}); run.Model != nil {
		t.Errorf("preset paper: got a label model")
	}
	view(t, s, func(tx *kv.Tx) error {
		last, err := LastRun(tx)
		if err == nil && last.Model != nil {
			t.Errorf("after preset paper: got the label model of the run before")
		}
		return err
	})
}
