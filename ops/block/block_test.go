package block

import (
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

func TestNewBlockRefuses(t *testing.T) {
	nan := float32(math.NaN())
	one, two := kv.Range{End: 1}, kv.Range{End: 2}
	for name, lists := range map[string]kv.Adjacency{
		"rows that descend":   {Range: kv.Range{First: 2, End: 1}, Offsets: []int64{0}},
		"no offsets":          {},
		"too few offsets":     {Range: two, Offsets: []int64{0, 0}},
		"lists end early":     {Range: one, Offsets: []int64{0, 1}, Neighbors: []kv.NodeID{0, 1}},
		"lists end late":      {Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{0}},
		"offset below 0":      {Range: two, Offsets: []int64{0, -1, 1}, Neighbors: []kv.NodeID{0}},
		"column out of range": {Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{0, 3}},
		"column twice":        {Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{1, 1}},
		"columns that descend": {
			Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{2, 1},
		},
		"too few weights": {
			Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{0, 1}, Weights: []float32{1},
		},
		"weight of zero": {
			Range: one, Offsets: []int64{0, 2}, Neighbors: []kv.NodeID{0, 1}, Weights: []float32{1, 0},
		},
		"weight of NaN": {
			Range: one, Offsets: []int64{0, 1}, Neighbors: []kv.NodeID{0}, Weights: []float32{nan},
		},
	} {
		if _, err := New(3, lists); !errors.Is(err, kernel.ErrGraph) {
			t.Errorf("%s: got error %v, want ErrGraph", name, err)
		}
	}
}

func TestBlockRefusesShapes(t *testing.T) {
	b := must.Get(New(3, kv.Adjacency{
		Range: kv.Range{First: 4, End: 6}, Offsets: []int64{0, 1, 2}, Neighbors: []kv.NodeID{0, 2},
	}))(t)
	labels := must.Get(NewLabels(make([]kv.Class, 3), make([]float64, 3), 1))(t)
	fewer := must.Get(NewLabels(make([]kv.Class, 2), make([]float64, 2), 1))(t)
	newLabels := func(labels []kv.Class, strengths []float64) error {
		_, err := NewLabels(labels, strengths, 2)
		return err
	}
	sums, whole, rows := make([]float64, 8), b.Rows(), NewRows(3, 2)
	for name, err := range map[string]error{
		"too few sums":               b.AddRows(sums[:3], whole, rows),
		"rows of fewer columns":      b.AddRows(sums[:4], whole, NewRows(2, 2)),
		"rows of more columns":       b.AddRows(sums[:4], whole, NewRows(4, 2)),
		"rows before the block":      b.AddRows(sums[:4], kv.Range{First: 3, End: 5}, rows),
		"rows behind the block":      b.AddRows(sums[:4], kv.Range{First: 5, End: 7}, rows),
		"rows that descend":          b.AddStrengths(sums[:1], kv.Range{First: 6, End: 5}),
		"strengths too many":         b.AddStrengths(sums[:3], whole),
		"labels of fewer columns":    b.AddLabels(sums, whole, fewer),
		"sums without labels":        b.AddLabels(sums[:4], whole, labels),
		"half a row":                 rows.Set(0, make([]float32, 3)),
		"a row too many":             rows.Set(1, make([]float32, 6)),
		"a row before the first":     rows.Set(-1, make([]float32, 2)),
		"class out of range":         newLabels([]kv.Class{2}, []float64{1}),
		"class below none":           newLabels([]kv.Class{-2}, []float64{1}),
		"more labels than strengths": newLabels([]kv.Class{1, 1}, []float64{1}),
	} {
		if !errors.Is(err, kernel.ErrShape) {
			t.Errorf("%s: got error %v, want ErrShape", name, err)
		}
	}
	for name, err := range map[string]error{
		"rows":      b.AddRows(sums[:4], whole, rows),
		"labels":    b.AddLabels(sums, whole, labels),
		"strengths": b.AddStrengths(sums[:2], whole),
		"no rows":   b.AddRows(nil, kv.Range{First: 5, End: 5}, rows),
	} {
		if err != nil {
			t.Errorf("%s that fit: got error %v, want none", name, err)
		}
	}
}
