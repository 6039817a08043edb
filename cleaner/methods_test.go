package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// newProblem has the graph and splits of newBaseProblem, one label in ten wrong, and a classifier that is right about
// four nodes in five.
func newProblem(t *testing.T, seed uint64, n, c int) problem {
	base := newBaseProblem(t, seed, n, c, 0)
	r := rand.New(rand.NewPCG(seed, 1))
	predictions := make([]float32, n*c)
	for v, y := range base.labels {
		if r.IntN(5) == 0 {
			y = kv.Class(r.IntN(c))
		}
		row := predictions[v*c : (v+1)*c]
		for j := range row {
			row[j] = float32(r.Float64())
		}
		row[y] += 4
		softmaxRow(row)
	}
	labels := mustInject(t, labelNoise{rate: 0.1}, base.labels, base.order, c, seed)
	labels[n/2] = kv.NoClass
	return problem{
		graph: base.graph, place: base.place, order: base.order, labels: labels, classes: c, splits: base.splits,
		predictions: rowsSource{width: c, values: predictions},
	}
}

func TestMethodsRun(t *testing.T) {
	p := newProblem(t, 1, 120, 3)
	opt := Options{Seed: 1, Threshold: 0.6}
	seen := map[string]string{}
	for _, name := range MethodNames() {
		scores, flagged, err := methodNamed(name).run(context.Background(), p, opt)
		if err != nil {
			t.Errorf("method %s: %v", name, err)
			continue
		}
		if len(scores) != 120 || len(flagged) != 120 {
			t.Fatalf("method %s: got %d scores and %d flags, want 120 of each", name, len(scores), len(flagged))
		}
		for v, s := range scores {
			if p.labels[v] == kv.NoClass {
				if flagged[v] {
					t.Errorf("method %s: node %d has no label and is flagged", name, v)
				}
				continue
			}
			if !(s >= 0 && s <= 1) {
				t.Fatalf("method %s: node %d scores %v, want a number from 0 to 1", name, v, s)
			}
			if byThreshold := name != "argmax" && name != "confident-learning"; byThreshold && flagged[v] != (s > 0.6) {
				t.Errorf("method %s: node %d scores %v, flagged: %v, want those above 0.6", name, v, s, flagged[v])
			}
		}
		if slices.Contains([]string{"argmax", "confident-learning"}, name) {
			continue // they rank alike
		}
		outcome := fmt.Sprint(scores)
		if other, ok := seen[outcome]; ok {
			t.Errorf("methods %s and %s have the same scores", name, other)
		}
		seen[outcome] = name
	}
	if methodNamed("best") != nil {
		t.Error(`method "best": got one, want none`)
	}
}

func TestMethodsCancelled(t *testing.T) {
	p := newProblem(t, 1, 60, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range MethodNames() {
		if _, _, err := methodNamed(name).run(ctx, p, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("method %s, cancelled: got %v, want context.Canceled", name, err)
		}
	}
}

// TestClassifierMethodsAreTheirDefinitions reads the definitions off MethodNames, on random predictions with ties and
// classes that no node is given.
func TestClassifierMethodsAreTheirDefinitions(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		n, c := 1+r.IntN(60), 1+r.IntN(6)
		predictions := make([]float32, n*c)
		for i := range predictions {
			predictions[i] = float32(r.IntN(5)) / 4
		}
		p := problem{graph: make(memoryGraph, n), labels: awkwardLabels(r, n, c), classes: c, predictions: rowsSource{c, predictions}}

		threshold := make([]float64, c)
		for j := range threshold {
			var sum, count float64
			for v, y := range p.labels {
				if int(y) == j {
					sum += float64(predictions[v*c+j])
					count++
				}
			}
			threshold[j] = sum / count // NaN for a class of no node, which nothing reaches
		}
		scores, confident, err := confidentLearning(ctx, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ranks, beaten, err := argmax(ctx, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for v, y := range p.labels {
			if y == kv.NoClass {
				if confident[v] || beaten[v] {
					t.Errorf("seed %d, node %d: it has no label and is flagged", seed, v)
				}
				continue
			}
			row := predictions[v*c : (v+1)*c]
			wantBeaten := false
			best, most := -1, math.Inf(-1)
			for j, value := range row {
				wantBeaten = wantBeaten || value > row[y]
				if float64(value) >= threshold[j] && float64(value) > most {
					best, most = j, float64(value)
				}
			}
			wantConfident := best >= 0 && best != int(y)
			if confident[v] != wantConfident || beaten[v] != wantBeaten {
				t.Errorf("seed %d, node %d given %d, predictions %v, thresholds %v: flagged by confident-learning %v and argmax %v, want %v and %v",
					seed, v, y, row, threshold, confident[v], beaten[v], wantConfident, wantBeaten)
			}
			if want := 1 - float64(row[y]); scores[v] != want || ranks[v] != want {
				t.Errorf("seed %d, node %d: got scores %v and %v, want %v", seed, v, scores[v], ranks[v], want)
			}
		}
	}
}
