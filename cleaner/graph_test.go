package cleaner

import (
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/internal/testing/kvtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rowsSource is the ops.Source of a dense matrix in memory.
type rowsSource struct {
	width  int
	values []float32
}

func (s rowsSource) Width() int { return s.width }

func (s rowsSource) Read(rows kv.Range, lo, hi int, dst []float32) error {
	for v := int(rows.First); v < int(rows.End); v++ {
		copy(dst[(v-int(rows.First))*(hi-lo):], s.values[v*s.width+lo:v*s.width+hi])
	}
	return nil
}

// randomPredictions are n rows of c probabilities.
func randomPredictions(r *rand.Rand, n, c int) rowsSource {
	values := make([]float32, n*c)
	for v := range n {
		row := make([]float64, c)
		var sum float64
		for j := range row {
			row[j] = r.ExpFloat64()
			sum += row[j]
		}
		for j := range row {
			values[v*c+j] = float32(row[j] / sum)
		}
	}
	return rowsSource{width: c, values: values}
}

// awkwardGraph has n nodes, of which some are isolated and one may be adjacent to nearly all.
func awkwardGraph(r *rand.Rand, n int) kvtest.MemoryGraph {
	var edges [][2]kv.NodeID
	connected := 1 + r.IntN(n)
	for range r.IntN(3 * n) {
		edges = append(edges, [2]kv.NodeID{kv.NodeID(r.IntN(connected)), kv.NodeID(r.IntN(connected))})
	}
	if r.IntN(3) == 0 {
		for v := range connected {
			edges = append(edges, [2]kv.NodeID{0, kv.NodeID(v)})
		}
	}
	return kvtest.NewMemoryGraph(n, edges)
}

func normals(r *rand.Rand, n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	return values
}

func identityOrder(n int) nodeOrder {
	return func(yield func(kv.NodeID, error) bool) {
		for v := range n {
			if !yield(kv.NodeID(v), nil) {
				return
			}
		}
	}
}
