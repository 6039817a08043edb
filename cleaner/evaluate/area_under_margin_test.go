package evaluate

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestAreaUnderMarginIsItsDefinition follows every node through the epochs of the same two trainings.
func TestAreaUnderMarginIsItsDefinition(t *testing.T) {
	const n, c, seed = 90, 4, 4
	s := planted(t, 7, n)
	tx := s.Begin()
	defer tx.Close()
	lab := must.Get(cleaner.NewLab(t.Context(), tx, cleaner.Options{}))(t)
	p := trialOf(t, lab.Labels, make([]float32, n*c))
	p.lab, p.Seed = lab, seed
	result := judge(t, p, "aum")
	samples := must.Get(p.thresholdSamples(c))(t)
	size := len(slices.DeleteFunc(slices.Clone(p.Labels), func(y kv.Class) bool { return y == kv.NoClass })) / (c + 1)
	var count [3]int
	for v, run := range samples {
		if count[run]++; run != 0 && p.Labels[v] == kv.NoClass {
			t.Errorf("node %d has no label and is a threshold sample", v)
		}
	}
	if count != [3]int{n - 2*size, size, size} {
		t.Fatalf("got %v nodes in none, the first and the second threshold sample, want two of %d", count, size)
	}
	for run := uint8(2); run >= 1; run-- {
		labels := slices.Clone(p.Labels)
		for v := range labels {
			if samples[v] == run {
				labels[v] = c
			}
		}
		of := cleaner.Trial{Labels: labels, Splits: make([]cleaner.Split, n), Seed: seed ^ uint64(run-1)<<63}
		lessons, ofFeatures, err := lab.Lessons(t.Context(), of, c+1)
		if err != nil || ofFeatures {
			t.Fatalf("got lessons of features: %v, %v", ofFeatures, err)
		}
		width := lessons.Inputs.Width()
		inputs := make([]float32, len(lessons.Right)*width)
		must.Do(t, lessons.Read(0, len(lessons.Right), inputs))
		margins, epochs := make([]float64, n), 0.0
		must.Do(t, watch(t.Context(), lessons, inputs, c+1, of.Seed, 0, 0, func(net *nn.Network) error {
			epochs++
			lessons.Each(func(row int, v kv.NodeID) {
				z := slices.Clone(new(nn.Activations).Outputs(net, inputs[row*width:][:width], 1))
				own := z[labels[v]]
				z[labels[v]] = float32(math.Inf(-1))
				margins[v] += float64(own) - float64(slices.Max(z))
			})
			return nil
		}))
		must.Do(t, lessons.Inputs.Close())
		var sampled []float64
		for v := range margins {
			if margins[v] /= epochs; samples[v] == run {
				sampled = append(sampled, margins[v])
			}
		}
		slices.Sort(sampled)
		threshold := percentile(sampled, 0.99)
		for v, y := range p.Labels {
			if y == kv.NoClass || samples[v] == run || run == 2 && samples[v] != 1 {
				continue
			}
			score, flagged := elementary.Sigmoid(threshold-margins[v]), margins[v] <= threshold
			if math.Abs(result.Scores[v]-score) > 1e-5 || result.Flagged[v] != flagged {
				t.Errorf("node %d of sample %d: got score %v, flagged %v, want %v and %v",
					v, samples[v], result.Scores[v], result.Flagged[v], score, flagged)
			}
		}
	}
	must.Do(t, lab.Close())
}

func TestAreaUnderMarginRefuses(t *testing.T) {
	for _, c := range []struct {
		labelled int
		want     error
		says     string
	}{
		{3, cleaner.ErrNoLabels, "want 4 or more"}, {4, nil, ""}, {cleaner.MostLessons, nil, ""},
		{cleaner.MostLessons + 1, cleaner.ErrOptions, "learns from 524288 at most"},
	} {
		inOrder := func(yield func(kv.NodeID, error) bool) {
			for v := 0; v < c.labelled && yield(kv.NodeID(v), nil); v++ {
			}
		}
		p := &trial{Trial: cleaner.Trial{Labels: make([]kv.Class, c.labelled)}, lab: &cleaner.Lab{Order: inOrder}}
		_, err := p.thresholdSamples(3)
		if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d labelled nodes: got %v, want %v and %q", c.labelled, err, c.want, c.says)
		}
	}
}
