//go:build !purego

package labelmodel

import (
	"golang.org/x/sys/cpu"

	"github.com/graphcleaner/graphcleaner/kv"
)

// The kernels round every product and sum by itself: the bits are those of the plain ones. They check no bounds.

// weighVectors is weighPlainly of groups of four utilities, with a stride of lanes.
//
//go:noescape
func weighVectors(utility *float64, x *float32, weights *[lanes]float64, groups, width int)

// addRowVectors is addRowPlainly of a row, with a stride of lanes.
//
//go:noescape
func addRowVectors(to *moments, x *float32, chance, excess *float64, classes, width int)

func hasKernels(width int) bool { return cpu.X86.HasAVX2 && width <= lanes }

func weigh(utility []float64, x []float32, weights []float64, stride int) {
	groups := len(utility) / 4
	if !hasKernels(len(weights)) || groups == 0 {
		weighPlainly(utility, x, weights, stride)
		return
	}
	var padded [lanes]float64
	copy(padded[:], weights)
	_ = x[4*groups*lanes-1]
	weighVectors(&utility[0], &x[0], &padded, groups, len(weights))
	weighPlainly(utility[4*groups:], x[4*groups*lanes:], weights, stride)
}

func (f *labelFit) addRows(first, end int, of sweepScratch, sums []float64) {
	if !hasKernels(f.width) {
		f.addRowsPlainly(first, end, of, sums)
		return
	}
	var all moments
	x, c := f.between(first, end), f.classes
	for r, y := range f.labels[first:end] {
		if y != kv.NoClass {
			_, _, _ = x[(r+1)*c*lanes-1], of.chance[(r+1)*c-1], of.excess[(r+1)*c-1]
			addRowVectors(&all, &x[r*c*lanes], &of.chance[r*c], &of.excess[r*c], c, f.width)
		}
	}
	all.addTo(sums, f.width)
}
