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
	if int(rows.End) > len(s.labels) {
		return fmt.Errorf("%w: got %d labels, want one for node %d", ErrShape, len(s.labels), rows.End-1)
	}
	width := hi - lo
	clear(dst[:int(rows.End-rows.First)*width])
	for i, class := range s.labels[rows.First:rows.End] {
		if class == kv.NoClass {
			continue
		}
		j := int(class)
		if j < 0 || j >= s.classes {
			return fmt.Errorf("%w: node %d has class %d, want less than %d", ErrShape, int(rows.First)+i, class, s.classes)
		}
		if lo <= j && j < hi {
			dst[i*width+j-lo] = 1
		}
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
