package cleaner

import (
	"reflect"
	"slices"
	"testing"

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
		if last.MislabelRate != run.Model.Told || last.Threshold != run.Threshold || !(run.Threshold > 0 && run.Threshold < 1) {
			t.Fatalf("got rate %v and threshold %v, want %v and %v", last.MislabelRate, last.Threshold, run.Model.Told, run.Threshold)
		}
		labels := must.Get(readLabels(tx))(t)
		matrix := must.Get(scoredFrom(tx))(t)
		predictions, c, width := inClassOrder(tx, matrix), len(tx.Classes()), featureWidth(run.Hops)
		all := mustFeatures(t, tx, labels, predictions, everyClass(tx.NumNodes(), c), run.Hops, ops.Options{})
		for v := range tx.NumNodes() {
			e := mustExplain(t, tx, kv.NodeID(v), ops.Options{})
			by := run.evidence(e.Votes)
			z := make([][]float32, c)
			for k := range z {
				z[k] = weighed(all[k][v*width:][:width])
			}
			model := run.Model.Scorer()
			if y := labels[v]; y != kv.NoClass && !golden.Near(e.Score, model.Hypothetical(y, z, by), 1e-4) {
				t.Fatalf("node %s: got score %v, want %v", e.ID, e.Score, model.Hypothetical(y, z, by))
			}
			for _, other := range e.Counterfactual {
				k := kv.Class(slices.Index(tx.Classes(), other.Class))
				if want := model.Hypothetical(k, z, by); !golden.Near(other.Share, want, 1e-3) {
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
