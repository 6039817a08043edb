package nn

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// ridgeRowsOf are rows around a centre for each class; a share of their other numbers is not zero.
func ridgeRowsOf(random *rand.Rand, count, width, classes int, share float64) (dense []float32, class []int) {
	for r := range count {
		y := r % classes
		class = append(class, y)
		for j := range width {
			x := float32(0)
			if random.Float64() < share || j%classes == y {
				x = float32(random.Float64()) / float32(math.Sqrt(float64(width)))
			}
			dense = append(dense, x)
		}
	}
	return dense, class
}

// examples are rows in memory.
func examples(x []float32, class []int, classes int) Examples {
	width := len(x) / len(class)
	return Examples{
		Count: len(class), Width: width, Classes: classes,
		Read: func(first, end int, to []float32) error {
			copy(to, x[first*width:end*width])
			return nil
		},
		Class: func(row int) int { return class[row] },
	}
}

// fitWithout is the fit to all rows but one, with the means and penalties of all.
func fitWithout(t *testing.T, dense []float32, class []int, width, classes, without int) []float64 {
	d := width
	f := &ridgeFit{Examples: Examples{Width: d, Classes: classes}, width: d}
	stride := f.stride()
	gram, sums, shares := make([]float64, d*stride), make([]float64, classes*d), make([]float64, classes)
	g, mean := make([]float64, d), 0.0
	for r, y := range class {
		shares[y] += 1 / float64(len(class))
		for j, x := range dense[r*d:][:d] {
			g[j] += float64(x) * float64(x)
			mean += float64(x) * float64(x) / float64(d)
		}
	}
	for j := range d {
		gram[j*stride+j] = ridgePenalty + ridgeCommon*g[j]/mean
	}
	for r, y := range class {
		if r == without {
			continue
		}
		row := dense[r*d:][:d]
		for i, x := range row {
			for j, z := range row {
				gram[i*stride+j] += float64(x) * float64(z)
			}
			for k := range classes {
				target := -shares[k]
				if k == y {
					target++
				}
				sums[i*classes+k] += float64(x) * target
			}
		}
	}
	must.Do(t, f.solve(gram, sums))
	scores := make([]float64, classes)
	for k := range classes {
		scores[k] = shares[k]
		for j, x := range dense[without*d:][:d] {
			scores[k] += float64(x) * sums[j*classes+k]
		}
	}
	return scores
}

func TestRidgeLeavesOut(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const count, width, classes = 90, 37, 3
	dense, class := ridgeRowsOf(random, count, width, classes, 0.3)
	r := must.Get(FitRidge(t.Context(), examples(dense, class, classes), 1, nil))(t)
	var layers Activations
	logits := layers.Outputs(r.Net, dense, count)
	for row := 0; row < count; row += 7 {
		own := append([]float32(nil), logits[row*classes:][:classes]...)
		r.LeaveOut(row, class[row], own)
		for k, want := range fitWithout(t, dense, class, width, classes, row) {
			if got := (float64(own[k]) - r.shift[k]) / r.scale[k]; math.Abs(got-want) > 1e-4 {
				t.Errorf("row %d, class %d: got %v, want %v", row, k, got, want)
			}
		}
	}
}

func TestRidgeBits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{5, 70, RidgeColumns + 100} {
		const count, classes = 700, 4
		dense, class := ridgeRowsOf(random, count, width, classes, 0.1)
		before := runtime.GOMAXPROCS(1)
		one := must.Get(FitRidge(t.Context(), examples(dense, class, classes), 1, nil))(t)
		runtime.GOMAXPROCS(4)
		three := must.Get(FitRidge(t.Context(), examples(dense, class, classes), 3, nil))(t)
		runtime.GOMAXPROCS(before)
		if !reflect.DeepEqual(one, three) {
			t.Errorf("%d columns: another fit with three goroutines, on four processors", width)
		}
		if one.Loss > math.Log(classes) {
			t.Errorf("%d columns: loss %v, want less than %v", width, one.Loss, math.Log(classes))
		}
	}
}
