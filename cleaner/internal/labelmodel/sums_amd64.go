//go:build !purego

package labelmodel

import (
	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/internal/processor"
	"github.com/graphcleaner/graphcleaner/kv"
)

// What kernels the processor has. Tests turn those with vectors of 512 bits off.
var (
	vectorized = cpu.X86.HasAVX2
	hasAVX512  = processor.HasAVX512
)

// The kernels round every product, quotient and sum by itself: the bits are those of the plain ones. They check no bounds. A wide kernel
// has all lanes in a register; the others do the half of them where their arguments point.

// weighVectors is weighPlainly of lines.
//
//go:noescape
func weighVectors(utility *float64, x *float32, weights *float64, lines, classes, width int)

//go:noescape
func weighWide(utility *float64, x *float32, weights *float64, lines, classes, width int)

// judgeVectors is judgePlainly of lines.
//
//go:noescape
func judgeVectors(chance, excess *float64, posterior *float32, likelihood, noise *float64, kinds *int32, lines, classes int)

//go:noescape
func judgeWide(chance, excess *float64, posterior *float32, likelihood, noise *float64, kinds *int32, lines, classes int)

// addVectors is addLinesPlainly of lines.
//
//go:noescape
func addVectors(sums *float64, x *float32, chance, excess, deviations *float64, lines, classes, width int)

// addFour is addVectors of four features.
//
//go:noescape
func addFour(sums *float64, x *float32, chance, excess *float64, lines, classes int)

// addFive is addVectors of five features.
//
//go:noescape
func addFive(sums *float64, x *float32, chance, excess *float64, lines, classes int)

// turnVectors writes the posteriors of four classes row by row [lanes×sweepRows×4]; step is what the numbers of a line take.
//
//go:noescape
func turnVectors(rows, posterior *float32, lines, step int)

// turnVectors has been written for so many rows and classes: with others this does not compile.
const (
	_ = uint(256-sweepRows) + uint(sweepRows-256)
	_ = uint(4-countedClasses) + uint(countedClasses-4)
)

// countVectors adds the posteriors of four classes of some rows to the lines of their labels.
//
//go:noescape
func countVectors(counts *float64, rows *float32, labels *kv.Class, places *int32, count, classes int)

func weigh(utility []float64, x []float32, weights []float64, classes, width int) {
	if !vectorized {
		weighPlainly(utility, x, weights, classes, width)
		return
	}
	_, _ = x[len(utility)*width-1], weights[width*lanes-1]
	lines := len(utility) / (classes * lanes)
	if hasAVX512 {
		weighWide(&utility[0], &x[0], &weights[0], lines, classes, width)
		return
	}
	for half := 0; half < lanes; half += lanes / 2 {
		weighVectors(&utility[half], &x[half], &weights[half], lines, classes, width)
	}
}

func judge(chance, excess []float64, posterior []float32, likelihood, noise []float64, kinds []int32, classes int) {
	if !vectorized {
		judgePlainly(chance, excess, posterior, likelihood, noise, kinds, classes)
		return
	}
	_, _, _, _ = chance[len(likelihood)*classes-1], excess[len(chance)-1], posterior[len(chance)-1], kinds[len(likelihood)-1]
	lines := len(likelihood) / lanes
	if hasAVX512 {
		judgeWide(&chance[0], &excess[0], &posterior[0], &likelihood[0], &noise[0], &kinds[0], lines, classes)
		return
	}
	for half := 0; half < lanes; half += lanes / 2 {
		judgeVectors(&chance[half], &excess[half], &posterior[half], &likelihood[half], &noise[0], &kinds[half], lines, classes)
	}
}

func addLines(sums []float64, x []float32, of sweepScratch, classes, width int) {
	if !vectorized {
		addLinesPlainly(sums, x, of, classes, width)
		return
	}
	_, _, _ = x[len(of.chance)*width-1], of.excess[len(of.chance)-1], sums[(width+width*(width+1)/2)*lanes-1]
	_ = of.deviations[(2*classes+1)*width*lanes-1]
	lines := len(of.chance) / (classes * lanes)
	switch {
	case hasAVX512 && width == 4:
		addFour(&sums[0], &x[0], &of.chance[0], &of.excess[0], lines, classes)
	case hasAVX512 && width == 5:
		addFive(&sums[0], &x[0], &of.chance[0], &of.excess[0], lines, classes)
	default:
		for half := 0; half < lanes; half += lanes / 2 {
			addVectors(&sums[half], &x[half], &of.chance[half], &of.excess[half], &of.deviations[half], lines, classes, width)
		}
	}
}

func (f *labelFit) countFlips(counts *lines, first, end int, rows []float32) {
	if !vectorized || end-first < countedClasses || len(counts.values) == 0 {
		f.countFlipsPlainly(counts, first, end)
		return
	}
	_ = rows[lanes*sweepRows*countedClasses-1]
	step := f.classes * lanes
	for r := 0; r < len(f.labels); r += sweepRows {
		line, lane := placeOf(r)
		if lane == 0 {
			team := f.posterior.Data[line*step : min((line+sweepRows)*step, len(f.posterior.Data))]
			turnVectors(&rows[0], &team[first*lanes], len(team)/step, step)
		}
		labels := f.labels[r:min(r+sweepRows, len(f.labels))]
		own := rows[lane*sweepRows*countedClasses:]
		countVectors(&counts.values[first], &own[0], &labels[0], &counts.place[0], len(labels), f.classes)
	}
}
