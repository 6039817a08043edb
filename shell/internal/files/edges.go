package files

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// An edgesFile is a file whose rows are edges: a table, or an array [m×2], or its transpose, whose integers are the
// ids.
type edgesFile struct {
	table            *table.Reader // or nil
	src, dst, weight int           // columns of the table; weight is -1 where there is none

	array *npy.Integers
}

// An edgeTaker takes edges.
type edgeTaker struct {
	add func(src, dst string, weight float32, source int64) error // a weight of 1 where the file has none
	// without a weight, by ids that are integers; or nil
	integers func(src, dst uint64, source int64) error
}

// openEdges opens an edges file, nil if the path is empty: a table with the columns src and dst, and weight where edges
// have one, or an array of integers with two columns, or two rows.
func openEdges(ctx context.Context, path string, r Job) (e *edgesFile, err error) {
	if path == "" {
		return nil, nil
	}
	e = &edgesFile{weight: -1}
	if IsArray(path) {
		if e.array, err = npy.OpenIntegers(ctx, path); err != nil {
			return nil, err
		}
		return e, nil
	}
	in, columns, err := r.openTable(ctx, path, columnFlag{"--edge-columns", r.EdgeColumns, true}, 2, edgeNames...)
	if err != nil {
		return nil, err
	}
	e.table = in
	e.src, e.dst, e.weight = columns[0], columns[1], columns[2]
	return e, nil
}

// weighted says whether the edges have weights.
func (e *edgesFile) weighted() bool { return e.weight >= 0 }

// offset is how many bytes have been read, once all edges have.
func (e *edgesFile) offset() int64 {
	if e.table != nil {
		return e.table.Offset()
	}
	return e.array.Size
}

func (e *edgesFile) close() error {
	if e.table != nil {
		return e.table.Close()
	}
	return e.array.Close()
}

// read hands every edge to the taker of the goroutine that reads it, and returns how many there were.
func (e *edgesFile) read(ctx context.Context, takers []edgeTaker, r Job) (int64, error) {
	if e.table == nil {
		return e.readArray(ctx, takers, r)
	}
	var edges atomic.Int64
	read := func(worker int, c *table.Chunk) error {
		w := takers[worker]
		count, err := e.readIntegers(w, c)
		if err != nil {
			return err
		}
		for row, err := range c.Rows() {
			var weight float32
			if err == nil {
				weight, err = e.check(row)
			}
			if err == nil {
				err = w.add(view(row.Fields[e.src]), view(row.Fields[e.dst]), weight, row.Line)
			}
			if err != nil {
				return err
			}
			count++
		}
		edges.Add(count)
		return nil
	}
	err := scanRows(ctx, e.table, len(takers), r.Progress, read, nil)
	return edges.Load(), err
}

// readIntegers hands the edges at the beginning of a chunk to w, as far as their ends are integers and they have no
// more. It returns how many there were.
func (e *edgesFile) readIntegers(w edgeTaker, c *table.Chunk) (count int64, err error) {
	if w.integers == nil || e.src > 1 || e.dst > 1 {
		return 0, nil
	}
	var pairs [256]table.IntegerPair
	for n := len(pairs); n == len(pairs); count += int64(n) {
		n = c.IntegerPairs(pairs[:])
		for _, row := range pairs[:n] {
			if err := w.integers(row.Fields[e.src], row.Fields[e.dst], row.Line); err != nil {
				return 0, err
			}
		}
	}
	return count, nil
}

// check returns the weight of an edge, 1 where there are none, or what is wrong with it.
func (e *edgesFile) check(row table.Row) (weight float32, err error) {
	if len(row.Fields[e.src]) == 0 {
		return 0, e.table.Want(row, e.src, "the id of a node")
	}
	if len(row.Fields[e.dst]) == 0 {
		return 0, e.table.Want(row, e.dst, "the id of a node")
	}
	if e.weight < 0 {
		return 1, nil
	}
	x, ok := parseNumber(row.Fields[e.weight])
	if weight = float32(x); !ok || !(weight > 0 && weight <= math.MaxFloat32) {
		return 0, e.table.Want(row, e.weight, "a weight, a number greater than 0 that 32 bits hold")
	}
	return weight, nil
}

// arrayRows is how many edges of an array a goroutine takes at once.
const arrayRows = 16 << 10

// readArray is read of an array.
func (e *edgesFile) readArray(ctx context.Context, takers []edgeTaker, r Job) (int64, error) {
	stage := "rows of " + filepath.Base(e.array.Path)
	rows, taken := e.array.NumRows, atomic.Int64{}
	ids, raw := make([][]int64, len(takers)), make([][]byte, len(takers))
	err := parallel.Do(ctx, len(takers), int((rows+arrayRows-1)/arrayRows),
		func(_ context.Context, worker, i int) (err error) {
			first := int64(i) * arrayRows
			count := min(arrayRows, rows-first)
			if r.Progress != nil {
				r.Progress(stage, taken.Add(count), rows)
			}
			ids[worker] = slices.Grow(ids[worker][:0], 2*arrayRows)[:2*count]
			if raw[worker], err = e.array.Read(first, ids[worker], raw[worker]); err != nil {
				return err
			}
			return e.add(takers[worker], first, ids[worker])
		})
	return rows, err
}

// add hands edges [rows×2] to a writer, the first being that of a row of the array.
func (e *edgesFile) add(w edgeTaker, first int64, ids []int64) error {
	var src, dst [20]byte
	for i := 0; i < len(ids); i += 2 {
		if w.integers != nil && min(ids[i], ids[i+1]) >= 0 {
			if err := w.integers(uint64(ids[i]), uint64(ids[i+1]), first+int64(i/2)); err != nil {
				return err
			}
			continue
		}
		if err := w.add(view(e.text(src[:0], ids[i])), view(e.text(dst[:0], ids[i+1])), 1, first+int64(i/2)); err != nil {
			return err
		}
	}
	return nil
}

// text is an id as a nodes file has it.
func (e *edgesFile) text(dst []byte, id int64) []byte {
	if e.array.Unsigned() {
		return strconv.AppendUint(dst, uint64(id), 10)
	}
	return strconv.AppendInt(dst, id, 10)
}
