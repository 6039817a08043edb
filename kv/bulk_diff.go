package kv

import (
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// A Bulk that writes a tracked column or matrix compares it with the one it replaces, so that only the nodes that differ are
// touched. That costs a read of the old one. It ends when the nodes do not fit into the record of the commit.

// A diff collects the nodes to which a writer of a Bulk gives something else than they had.
type diff struct {
	touched *touched
	most    int // more nodes become all
}

// newDiff begins with no node, or with all if the changes of a name are not tracked.
func newDiff(b *Bulk, t *touched, of func(*tracking) map[string]trackedSet, name string) diff {
	*t = touched{all: true}
	if tracking := b.tx.cat.Tracking; tracking != nil && !b.rewrites {
		_, tracked := of(tracking)[name]
		t.all = !tracked
	}
	return diff{t, b.s.mostTouched()}
}

// look gives up the comparison if it found too many nodes, or if the old values, which an error is of, are damaged.
func (d *diff) look(err error) error {
	if errors.Is(err, ErrCorrupt) {
		*d.touched = touched{all: true}
		return nil
	}
	d.limit()
	return err
}

func (d *diff) limit() {
	if len(d.touched.nodes) > d.most {
		*d.touched = touched{all: true}
	}
}

// touchEdges touches a node whose edges differ.
func (b *Bulk) touchEdges(v NodeID) {
	d := diff{&b.touched.edges, b.s.mostTouched()}
	if !d.touched.all {
		d.touched.add(v)
		d.limit()
	}
}

// A columnDiff compares the values of a column.
type columnDiff struct {
	diff
	old  *ColumnReader
	next NodeID // the first that was not compared
}

func newColumnDiff(b *Bulk, name string, kind Kind) columnDiff {
	d := newDiff(b, b.touched.column(name), func(t *tracking) map[string]trackedSet { return t.Columns }, name)
	if entry, ok := b.tx.cat.Columns[name]; !ok || entry.Kind != kind {
		d.touched.all = true
	}
	return columnDiff{diff: d, old: &ColumnReader{tx: b.tx, name: name, kind: kind}}
}

// put compares the cell of a node, and before it null with the cells of the nodes since the last one.
func (d *columnDiff) put(v NodeID, cell Value) error {
	for ; d.next < v && !d.touched.all; d.next++ {
		if err := d.compare(d.next, Value{}); err != nil {
			return err
		}
	}
	d.next = v + 1
	return d.compare(v, cell)
}

func (d *columnDiff) compare(v NodeID, cell Value) error {
	if d.touched.all {
		return nil
	}
	old, err := Value{}, error(nil)
	if int(v) < d.old.tx.cat.Nodes { // else the Bulk adds it
		if err = d.old.load(v, false); err == nil {
			old = d.old.cell(int(v - d.old.rng.First))
		}
	}
	if err == nil && old != cell {
		d.touched.add(v)
	}
	return d.look(err)
}

// finish compares null with the cells of the other nodes v < n.
func (d *columnDiff) finish(n NodeID) error {
	if d.next >= n {
		return nil
	}
	return d.put(n-1, Value{})
}

// A matrixDiff compares the rows of a matrix.
type matrixDiff struct {
	diff
	old  *Matrix
	rows []float32 // scratch
}

func newMatrixDiff(b *Bulk, name string, columns []string) matrixDiff {
	d := newDiff(b, b.touched.matrix(name), func(t *tracking) map[string]trackedSet { return t.Matrices }, name)
	old, err := b.tx.Matrix(name)
	if err != nil || !slices.Equal(old.columns, columns) {
		d.touched.all = true
	}
	return matrixDiff{diff: d, old: old}
}

// put compares the rows of a block. Those that are not present are NaN.
func (d *matrixDiff) put(first NodeID, block codec.Window, present []bool) error {
	if d.touched.all {
		return nil
	}
	width := d.old.Width()
	d.rows = slices.Grow(d.rows[:0], len(present)*width)[:len(present)*width]
	there := min(len(present), max(0, d.old.tx.cat.Nodes-int(first))) // the Bulk adds the others
	codec.FillWith(d.rows[there*width:], float32(math.NaN()))
	var err error
	if there > 0 {
		err = d.old.Read(Range{First: first, End: first + NodeID(there)}, 0, width, d.rows[:there*width])
	}
	for i := 0; i < len(present) && err == nil; i++ {
		old := d.rows[i*width : (i+1)*width]
		if present[i] && !slices.EqualFunc(old, block.Row(i, 0, width), sameCell) || !present[i] && !isUnwritten(old) {
			d.touched.add(first + NodeID(i))
		}
	}
	return d.look(err)
}

func sameCell(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}
