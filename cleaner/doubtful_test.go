package cleaner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPoorPredictionsAreSaid wants a warning where labels have nothing to do with graph and predictions.
func TestPoorPredictionsAreSaid(t *testing.T) {
	trainWell(t)
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
