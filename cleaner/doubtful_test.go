package cleaner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
)

// TestPoorPredictionsAreSaid wants a warning where labels have nothing to do with graph and predictions.
func TestPoorPredictionsAreSaid(t *testing.T) {
	p := newPlanted(9, 300)
	r := rand.New(rand.NewPCG(1, 9))
	classes := []string{"alpha", "beta", "gamma", "δelta"}
	for i := range p.nodes {
		p.nodes[i].Label = classes[r.IntN(4)]
	}
	warned := func(warnings []string) bool {
		return slices.ContainsFunc(warnings,
			func(w string) bool { return strings.HasPrefix(w, "the predictions are too weak") })
	}
	run := mustClean(t, p.load(t, true), Options{Seed: 1})
	if !run.Model.Alike || !warned(run.Warnings) || run.MislabelRate > 0.15 {
		t.Errorf("got pairs alike %t, warnings %q and a rate of %v, want to be warned, and a low rate",
			run.Model.Alike, run.Warnings, run.MislabelRate)
	}
	if run = mustClean(t, newPlanted(9, 300).load(t, true), Options{Seed: 1}); run.Model.Alike || warned(run.Warnings) {
		t.Errorf("labels that agree: got pairs alike %t and warnings %q", run.Model.Alike, run.Warnings)
	}
}

// TestExchangedNames wants one warning where most labels of two classes are the other one's, and none where that is so
// of one class.
func TestExchangedNames(t *testing.T) {
	m := &labelmodel.Model{
		Classes: 3, Right: []float64{10, 20, 900},
		Flips: []classmatrix.Cell{{Row: 0, Column: 1, Value: 90}, {Row: 1, Column: 0, Value: 180}, {Row: 1, Column: 2, Value: 3}},
	}
	names := []string{"Systems", "Theory", "Graphics"}
	want := `classes "Systems" and "Theory" exchanged: by the model, 70% of the first are labelled as the second, and 78% of the second`
	if got := tellExchanged(m, names); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("exchanged: got %q, want %q", got, want)
	}
	m.Flips[1].Value = 20
	if got := tellExchanged(m, names); len(got) != 0 {
		t.Errorf("one class alone: got %q", got)
	}
}
