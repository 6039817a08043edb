package ops

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Source is a dense [n×c] input read in tiles; *kv.Matrix satisfies it.
type Source interface {
	// Width is c.
	Width() int
	// Read fills dst, row-major [(rows.End-rows.First)×(hi-lo)], with columns lo ≤ j < hi. Safe for concurrent use.
	Read(rows kv.Range, lo, hi int, dst []float32) error
}

// OneHot is the Source of labels [n×classes], by NodeID: 1 in the column of a node's class, and a zero row for
// kv.NoClass. It keeps labels, which must not change while it is read. A class outside 0 ≤ class < classes is an
// ErrShape of Read.
func OneHot(labels []kv.Class, classes int) Source { return oneHot{labels, classes} }

type oneHot struct {
	labels  []kv.Class
	classes int
}

func (s oneHot) Width() int { return s.classes }

func (s oneHot) Read(rows kv.Range, lo, hi int, dst []float32) error {
	width := hi - lo
	clear(dst[:rows.Len()*width])
	return s.each(rows, func(i, j int) {
		if lo <= j && j < hi {
			dst[i*width+j-lo] = 1
		}
	})
}

// each calls use with the number and the class of every labelled row.
func (s oneHot) each(rows kv.Range, use func(i, class int)) error {
	if int(rows.End) > len(s.labels) {
		return fmt.Errorf("%w: got %d labels, want one for node %d", ErrShape, len(s.labels), rows.End-1)
	}
	for i, class := range s.labels[rows.First:rows.End] {
		if class == kv.NoClass {
			continue
		}
		if class < 0 || int(class) >= s.classes {
			return fmt.Errorf("%w: node %d has class %d, want less than %d", ErrShape, int(rows.First)+i, class, s.classes)
		}
		use(i, int(class))
	}
	return nil
}

// Dense is the Source of a matrix in memory, row-major [n×width]. It keeps values.
func Dense(values []float32, width int) Source { return dense{values, width} }

type dense struct {
	values []float32
	width  int
}

func (s dense) Width() int { return s.width }

func (s dense) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if need := int(rows.End) * s.width; need > len(s.values) {
		return fmt.Errorf("%w: got %d values of %d columns, want a row for node %d",
			ErrShape, len(s.values), s.width, rows.End-1)
	}
	for v := int(rows.First); v < int(rows.End); v++ {
		dst = dst[copy(dst, s.values[v*s.width+lo:v*s.width+hi]):]
	}
	return nil
}

// SideBySide is the Source [left | right].
func SideBySide(left, right Source) Source { return sideBySide{left, right} }

type sideBySide struct{ left, right Source }

func (s sideBySide) Width() int { return s.left.Width() + s.right.Width() }

func (s sideBySide) Read(rows kv.Range, lo, hi int, dst []float32) error {
	return readParts(partsOf(s), rows, lo, hi, dst, make([]float32, rows.Len()*(hi-lo)))
}

// A sourcePart is a source with the column of another where it begins.
type sourcePart struct {
	Source
	at int
}

// partsOf takes apart a source of SideBySide, ascending.
func partsOf(src Source) []sourcePart {
	pair, ok := src.(sideBySide)
	if !ok {
		return []sourcePart{{src, 0}}
	}
	parts := partsOf(pair.left)
	for _, part := range partsOf(pair.right) {
		parts = append(parts, sourcePart{part.Source, part.at + pair.left.Width()})
	}
	return parts
}

// within cuts the columns lo ≤ j < hi to those of the part, as columns of its own.
func (p sourcePart) within(lo, hi int) (from, to int) {
	return max(0, lo-p.at), max(0, min(p.Width(), hi-p.at))
}

// readParts reads sources side by side, each into part, and copies its columns to dst.
func readParts(parts []sourcePart, rows kv.Range, lo, hi int, dst, part []float32) error {
	for _, p := range parts {
		from, to := p.within(lo, hi)
		if from >= to {
			continue
		}
		if to-from == hi-lo {
			return p.Read(rows, from, to, dst)
		}
		width := to - from
		if err := p.Read(rows, from, to, part[:rows.Len()*width]); err != nil {
			return err
		}
		for r := range rows.Len() {
			copy(dst[r*(hi-lo)+p.at+from-lo:], part[r*width:(r+1)*width])
		}
	}
	return nil
}
