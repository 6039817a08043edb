package ops

import (
	"context"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// load brings the rows of a turn into memory.
func (p *propagation) load(ctx context.Context, t *turn) error {
	w, rows := kernel.Stride(t.width()), t.rows.Len()
	t.from = kernel.Slab{Values: p.read[:rows*w], First: t.rows.First, Stride: w}
	if t.hop == 1 {
		return p.fill(ctx, t)
	}
	if !p.plan.OnDisk {
		return nil
	}
	return p.eachRows(ctx, t.rows, func(_ int, rows kv.Range) error {
		copy(t.from.Values[int(rows.First-t.rows.First)*w:], p.previous[int(rows.First)*w:int(rows.End)*w])
		return nil
	})
}

// eachRows calls use for the blocks of rows, concurrently for different workers.
func (p *propagation) eachRows(ctx context.Context, rows kv.Range, use func(worker int, rows kv.Range) error) error {
	begin := int(rows.First) / visitRows
	blocks := (int(rows.End)+visitRows-1)/visitRows - begin
	return parallel.Do(ctx, len(p.workers), blocks, func(_ context.Context, worker, i int) error {
		first := kv.NodeID((begin + i) * visitRows)
		return use(worker, blockFrom(max(rows.First, first), rows.End))
	})
}

// blockFrom is the rows from first to end that lie in the block of first: blocks begin at multiples of visitRows, as
// those of kv.Matrix do.
func blockFrom(first, end kv.NodeID) kv.Range {
	return kv.Range{First: first, End: kv.NodeID(min(int(end), (int(first)/visitRows+1)*visitRows))}
}

// labelled returns the part of a tile that is labels, where it is at the end and its marks take less memory than its
// rows.
func (p *propagation) labelled(lo, hi int) (part sourcePart, ok bool) {
	for _, part := range p.parts {
		from, to := part.within(lo, hi)
		if _, ok := part.Source.(oneHot); ok && from < to && part.at+to >= hi {
			const markWords = int(unsafe.Sizeof(kernel.Mark{}) / unsafe.Sizeof(float32(0)))
			return part, kernel.Stride(max(0, part.at-lo))+markWords <= kernel.Stride(hi-lo)
		}
	}
	return sourcePart{}, false
}

// fill writes D^(-1/2)x for columns of the source. A node without neighbours is nobody's neighbour: its row stays zero
// whatever the source holds.
func (p *propagation) fill(ctx context.Context, t *turn) error {
	labels, marked := p.labelled(t.lo, t.hi)
	dense := t.hi
	if marked {
		dense = max(t.lo, labels.at)
		t.from.Stride = kernel.Stride(dense - t.lo)
		rows := t.rows.Len()
		t.marks = unsafe.Slice((*kernel.Mark)(unsafe.Pointer(&t.from.Values[rows*t.from.Stride])), rows)
		t.from.Values = t.from.Values[:rows*t.from.Stride]
	}
	return p.eachRows(ctx, t.rows, func(worker int, rows kv.Range) error {
		if dense > t.lo {
			if err := p.fillRows(&p.workers[worker], t, rows, dense); err != nil {
				return err
			}
		}
		if marked {
			return p.fillMarks(labels, t, rows)
		}
		return nil
	})
}

func (p *propagation) fillRows(s *rowScratch, t *turn, rows kv.Range, dense int) error {
	w, hi, values := t.from.Stride, dense, s.input
	if t.inputs != nil {
		hi, values = t.hi, t.inputs[int(rows.First)*t.width():]
	}
	width := hi - t.lo
	if err := readParts(p.parts, rows, t.lo, hi, values[:rows.Len()*width], s.part); err != nil {
		return err
	}
	for v := rows.First; v < rows.End; v++ {
		row := t.from.Values[int(v-t.rows.First)*w:][:w]
		scaleRow(row, values[int(v-rows.First)*width:][:dense-t.lo], p.scaleOf(v))
	}
	return nil
}

// scaleRow makes row the entries of x times scale, and zeros after them. If scale is zero, all are, whatever x holds.
func scaleRow(row, x []float32, scale float64) {
	clear(row)
	if scale == 0 {
		return
	}
	for j, x := range x {
		row[j] = float32(scale * float64(x))
	}
}

func (p *propagation) fillMarks(labels sourcePart, t *turn, rows kv.Range) error {
	none := kernel.Mark{Column: uint32(kernel.Stride(t.width()))}
	marks := t.marks[rows.First-t.rows.First:][:rows.Len()]
	for i := range marks {
		marks[i] = none
	}
	return labels.Source.(oneHot).each(rows, func(i, class int) {
		if j := labels.at + class - t.lo; 0 <= j && j < t.width() {
			marks[i] = kernel.Mark{Column: uint32(j), Scale: float32(p.scaleOf(rows.First + kv.NodeID(i)))}
		}
	})
}
