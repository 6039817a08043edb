//go:build !purego

package nn

import "golang.org/x/sys/cpu"

// The kernels round every product, sum, quotient and root by itself: the bits are those of the plain ones. They check no bounds.

// addRowsVectors is addRowsPlainly of sparseColumns columns; stride is that of b in bytes.
//
//go:noescape
func addRowsVectors(sums *float32, columns *uint32, values *float32, count int, b *float32, stride uintptr)

// addToRowsVectors is addToRowsPlainly of sparseColumns columns; stride is that of c in bytes.
//
//go:noescape
func addToRowsVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)

// adamVectors is adamPlainly of so many groups of eight.
//
//go:noescape
func adamVectors(p, mean, square, gradient *float32, groups int, step *adamStep)

// dropVectors is dropPlainly of so many groups of eight. factors may be nil.
//
//go:noescape
func dropVectors(values, factors *float32, words *uint64, groups int, bound uint32, scale float32)

// reluVectors is reluPlainly of so many groups of eight.
//
//go:noescape
func reluVectors(h *float32, groups int)

// maskVectors is maskPlainly of so many groups of eight. scale may be nil.
//
//go:noescape
func maskVectors(down, scale, h *float32, groups int)

func addRows(sums []float32, columns []uint32, values, b []float32, n int) {
	if !cpu.X86.HasAVX2 || len(columns) == 0 {
		addRowsPlainly(sums[:sparseColumns], columns, values, b, n)
		return
	}
	_, _ = sums[sparseColumns-1], values[len(columns)-1]
	addRowsVectors(&sums[0], &columns[0], &values[0], len(columns), &b[0], uintptr(4*n))
}

func addToRows(c []float32, columns []uint32, values, row []float32, n int) {
	if !cpu.X86.HasAVX2 || len(columns) == 0 {
		addToRowsPlainly(c, columns, values, row, n)
		return
	}
	_, _ = row[sparseColumns-1], values[len(columns)-1]
	addToRowsVectors(&c[0], &columns[0], &values[0], len(columns), &row[0], uintptr(4*n))
}

func (s *adamStep) take(p, mean, square, gradient []float32) {
	groups := len(p) / 8
	if !cpu.X86.HasAVX2 || groups == 0 {
		s.takePlainly(p, mean, square, gradient)
		return
	}
	_, _, _ = mean[len(p)-1], square[len(p)-1], gradient[len(p)-1]
	adamVectors(&p[0], &mean[0], &square[0], &gradient[0], groups, s)
	s.takePlainly(p[8*groups:], mean[8*groups:], square[8*groups:], gradient[8*groups:])
}

func dropRunOf(values, factors []float32, words *dropWords, bound uint32, scale float32) {
	groups := len(values) / 8
	if !cpu.X86.HasAVX2 || groups == 0 {
		dropPlainly(values, factors, words[:], bound, scale)
		return
	}
	_ = words[groups-1]
	if factors == nil {
		dropVectors(&values[0], nil, &words[0], groups, bound, scale)
		dropPlainly(values[8*groups:], nil, words[groups:], bound, scale)
		return
	}
	_ = factors[len(values)-1]
	dropVectors(&values[0], &factors[0], &words[0], groups, bound, scale)
	dropPlainly(values[8*groups:], factors[8*groups:], words[groups:], bound, scale)
}

func relu(h []float32) {
	groups := len(h) / 8
	if !cpu.X86.HasAVX2 || groups == 0 {
		reluPlainly(h)
		return
	}
	reluVectors(&h[0], groups)
	reluPlainly(h[8*groups:])
}

func mask(down, scale, h []float32) {
	groups := len(down) / 8
	if !cpu.X86.HasAVX2 || groups == 0 {
		maskPlainly(down, scale, h)
		return
	}
	_ = h[len(down)-1]
	if scale == nil {
		maskVectors(&down[0], nil, &h[0], groups)
		maskPlainly(down[8*groups:], nil, h[8*groups:])
		return
	}
	_ = scale[len(down)-1]
	maskVectors(&down[0], &scale[0], &h[0], groups)
	maskPlainly(down[8*groups:], scale[8*groups:], h[8*groups:])
}
