package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
)

// addRowsPlainly is the definition of addRows.
func addRowsPlainly(sums []float64, tile []float32, neighbors []kv.NodeID) {
	for _, u := range neighbors {
		for j := range sums {
			sums[j] += float64(tile[int(u)*len(sums)+j])
		}
	}
}

func TestAddRowsSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	const n = 700
	for width := 1; width <= 40; width++ {
		if stride(width) != width {
			continue
		}
		tile := make([]float32, n*width)
		for i := range tile {
			tile[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(12)-6)))
		}
		for _, degree := range []int{0, 1, 2, run - 1, run, run + 1, n} {
			neighbors := make([]kv.NodeID, degree)
			for i, u := range r.Perm(n)[:degree] {
				neighbors[i] = kv.NodeID(u)
			}
			got, want := make([]float64, width), make([]float64, width)
			addRows(got, tile, neighbors)
			addRowsPlainly(want, tile, neighbors)
			if !slices.Equal(got, want) {
				t.Fatalf("%d columns, %d neighbours: got %v, want %v", width, degree, got, want)
			}
		}
	}
}
