package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestAreaUnderMarginIsItsDefinition follows every node through the epochs of the same two trainings.
func TestAreaUnderMarginIsItsDefinition(t *testing.T) {
	const n, c, seed = 90, 3, 4
	p := newTrial(t, 7, n, c)
	ctx := context.Background()
	result := must.Get(areaUnderMargin(ctx, p, Options{Seed: seed}))(t)
	size := countLabelled(p.labels) / (c + 1)
	samples := must.Get(thresholdSamples(p.order, p.labels, size, seed))(t)
	var count [3]int
	for v, run := range samples {
		count[run]++
		if run != 0 && p.labels[v] == kv.NoClass {
			t.Errorf("node %d has no label and is a threshold sample", v)
		}
	}
	if count != [3]int{n - 2*size, size, size} {
		t.Fatalf("got %v nodes in none, the first and the second threshold sample, want two of %d", count, size)
	}

	scores, flagged := make([]float64, n), make([]bool, n)
	for run := uint8(2); run >= 1; run-- {
		base := p.base
		base.classes = c + 1
		base.labels, base.splits = slices.Clone(p.labels), slices.Repeat([]Split{SplitNone}, n)
		for v := range base.labels {
			if samples[v] == run {
				base.labels[v] = c
			}
		}
		margins := make([][]float64, n)
		epochs := 0
		must.Do(t, base.watch(ctx, PredictOptions{Seed: seed ^ uint64(run-1)<<63}, func(net *nn.Network, train *lessons) error {
			epochs++
			for v := range n {
				rank, ok := train.nodes.has(kv.NodeID(v))
				if ok != (p.labels[v] != kv.NoClass) {
					t.Fatalf("node %d: learned is %v, want all labelled nodes to be", v, ok)
				}
				if !ok {
					continue
				}
				z := slices.Clone(new(nn.Activations).Outputs(net, train.inputs.Slice(rank, rank+1)))
				own := z[base.labels[v]]
				z[base.labels[v]] = float32(math.Inf(-1))
				margins[v] = append(margins[v], float64(own)-float64(slices.Max(z)))
			}
			return nil
		}))
		var of []float64
		mean := make([]float64, n)
		for v, own := range margins {
			for _, margin := range own {
				mean[v] += margin / float64(epochs)
			}
			if samples[v] == run {
				of = append(of, mean[v])
			}
		}
		slices.Sort(of)
		threshold := percentile(of, 0.99)
		for v := range n {
			if p.labels[v] != kv.NoClass && samples[v] != run {
				scores[v], flagged[v] = elementary.Sigmoid(threshold-mean[v]), mean[v] <= threshold
			}
		}
	}
	for v := range n {
		if math.Abs(result.scores[v]-scores[v]) > 1e-5 || result.flagged[v] != flagged[v] {
			t.Errorf("node %d of sample %d: got score %v, flagged %v, want %v and %v",
				v, samples[v], result.scores[v], result.flagged[v], scores[v], flagged[v])
		}
	}
}

func TestAreaUnderMarginRefuses(t *testing.T) {
	for _, c := range []struct {
		labelled, classes int
		want              error
		says              string
	}{
		{3, 3, ErrNoLabels, "want 4 or more"}, {4, 3, nil, ""}, {baseTraining, 3, nil, ""},
		{baseTraining + 1, 3, ErrOptions, "learns from 524288 at most"},
	} {
		err := checkAreaUnderMargin(c.labelled, c.classes)
		if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d labelled nodes of %d classes: got %v, want %v and %q", c.labelled, c.classes, err, c.want, c.says)
		}
	}
}

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		sorted []float64
		share  float64
		want   float64
	}{
		{[]float64{5}, 0.99, 5}, {[]float64{1, 2}, 0.5, 1.5}, {[]float64{1, 2, 4}, 0, 1}, {[]float64{1, 2, 4}, 1, 4},
		{[]float64{0, 10, 20, 30, 40}, 0.95, 38},
	} {
		if got := percentile(c.sorted, c.share); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("percentile %v of %v: got %v, want %v", c.share, c.sorted, got, c.want)
		}
	}
}
