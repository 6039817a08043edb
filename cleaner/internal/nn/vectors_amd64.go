//go:build !purego

package nn

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The kernels round every product, sum, quotient and root by itself: the bits are those of the plain ones, unless it says otherwise. They
// check no bounds.

// multiplyStripVectors is multiplyRows of so many rows and a strip; stride is that of b and c in bytes, and apart is that of start.
//
//go:noescape
func multiplyStripVectors(c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32, apart uintptr)

// multiplyStripVectors512 is multiplyStripVectors with AVX-512.
//
//go:noescape
func multiplyStripVectors512(c, start, b *float32, stride uintptr, starts, ends *int, rows int, columns *uint32, values *float32, apart uintptr)

// transposeVectors is transposePlainly of eight rows and so many groups of eight columns; strides are in bytes.
//
//go:noescape
func transposeVectors(to *float32, stride uintptr, from *float32, apart uintptr, groups int)

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

// fillVectors is fillPlainly with eight states, high and low, that leap over each other by step. It needs AVX-512.
//
//go:noescape
func fillVectors(to *dropBytes, states *[2][8]uint64, step *leap)

// fillVectors fills so many bytes: with another size this does not compile.
const _ = uint(4096-dropRun) + uint(dropRun-4096)

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

// countNonzeroVectors is CountNonzero of so many groups of eight.
//
//go:noescape
func countNonzeroVectors(row *float32, groups int) (count int)

// compressVectors is compressPlainly of so many groups of eight, from column 0. It changes up to eight numbers behind those that it writes.
//
//go:noescape
func compressVectors(columns *uint32, values, row *float32, groups int, orders *[256]uint64) (count int)

// compressOrders have for each set of eight numbers which of them they are, ascending, a byte each.
var compressOrders = func() (orders [256]uint64) {
	for set := range orders {
		at := 0
		for i := range 8 {
			if set>>i&1 != 0 {
				orders[set] |= uint64(i) << at
				at += 8
			}
		}
	}
	return orders
}()

// multiplyStrips sets the first columns of c to start + x b, as many as are whole strips, and returns how many those are.
func multiplyStrips(x *Rows, n int, b, start []float32, apart int, c []float32) (done int) {
	if !cpu.X86.HasAVX2 || x.Count == 0 || len(x.values) == 0 {
		return 0
	}
	_, _, _ = c[x.Count*n-1], b[x.Width*n-1], start[(x.Count-1)*apart+n-1]
	for ; done+stripColumns <= n; done += stripColumns {
		if hasAVX512 {
			multiplyStripVectors512(
				&c[done], &start[done], &b[done], uintptr(4*n), &x.starts[0], &x.ends[0], x.Count, &x.columns[0], &x.values[0], uintptr(4*apart))
			continue
		}
		multiplyStripVectors(
			&c[done], &start[done], &b[done], uintptr(4*n), &x.starts[0], &x.ends[0], x.Count, &x.columns[0], &x.values[0], uintptr(4*apart))
	}
	return done
}

// transpose is transposePlainly.
func transpose(to []float32, stride int, from []float32, apart, rows, columns int) {
	done, groups := 0, vectorGroups(columns)
	if groups > 0 && rows >= 8 {
		_, _ = to[(columns-1)*stride+rows-1], from[(rows-1)*apart+columns-1]
		for ; done+8 <= rows; done += 8 {
			transposeVectors(&to[done], uintptr(4*stride), &from[done*apart], uintptr(4*apart), groups)
		}
		transposePlainly(to[8*groups*stride:], stride, from[8*groups:], apart, done, columns-8*groups)
	}
	transposePlainly(to[done:], stride, from[done*apart:], apart, rows-done, columns)
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

var leapEight = func() leap {
	four := leapTwo.twice()
	return four.twice()
}()

// fill is fillPlainly.
func (b *dropBytes) fill(seed, run uint64) {
	if !hasAVX512 {
		b.fillPlainly(seed, run)
		return
	}
	var states [2][8]uint64
	state := generator{seed, run}
	for i := range 8 {
		state = leapOne.of(state)
		states[0][i], states[1][i] = state.high, state.low
	}
	fillVectors(b, &states, &leapEight)
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

// CountNonzero is how many numbers are not zero.
func CountNonzero(row []float32) (count int) {
	groups := vectorGroups(len(row))
	if groups > 0 {
		count = countNonzeroVectors(&row[0], groups)
	}
	return count + countNonzeroPlainly(row[8*groups:])
}

// compress is compressPlainly, from column 0, with compressSpare numbers to spare.
func compress(columns []uint32, values, row []float32) (count int) {
	groups := vectorGroups(len(row))
	if groups > 0 {
		count = compressVectors(&columns[0], &values[0], &row[0], groups, &compressOrders)
	}
	return count + compressPlainly(columns[count:], values[count:], row[8*groups:], 8*groups)
}
