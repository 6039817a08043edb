package cleaner

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/golden"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// neighborsOf reads the neighbours of a node of an undirected graph.
func neighborsOf(t *testing.T, tx *kv.Tx, v kv.NodeID) (list []kv.NodeID) {
	t.Helper()
	for u, err := range tx.Neighbors(v) {
		must.Do(t, err)
		list = append(list, u)
	}
	return list
}

// checkVoices compares the supporters and the opponents with all neighbours, weighed one by one.
func checkVoices(t *testing.T, tx *kv.Tx, e *Explanation) {
	t.Helper()
	given := must.Get(tx.Label(e.Node))(t)
	predictions := must.Get(Predictions(tx))(t)
	var supporters, opponents []Voice
	if given != kv.NoClass {
		for _, u := range neighborsOf(t, tx, e.Node) {
			label := must.Get(tx.Label(u))(t)
			degree := must.Get(tx.Degree(u))(t)
			p := make([]float32, len(tx.Classes()))
			must.Do(t, predictions.Read(kv.Range{First: u, End: u + 1}, 0, len(p), p))
			o := Voice{Node: u, Weight: 1 / math.Sqrt(float64(degree)*float64(e.Degree))}
			o.For, o.Against = o.Weight*float64(p[given]), o.Weight*(1-float64(p[given]))
			switch label {
			case kv.NoClass:
			case given:
				o.For += o.Weight
			default:
				o.Against += o.Weight
			}
			if o.For > o.Against {
				supporters = append(supporters, o)
			} else {
				opponents = append(opponents, o)
			}
		}
	}
	slices.SortFunc(supporters, func(a, b Voice) int { return cmp.Compare(b.For, a.For) })
	slices.SortFunc(opponents, func(a, b Voice) int { return cmp.Compare(b.Against, a.Against) })
	compareVoices(t, tx, e, e.Supporters, supporters)
	compareVoices(t, tx, e, e.Opponents, opponents)
}

// compareVoices compares the neighbours on one side with the first ten of those that are there.
func compareVoices(t *testing.T, tx *kv.Tx, e *Explanation, voices, want []Voice) {
	t.Helper()
	want = want[:min(len(want), 10)]
	if len(voices) != len(want) {
		t.Fatalf("node %s: got %d neighbours on one side, want %d", e.ID, len(voices), len(want))
	}
	for i, got := range voices {
		if !golden.Near(got.For, want[i].For, 1e-6) || !golden.Near(got.Against, want[i].Against, 1e-6) {
			t.Errorf("node %s, neighbour %d: got %+v, want %+v", e.ID, i, got, want[i])
		}
		whole := mustReadNode(t, tx, got.Node)
		if got.ID != whole.ID || got.Label != whole.Label || got.Class != whole.Suggestion ||
			!golden.Near(got.Confidence, whole.Confidence, 1e-6) ||
			got.Score != whole.Score && !(math.IsNaN(got.Score) && math.IsNaN(whole.Score)) {
			t.Errorf("node %s, neighbour %d: got %+v, want what is stored: %+v", e.ID, i, got, whole)
		}
	}
}

func mustReadNode(t *testing.T, tx *kv.Tx, v kv.NodeID) *Explanation {
	t.Helper()
	e := &Explanation{Node: v}
	must.Do(t, e.readNode(tx))
	return e
}
