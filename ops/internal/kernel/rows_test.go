package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// awkwardNumbers draws numbers of many sizes; with special also ones that no sum survives.
func awkwardNumbers(r *rand.Rand, count int, special bool) []float32 {
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(12)-6)))
		if special && r.IntN(50) == 0 {
			all := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat32}
			x[i] = float32(all[r.IntN(len(all))])
		}
	}
	return x
}

// sameNumbers compares bits, except for those of NaN.
func sameNumbers[T float32 | float64](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool {
		a, b := float64(x), float64(y)
		return a == b && math.Signbit(a) == math.Signbit(b) || math.IsNaN(a) && math.IsNaN(b)
	})
}

// A kernelCase is a list of neighbours in a slab.
type kernelCase struct {
	rows      Slab
	neighbors []kv.NodeID
	readable  int
}

// each kernelCase begins anywhere in memory, at any node, and has neighbours of other lists after it.
func eachKernelCase(t *testing.T, strides []int, try func(r *rand.Rand, c kernelCase)) {
	t.Helper()
	const n = 700
	for _, size := range strides {
		for _, degree := range []int{0, 1, 2, 47, 48, 49, Run - 1, Run, Run + 1, n} {
			for _, special := range []bool{false, true} {
				r := rand.New(rand.NewPCG(uint64(size), uint64(degree)))
				first := kv.NodeID(r.IntN(2) * 1000)
				shift := r.IntN(4)
				all := make([]kv.NodeID, n)
				for i, u := range r.Perm(n) {
					all[i] = first + kv.NodeID(u)
				}
				from := r.IntN(n - degree + 1)
				try(r, kernelCase{
					rows:      Slab{awkwardNumbers(r, shift+n*size, special)[shift:], first, size},
					neighbors: all[from : from+degree],
					readable:  degree + r.IntN(n-from-degree+1),
				})
			}
		}
	}
}

// allStrides are those of tiles, and some wider ones.
func allStrides() (strides []int) {
	for width := 1; width <= MaxColumns+8; width++ {
		if Stride(width) == width {
			strides = append(strides, width)
		}
	}
	return strides
}

func TestAddRowsSameBits(t *testing.T) {
	eachKernelCase(t, allStrides(), func(r *rand.Rand, c kernelCase) {
		weights := awkwardNumbers(r, len(c.neighbors), false)
		for column := 0; column < c.rows.Stride; column += GroupColumns {
			begun := make([]float64, c.rows.Stride-column)
			for j := range begun {
				begun[j] = r.NormFloat64()
			}
			check := func(name string, weight func(i int) float64, add func(sums []float64)) {
				got, want := slices.Clone(begun), slices.Clone(begun)
				for i, u := range c.neighbors {
					row := c.rows.Values[int(u-c.rows.First)*c.rows.Stride:][:c.rows.Stride]
					for j, x := range row[column:] {
						want[j] += float64(weight(i) * float64(x))
					}
				}
				if add(got); !sameNumbers(got, want) {
					t.Fatalf("%s: %d columns from %d on, %d neighbours: got %v, want %v",
						name, c.rows.Stride, column, len(c.neighbors), got, want)
				}
			}
			one, weight := func(int) float64 { return 1 }, func(i int) float64 { return float64(weights[i]) }
			check("rows", one, func(sums []float64) { AddRows(sums, c.rows, column, c.neighbors, nil, c.readable) })
			check("rows plainly", one, func(sums []float64) { addRowsPlainly(sums, c.rows, column, c.neighbors, nil) })
			check("weighted rows", weight, func(sums []float64) {
				AddRows(sums, c.rows, column, c.neighbors, weights, c.readable)
			})
			check("weighted rows plainly", weight, func(sums []float64) {
				addRowsPlainly(sums, c.rows, column, c.neighbors, weights)
			})
		}
	})
}

func TestAddMarksSameBits(t *testing.T) {
	eachKernelCase(t, []int{1, 2, 5, 8, 9, 16, 20, 24, 31, 32}, func(r *rand.Rand, c kernelCase) {
		columns := c.rows.Stride
		marks := make([]Mark, len(c.rows.Values)/columns)
		for i := range marks {
			marks[i] = Mark{uint32(r.IntN(columns + 1)), c.rows.Values[i]}
		}
		want := make([]float64, columns+1)
		for j := range columns {
			want[j] = r.NormFloat64()
		}
		for _, weights := range [][]float32{nil, awkwardNumbers(r, len(c.neighbors), false)} {
			got, plain := slices.Clone(want), slices.Clone(want)
			AddMarks(got, marks, c.rows.First, c.neighbors, weights, c.readable)
			addMarksPlainly(plain, marks, c.rows.First, c.neighbors, weights)
			if !sameNumbers(got[:columns], plain[:columns]) {
				t.Fatalf("%d columns, %d neighbours: got %v, want %v", columns, len(c.neighbors), got, plain)
			}
		}
	})
}

func TestFinishRowSameBits(t *testing.T) {
	for seed := range uint64(longtest.Of(100, 500)) {
		r := rand.New(rand.NewPCG(seed, 0))
		width := 1 + r.IntN(MaxColumns)
		w := Stride(width)
		sums := make([]float64, w)
		for j, x := range awkwardNumbers(r, w, seed%2 == 0) {
			sums[j] = float64(x) * r.Float64()
		}
		input := awkwardNumbers(r, width+GroupColumns, seed%2 == 0)[:width]
		end := Ending{Scale: r.Float64(), Next: r.Float64()}
		if r.IntN(2) == 0 {
			end.Diagonal = r.Float64()
		}
		var got, want [2][]float32
		for _, out := range []*[2][]float32{&got, &want} {
			out[0] = make([]float32, width, width+GroupColumns)
			if seed%3 > 0 {
				out[1] = make([]float32, w)
			}
		}
		FinishRow(got[0], got[1], input, sums, end)
		finishRowPlainly(want[0], want[1], input, sums, end)
		if !sameNumbers(got[0], want[0]) || !sameNumbers(got[1], want[1]) {
			t.Fatalf("seed %d, %d columns: got %v, want %v", seed, width, got, want)
		}
	}
}

func TestFinishRowKeepsToShortRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	sums := make([]float64, 2*GroupColumns)
	for j := range sums {
		sums[j] = r.Float64()
	}
	for width := 1; width <= len(sums); width++ {
		input := awkwardNumbers(r, len(sums), false)[:width]
		end := Ending{Scale: r.Float64(), Next: r.Float64(), Diagonal: r.Float64()}
		for short := range width + 1 {
			row, next := make([]float32, width, len(sums)), make([]float32, len(sums))
			FinishRow(row, next[:short], input, sums, end)
			for j, x := range next {
				want := float32(0)
				if j < short {
					want = float32(end.Next * sums[j])
				}
				if x != want {
					t.Fatalf("%d columns, %d of the next hop: got %v at column %d, want %v", width, short, x, j, want)
				}
			}
		}
	}
}
