package cleaner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// likeness makes rows of two predictions [rows×classes×2] of labels of which a tenth is wrong. Each row has noise of
// its own, and a class that the predictions lean to: B to the true one, U to the class that lean says with the weight
// that it says.
func likeness(
	rows, classes int, lean func(r *rand.Rand, truth, label kv.Class) (kv.Class, float32),
) (labels []kv.Class, both []float32) {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(classes)))
	for range rows {
		truth := kv.Class(r.IntN(classes))
		label := truth
		if r.IntN(10) == 0 {
			label = kv.Class((int(truth) + 1 + r.IntN(classes-1)) % classes)
		}
		labels = append(labels, label)
		to, weight := lean(r, truth, label)
		for k := range kv.Class(classes) {
			b, u := r.Float32(), r.Float32()
			if k == truth {
				b++
			}
			if k == to {
				u += weight
			}
			both = append(both, b, u)
		}
	}
	return labels, both
}

// TestTold has predictions from outside of which it is known whether they have seen the labels.
func TestTold(t *testing.T) {
	honest := func(percent int) func(*rand.Rand, kv.Class, kv.Class) (kv.Class, float32) {
		return func(r *rand.Rand, truth, _ kv.Class) (kv.Class, float32) {
			if r.IntN(100) >= percent {
				truth = kv.Class(r.IntN(2))
			}
			return truth, 1
		}
	}
	repeats := func(percent int) func(*rand.Rand, kv.Class, kv.Class) (kv.Class, float32) {
		return func(r *rand.Rand, truth, label kv.Class) (kv.Class, float32) {
			if r.IntN(100) < percent {
				return label, 1
			}
			return truth, 0.3
		}
	}
	for _, c := range []struct {
		name          string
		rows, classes int
		lean          func(*rand.Rand, kv.Class, kv.Class) (kv.Class, float32)
		least, most   float64
	}{
		{"no label seen", 3000, 7, honest(70), 0, mostTold},
		{"useless", 3000, 7, func(r *rand.Rand, _, _ kv.Class) (kv.Class, float32) { return kv.Class(r.IntN(7)), 1 },
			0, mostTold},
		{"every label learned", 3000, 7, repeats(100), 0.95, 1},
		{"a third of the labels learned", 3000, 7, repeats(30), mostTold, 0.5},
		{"labels half learned", 3000, 7, func(_ *rand.Rand, _, label kv.Class) (kv.Class, float32) { return label, 0.6 }, 0.6,
			1},
		{"few labels, all of them learned", 60, 7, repeats(100), 0.8, 1},
		{"two classes, no label seen", 3000, 2, honest(70), 0, mostTold},
		{"two classes, every label learned", 3000, 2, repeats(100), 0.9, 1},
		{"two classes, a third of the labels learned", 3000, 2, repeats(30), mostTold, 0.5},
		{"no label", 0, 7, repeats(100), 0, 0},
	} {
		labels, both := likeness(c.rows, c.classes, c.lean)
		var rows []int
		for row := range labels {
			rows = append(rows, row)
		}
		if got := labelmodel.Told(rows, labels, both, c.classes); got < c.least || got > c.most {
			t.Errorf("%s: got %.3f, want between %.2f and %.2f", c.name, got, c.least, c.most)
		}
	}
}

// TestImported wants the word of the caller to hold, whatever the labels tell.
func TestImported(t *testing.T) {
	learned := newPlanted(31, 600)
	learned.withoutSplit()
	honest := learned
	honest.scores = nil
	for _, row := range learned.scores {
		honest.scores = append(honest.scores, slices.Clone(row))
	}
	honest.honest(4)
	learned.predicting(0.9, func(v int) string { return learned.nodes[v].Label })
	bare := learned.load(t, true)
	alone := suspectsOf(t, bare, mustClean(t, bare, Options{Seed: 3}))
	for _, c := range []struct {
		name     string
		p        plantedPartition
		imported Imported
		want     string
		alone    bool // suspects are those without predictions
		doubt    bool // it warns
	}{
		{"learned, said to be out of fold", learned, OutOfFold, "Your predictions are joined with the built-in classifier's",
			false, true},
		{"honest, said to be out of fold", honest, OutOfFold, "Your predictions are joined with the built-in classifier's",
			false, false},
		{"honest, said to be in sample", honest, InSample, "Your predictions are left out, as was asked for", true, false},
	} {
		s := c.p.load(t, false)
		var warned []string
		run := mustClean(t, s, Options{
			Seed: 3, Imported: c.imported, Notice: func(string) {}, Warn: func(text string) { warned = append(warned, text) },
		})
		all := must.Get(Rescore(t.Context(), s, RescoreOptions{Full: true}))(t).Run.Contradicted
		if got := run.Contradicted; got != all || (got > 0) == c.doubt {
			t.Errorf("%s: the run has %d contradicted labels, its scores made anew %d; want as many", c.name, got, all)
		}
		use, doubt, _ := strings.Cut(run.PredictionUse, ". They may have seen the labels all the same")
		if !strings.HasPrefix(use, c.want) || !strings.HasSuffix(use, "as was asked for") || (doubt != "") != c.doubt ||
			(len(warned) > 0) != c.doubt {
			t.Errorf("%s: got %q and warnings %q, want %q", c.name, run.PredictionUse, warned, c.want)
		}
		if same := slices.Equal(alone, suspectsOf(t, s, run)); same != c.alone {
			t.Errorf("%s: the suspects are those without predictions: %t, want %t", c.name, same, c.alone)
		}
	}
	var warned []string
	mustClean(t, bare, Options{Seed: 3, Imported: OutOfFold, Warn: func(text string) { warned = append(warned, text) }})
	if want := []string{"no predictions were imported: it does not matter that they are out of fold"}; !slices.Equal(warned, want) {
		t.Errorf("without predictions: warnings %q, want %q", warned, want)
	}
	for _, opt := range []Options{{Imported: InSample, Method: paper.Published}, {Imported: "seen"}} {
		if _, err := Clean(t.Context(), bare, opt); err == nil || !strings.Contains(err.Error(), "predictions ") {
			t.Errorf("%+v: got %v, want an error", opt, err)
		}
	}
}
