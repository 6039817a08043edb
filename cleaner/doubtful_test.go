package cleaner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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

// TestOrderOfPredictions wants a warning where rows of predictions have another order than the nodes, or columns
// another than the classes, and none where they are right.
func TestOrderOfPredictions(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(rows [][]float64)
	}{
		{"right", "", func([][]float64) {}},
		{"rows in another order", "Your predictions agree with 2", func(rows [][]float64) {
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}},
		{"two columns exchanged", `Your predictions have "gamma" for most labels "beta", "beta" for most labels "gamma": are`,
			func(rows [][]float64) {
				for _, row := range rows {
					row[1], row[2] = row[2], row[1]
				}
			}},
		{"columns turned", `Your predictions have "beta" for most labels "alpha", "gamma" for most labels "beta", "δelta" for`, func(rows [][]float64) {
			for _, row := range rows {
				row[0], row[1], row[2], row[3] = row[3], row[0], row[1], row[2]
			}
		}},
	} {
		for _, imported := range []Imported{OutOfFold, AsGiven} {
			p := newPlanted(9, 300)
			test.change(p.scores)
			run := mustClean(t, p.load(t, false), Options{Seed: 1, Imported: imported})
			got := slices.DeleteFunc(run.Warnings, func(w string) bool { return !strings.HasPrefix(w, "Your predictions") })
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], test.want)) {
				t.Errorf("%s, %s: got %q, want %q", test.name, imported, got, test.want)
			}
		}
	}
}
