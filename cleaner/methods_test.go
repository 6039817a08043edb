package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelnoise"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// newTrial has the graph and splits of newBaseProblem, one label in ten wrong, and a classifier that is right about
// four nodes in five.
func newTrial(t *testing.T, seed uint64, n, c int) trial {
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
		nn.Softmax(row)
	}
	truth := base.labels
	noise := must.Get(labelnoise.Parse("sym:0.1"))(t)
	base.labels = must.Get(noise.Inject(t.Context(), &labelnoise.Graph{Labels: truth, Order: base.order, Classes: c}, seed, ops.Options{}))(t)
	base.labels[n/2] = kv.NoClass
	return trial{base: base, testNodes: countLabelled(base.labels), problem: problem{
		graph: base.graph, place: base.place, order: base.order, labels: base.labels, classes: c, splits: base.splits,
		predictions: rowsSource{width: c, values: predictions},
	}}
}

// randomTrial is nodes under test with predictions that tie, classes that no node is given, and a node here and there
// that is not under test.
func randomTrial(r *rand.Rand) (t trial, predictions []float32) {
	n, c := 1+r.IntN(60), 1+r.IntN(6)
	predictions = make([]float32, n*c)
	for i := range predictions {
		predictions[i] = float32(r.IntN(5)) / 4
	}
	t.graph, t.labels, t.classes, t.predictions = make(kvtest.MemoryGraph, n), kvtest.AwkwardLabels(r, n, c), c, rowsSource{c, predictions}
	t.splits, t.split = make([]Split, n), new(Split)
	*t.split = SplitTest
	for v := range t.splits {
		if t.splits[v] = SplitTest; r.IntN(4) == 0 {
			t.splits[v] = SplitValidation
		}
		if t.isTested(kv.NodeID(v)) {
			t.testNodes++
		}
	}
	return t, predictions
}

func TestMethodsRun(t *testing.T) {
	p := newTrial(t, 1, 120, 3)
	opt := Options{Seed: 1, Threshold: 0.6, Imported: AsGiven}
	seen := map[string]string{}
	for _, name := range MethodNames() {
		m := findMethod(name)
		result, err := m.run(context.Background(), p, opt)
		if err != nil {
			t.Errorf("method %s: %v", name, err)
			continue
		}
		if len(result.scores) != 120 || len(result.flagged) != 120 {
			t.Fatalf("method %s: got %d scores and %d flags, want 120 of each", name, len(result.scores), len(result.flagged))
		}
		for v, s := range result.scores {
			if p.labels[v] == kv.NoClass && result.flagged[v] {
				t.Errorf("method %s: node %d has no label and is flagged", name, v)
			}
			if !p.isTested(kv.NodeID(v)) {
				continue
			}
			if !(s >= 0 && s <= 1) {
				t.Fatalf("method %s: node %d scores %v, want a number from 0 to 1", name, v, s)
			}
			if m.walks && name != "default" && result.flagged[v] != (s > 0.6) {
				t.Errorf("method %s: node %d scores %v, flagged: %v, want those above 0.6", name, v, s, result.flagged[v])
			}
		}
		if slices.Contains([]string{"argmin", "confident-learning"}, name) {
			continue // which rank as argmax does
		}
		outcome := fmt.Sprint(result.scores)
		if other, ok := seen[outcome]; ok {
			t.Errorf("methods %s and %s have the same scores", name, other)
		}
		seen[outcome] = name
	}
	if findMethod("best") != nil {
		t.Error(`method "best": got one, want none`)
	}
}

func TestMethodsCancelled(t *testing.T) {
	p := newTrial(t, 1, 60, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range MethodNames() {
		if _, err := findMethod(name).run(ctx, p, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("method %s, cancelled: got %v, want context.Canceled", name, err)
		}
	}
}

func TestArgmaxAndArgmin(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(200) {
		p, predictions := randomTrial(rand.New(rand.NewPCG(seed, 0)))
		most := must.Get(argmax(ctx, p, Options{}))(t)
		least := must.Get(argmin(ctx, p, Options{}))(t)
		for v, y := range p.labels {
			if !p.isTested(kv.NodeID(v)) {
				if most.flagged[v] || least.flagged[v] {
					t.Errorf("seed %d, node %d: it is not under test and is flagged", seed, v)
				}
				continue
			}
			row := predictions[v*p.classes : (v+1)*p.classes]
			more, fewer := 0, 0
			for _, value := range row {
				if value > row[y] {
					more++
				}
				if value < row[y] {
					fewer++
				}
			}
			if most.flagged[v] != (more > 0) || least.flagged[v] != (fewer == 0) {
				t.Errorf("seed %d, node %d given %d, predictions %v: flagged by argmax %v and argmin %v",
					seed, v, y, row, most.flagged[v], least.flagged[v])
			}
			if want := 1 - float64(row[y]); most.scores[v] != want || least.scores[v] != want {
				t.Errorf("seed %d, node %d: got scores %v and %v, want %v", seed, v, most.scores[v], least.scores[v], want)
			}
		}
	}
}
