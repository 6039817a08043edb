package cleaner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A yardstick says how the agreement features of a run's fitting nodes are distributed, so that those of one node can
// be placed among them. A fitting node with score s counts s times as wrongly labelled and 1−s times as rightly: which
// of them are wrong is not known.
type yardstick struct {
	Run          int64
	Right, Wrong spread
}

// A spread has the quantiles 0, 1/100 … 1 of every feature that the preset looks at [][101], which Weight nodes were seen for.
type spread struct {
	Weight    float64
	Quantiles [][]float64
}

const (
	yardstickNodes = 1 << 14 // fitting nodes that are looked at
	quantileSteps  = 100
	leastSpread    = 1 // nodes: fewer are no distribution
)

// newYardstick measures fitting nodes, evenly spaced by NodeID where they are too many.
func newYardstick(p problem, result *scoring) (*yardstick, error) {
	width := result.features.width
	step := (result.fitting + yardstickNodes - 1) / yardstickNodes
	var nodes []kv.NodeID
	rank := 0
	for v := range kv.NodeID(len(p.labels)) {
		if !p.isFitting(v) {
			continue
		}
		if rank%step == 0 {
			nodes = append(nodes, v)
		}
		rank++
	}
	z, wrong := make([]float32, len(nodes)*width), make([]float64, len(nodes))
	for i, v := range nodes {
		if err := result.features.Read(kv.Range{First: v, End: v + 1}, 0, width, z[i*width:][:width]); err != nil {
			return nil, err
		}
		wrong[i] = float64(result.scores.Data[v])
	}
	right := make([]float64, len(nodes))
	for i, s := range wrong {
		right[i] = 1 - s
	}
	return &yardstick{Right: newSpread(z, width, right), Wrong: newSpread(z, width, wrong)}, nil
}

// newSpread is that of rows z [rows×width], each counted weight times.
func newSpread(z []float32, width int, weights []float64) spread {
	var s spread
	for _, w := range weights {
		s.Weight += w
	}
	if !(s.Weight >= leastSpread) {
		return s
	}
	order := make([]int, len(weights))
	for f := range width {
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(z[a*width+f], z[b*width+f]), cmp.Compare(a, b))
		})
		s.Quantiles = append(s.Quantiles, quantiles(order, weights, s.Weight, func(i int) float64 {
			return float64(z[i*width+f])
		}))
	}
	return s
}

// quantiles are the least values that at least a share q of the weight does not exceed, q = 0, 1/100 … 1, of values in an
// ascending order.
func quantiles(order []int, weights []float64, all float64, value func(i int) float64) []float64 {
	values := make([]float64, 0, quantileSteps+1)
	below, last := 0.0, math.NaN()
	for _, i := range order {
		if weights[i] == 0 {
			continue
		}
		below, last = below+weights[i], value(i)
		for len(values) <= quantileSteps && below >= all*float64(len(values))/quantileSteps {
			values = append(values, last)
		}
	}
	for len(values) <= quantileSteps { // where the sum was rounded down
		values = append(values, last)
	}
	return values
}

// rank is the share of the nodes whose feature f is below x, half of those that have it included; NaN if too few
// nodes were seen.
func (s spread) rank(f int, x float64) float64 {
	if len(s.Quantiles) == 0 || math.IsNaN(x) {
		return math.NaN()
	}
	q := s.Quantiles[f]
	from, found := slices.BinarySearch(q, x)
	if found {
		end := from
		for end < len(q) && q[end] == x {
			end++
		}
		return float64(from+end-1) / 2 / quantileSteps
	}
	switch from {
	case 0:
		return 0
	case len(q):
		return 1
	}
	return (float64(from-1) + (x-q[from-1])/(q[from]-q[from-1])) / quantileSteps
}

// readYardstick reads the yardstick of a run, nil if there is none.
func readYardstick(tx *kv.Tx, run *Run) (*yardstick, error) {
	var y yardstick
	err := tx.Documents(detectorsSpace).Get(yardstickKey, &y)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, s := range []spread{y.Right, y.Wrong} {
		if len(s.Quantiles) != 0 && len(s.Quantiles) != run.Preset.features(run.Hops) {
			return nil, fmt.Errorf("run %d: its fitting nodes have %d features, want %d: %w",
				run.ID, len(s.Quantiles), run.Preset.features(run.Hops), kv.ErrCorrupt)
		}
		for _, q := range s.Quantiles {
			if len(q) != quantileSteps+1 || !slices.IsSorted(q) {
				return nil, fmt.Errorf("run %d: a feature of its fitting nodes has no quantiles: %w", run.ID, kv.ErrCorrupt)
			}
		}
	}
	if y.Run != run.ID {
		return nil, nil
	}
	return &y, nil
}
