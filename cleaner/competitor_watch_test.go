package cleaner

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestLossMixtureIsItsDefinition follows every node through the first epochs of the same training.
func TestLossMixtureIsItsDefinition(t *testing.T) {
	const n, c, seed = 90, 3, 4
	p := newTrial(t, 7, n, c)
	base := p.base
	base.labels, base.splits = p.labels, make([]Split, n)
	want := make([]float64, n)
	base.observe = func(epoch int, net *nn.Network, train *lessons) error {
		for v := range n {
			rank, ok := train.nodes.has(kv.NodeID(v))
			if ok != (p.labels[v] != kv.NoClass) {
				t.Fatalf("node %d: learned is %v, want all labelled nodes to be", v, ok)
			}
			if !ok || epoch >= 100 {
				continue
			}
			z := new(nn.Activations).Outputs(net, train.inputs.Slice(rank, rank+1))
			nn.Softmax(z)
			want[v] -= math.Log(float64(z[p.labels[v]])) / 100
		}
		return nil
	}
	if err := watchBase(context.Background(), base, PredictOptions{Seed: seed}); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 3} {
		got := runMethod(t, p, "loss-mixture", Options{Seed: seed, Workers: workers})
		flagged, err := p.byMixture(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		for v := range n {
			if math.Abs(got.scores[v]-flagged.scores[v]) > 1e-4 || got.flagged[v] != flagged.flagged[v] {
				t.Errorf("%d workers, node %d of loss %.4f: got %v, flagged %v, want %v and %v",
					workers, v, want[v], got.scores[v], got.flagged[v], flagged.scores[v], flagged.flagged[v])
			}
		}
	}
}

func TestCrossEntropy(t *testing.T) {
	for _, c := range []struct {
		logits []float32
		want   float64
	}{
		{[]float32{0, 0}, math.Ln2}, {[]float32{0, 1000}, 1000}, {[]float32{1000, 0, 0}, 0}, {[]float32{3}, 0},
	} {
		if got := crossEntropy(c.logits, 0); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("logits %v: got %v, want %v", c.logits, got, c.want)
		}
	}
}

func TestLossMixtureRefuses(t *testing.T) {
	if err := findMethod("loss-mixture").check(baseTraining+1, 3); !errors.Is(err, ErrOptions) {
		t.Errorf("more labels than are learned: got %v, want ErrOptions", err)
	}
}
