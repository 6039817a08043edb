//go:build !purego

package labelmodel

import "golang.org/x/sys/cpu"

// The kernels round every product, quotient and sum by itself: the bits are those of the plain ones. They check no bounds.

// weighVectors is weighPlainly of lines.
//
//go:noescape
func weighVectors(utility *float64, x *float32, weights *float64, lines, classes, width int)

// judgeVectors is judgePlainly of lines.
//
//go:noescape
func judgeVectors(chance, excess *float64, posterior *float32, likelihood, noise *float64, kinds *int32, lines, classes int)

// addVectors is addLinesPlainly of lines.
//
//go:noescape
func addVectors(sums *float64, x *float32, chance, excess, deviations *float64, lines, classes, width int)

func weigh(utility []float64, x []float32, weights []float64, classes, width int) {
	if !cpu.X86.HasAVX2 {
		weighPlainly(utility, x, weights, classes, width)
		return
	}
	_, _ = x[len(utility)*width-1], weights[width*lanes-1]
	weighVectors(&utility[0], &x[0], &weights[0], len(utility)/(classes*lanes), classes, width)
}

func judge(chance, excess []float64, posterior []float32, likelihood, noise []float64, kinds []int32, classes int) {
	if !cpu.X86.HasAVX2 {
		judgePlainly(chance, excess, posterior, likelihood, noise, kinds, classes)
		return
	}
	_, _, _, _ = chance[len(likelihood)*classes-1], excess[len(chance)-1], posterior[len(chance)-1], kinds[len(likelihood)-1]
	judgeVectors(&chance[0], &excess[0], &posterior[0], &likelihood[0], &noise[0], &kinds[0], len(likelihood)/lanes, classes)
}

func addLines(sums []float64, x []float32, of sweepScratch, classes, width int) {
	if !cpu.X86.HasAVX2 {
		addLinesPlainly(sums, x, of, classes, width)
		return
	}
	_, _, _ = x[len(of.chance)*width-1], of.excess[len(of.chance)-1], sums[(width+width*(width+1)/2)*lanes-1]
	_ = of.deviations[(2*classes+1)*width*lanes-1]
	addVectors(&sums[0], &x[0], &of.chance[0], &of.excess[0], &of.deviations[0], len(of.chance)/(classes*lanes), classes, width)
}
