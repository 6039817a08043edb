package labelnoise

import (
	"context"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// spoilByFeature gives labels that the features look like, as BeGIN's noise of that name (Kim and others, arXiv:2506.12468):
// the prototype of a class is the sum of its nodes' features, and the softmax of the cosines with the prototypes, divided by
// 0.01, are the shares of bySharesOfOthers. A node without features keeps its label.
func spoilByFeature(ctx context.Context, s *spoiling) error {
	width := s.Features.Width()
	prototypes := make([]float64, s.Classes*width)
	of := func(y kv.Class) []float64 { return prototypes[int(y)*width:][:width] }
	err := rowstore.Each(ctx, s.Features, len(s.Labels), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if y := s.Labels[v]; y != kv.NoClass {
				sum := of(y)
				for f, x := range values[int(v-rows.First)*width:][:width] {
					sum[f] += float64(x)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for y := range kv.Class(s.Classes) {
		prototype := of(y)
		var square float64
		for _, x := range prototype {
			square += float64(x * x)
		}
		if length := math.Sqrt(square); length > 0 {
			for f := range prototype {
				prototype[f] /= length
			}
		}
	}
	return s.bySharesOfOthers(ctx, nearness{s.Features, func(_ kv.NodeID, row []float32, shares []float64) {
		length := lengthOf(row)
		if length == 0 {
			return
		}
		for j := range shares {
			shares[j] = product(row, of(kv.Class(j))) / length
		}
		s.softmax(shares, noiseTemperature)
	}})
}

// leastForPrototypes is what the prototypes take.
func leastForPrototypes(_ context.Context, p *Graph) (int64, error) {
	return 8 * int64(p.Classes) * int64(p.Features.Width()), nil
}

// lengthOf is the Euclidean length of a row.
func lengthOf(row []float32) float64 {
	var square float64
	for _, x := range row {
		square += float64(float64(x) * float64(x))
	}
	return math.Sqrt(square)
}

// product is the inner product of a row and a vector.
func product(row []float32, with []float64) (sum float64) {
	for f, x := range row {
		if x != 0 {
			sum += float64(float64(x) * with[f])
		}
	}
	return sum
}
