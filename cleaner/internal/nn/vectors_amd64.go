//go:build !purego

package nn

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The kernels round every product, sum, quotient and root by itself: the bits are those of the plain ones, unless it says otherwise. They
// check no bounds.

// multiplyStripVectors is multiplySparse of so many rows and a strip; stride is that of b and c in bytes.
//
//go:noescape
func multiplyStripVectors(c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32)

// addToHalfStripVectors is addToRowsPlainly of half a strip; stride is that of c in bytes.
//
//go:noescape
func addToHalfStripVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)

// addToStripVectors is addToRowsPlainly of a strip.
//
//go:noescape
func addToStripVectors(c *float32, columns *uint32, values *float32, count int, row *float32, stride uintptr)

// adamVectors is takePlainly of so many groups of eight.
//
//go:noescape
func adamVectors(p, mean, square, gradient *float32, groups int, step *adamStep)

// dropVectors is dropPlainly of so many groups of eight. factors may be nil.
//
//go:noescape
func dropVectors(values, factors *float32, random *byte, groups int, bound uint32, scale float32)

// reluVectors is reluPlainly of so many groups of eight.
//
//go:noescape
func reluVectors(h *float32, groups int)

// maskVectors is maskPlainly of so many groups of eight. scale may be nil.
//
//go:noescape
func maskVectors(down, scale, h *float32, groups int)

// subtractLargestVectors is subtractLargestPlainly of so many rows. width ≥ 8. Of a row with something that is no number it may take the
// largest number, and of 0 and −0 either. A softmax is the same of both.
//
//go:noescape
func subtractLargestVectors(values *float32, rows, width int)

// widenVectors is widenPlainly of so many groups of eight.
//
//go:noescape
func widenVectors(widened *float64, values *float32, groups int)

// sumColumnsVectors is sumColumnsPlainly of so many groups of eight columns; stride is that of the rows in bytes. There is a row at least.
//
//go:noescape
func sumColumnsVectors(sums, rows *float32, groups, count int, stride uintptr)

// roundVectors is roundPlainly of so many groups of eight.
//
//go:noescape
func roundVectors(rounded *float32, values *float64, groups int)

// divideVectors is dividePlainly of so many groups of eight.
//
//go:noescape
func divideVectors(values *float32, groups int, by float64)

// multiplyStrips sets the first columns of c to start + x b, as many as are whole strips, and returns how many those are.
func multiplyStrips(x *Rows, n int, b, start, c []float32) (done int) {
	if !cpu.X86.HasAVX2 || x.Count == 0 || len(x.values) == 0 {
		return 0
	}
	_, _, _ = c[x.Count*n-1], b[x.Width*n-1], start[n-1]
	for ; done+stripColumns <= n; done += stripColumns {
		multiplyStripVectors(
			&c[done], &start[done], &b[done], uintptr(4*n), &x.starts[0], &x.ends[0], x.Count, &x.columns[0], &x.values[0])
	}
	return done
}

func addToRows(c []float32, columns []uint32, values, row []float32, n int) {
	if !cpu.X86.HasAVX2 || len(columns) == 0 {
		addToRowsPlainly(c, columns, values, row, n)
		return
	}
	_ = values[len(columns)-1]
	at := 0
	for ; at+stripColumns <= len(row); at += stripColumns {
		addToStripVectors(&c[at], &columns[0], &values[0], len(columns), &row[at], uintptr(4*n))
	}
	for ; at+halfStrip <= len(row); at += halfStrip {
		addToHalfStripVectors(&c[at], &columns[0], &values[0], len(columns), &row[at], uintptr(4*n))
	}
	if at < len(row) {
		addToRowsPlainly(c[at:], columns, values, row[at:], n)
	}
}

// vectorGroups is how many groups of eight numbers the kernels do of so many. The plain ones do the rest.
func vectorGroups(numbers int) int {
	if !cpu.X86.HasAVX2 {
		return 0
	}
	return numbers / 8
}

func (s *adamStep) take(p, mean, square, gradient []float32) {
	groups := vectorGroups(len(p))
	if groups > 0 {
		_, _, _ = mean[len(p)-1], square[len(p)-1], gradient[len(p)-1]
		adamVectors(&p[0], &mean[0], &square[0], &gradient[0], groups, s)
	}
	s.takePlainly(p[8*groups:], mean[8*groups:], square[8*groups:], gradient[8*groups:])
}

func dropRunOf(values, factors []float32, random *dropBytes, bound uint32, scale float32) {
	groups := vectorGroups(len(values))
	if groups > 0 {
		_, _ = random[8*groups-1], behind(factors, len(values))
		dropVectors(&values[0], unsafe.SliceData(factors), &random[0], groups, bound, scale)
	}
	dropPlainly(values[8*groups:], behind(factors, 8*groups), random[8*groups:], bound, scale)
}

func relu(h []float32) {
	groups := vectorGroups(len(h))
	if groups > 0 {
		reluVectors(&h[0], groups)
	}
	reluPlainly(h[8*groups:])
}

func mask(down, scale, h []float32) {
	groups := vectorGroups(len(down))
	if groups > 0 {
		_, _ = h[len(down)-1], behind(scale, len(down))
		maskVectors(&down[0], unsafe.SliceData(scale), &h[0], groups)
	}
	maskPlainly(down[8*groups:], behind(scale, 8*groups), h[8*groups:])
}

func subtractLargest(values []float32, width int) {
	if vectorGroups(width) == 0 || len(values) == 0 {
		subtractLargestPlainly(values, width)
		return
	}
	subtractLargestVectors(&values[0], len(values)/width, width)
}

func widen(widened []float64, values []float32) {
	groups := vectorGroups(len(values))
	if groups > 0 {
		_ = widened[len(values)-1]
		widenVectors(&widened[0], &values[0], groups)
	}
	widenPlainly(widened[8*groups:], values[8*groups:])
}

func sumColumns(sums, rows []float32) {
	width, groups := len(sums), vectorGroups(len(sums))
	if groups == 0 || len(rows) == 0 {
		sumColumnsPlainly(sums, rows, width)
		return
	}
	sumColumnsVectors(&sums[0], &rows[0], groups, len(rows)/width, uintptr(4*width))
	if rest := 8 * groups; rest < width {
		sumColumnsPlainly(sums[rest:], rows[rest:], width)
	}
}

func round(rounded []float32, values []float64) {
	groups := vectorGroups(len(values))
	if groups > 0 {
		_ = rounded[len(values)-1]
		roundVectors(&rounded[0], &values[0], groups)
	}
	roundPlainly(rounded[8*groups:], values[8*groups:])
}

func divide(values []float32, by float64) {
	groups := vectorGroups(len(values))
	if groups > 0 {
		divideVectors(&values[0], groups, by)
	}
	dividePlainly(values[8*groups:], by)
}
