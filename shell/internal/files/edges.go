package files

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// An edgesFile is a file whose rows are edges.
type edgesFile interface {
	// read hands every edge to the writer of the goroutine that reads it, and returns how many there were.
	read(ctx context.Context, writers []edgeTaker, r Job) (edges int64, err error)
	weighted() bool
	offset() int64 // bytes read so far
	parts() table.Parts
	close() error
}

// An edgeTaker takes edges, such as a kv.EdgeWriter. If the file has weights, it takes AddWeighted alone, else Add.
type edgeTaker interface {
	Add(src, dst string, source int64) error
	AddWeighted(src, dst string, weight float32, source int64) error
}

// An integerTaker is an edgeTaker that takes ids that are integers as such.
type integerTaker interface {
	AddIntegers(src, dst uint64, source int64) error
}

// openEdges opens an edges file: a table with the columns src and dst, and weight where edges have one, or an array of
// integers with two columns, or two rows.
func openEdges(ctx context.Context, path string, r Job) (edgesFile, error) {
	if IsArray(path) {
		in, err := npy.OpenIntegers(ctx, path, 2)
		if err != nil {
			return nil, err
		}
		return newEdgesArray(in), nil
	}
	in, err := r.openGraph(ctx, path, r.EdgeColumns.isHeader("src", "dst"))
	if err != nil {
		return nil, err
	}
	columns, err := r.find(in, columnFlag{"--edge-columns", r.EdgeColumns, true}, 2, edgeNames...)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &edgesTable{in: in, src: columns[0], dst: columns[1], weight: columns[2]}, nil
}

// readEdges hands the edges of a file to a loader.
func readEdges(ctx context.Context, in edgesFile, loader *kv.Loader, r Job) (edges, bytesRead int64, err error) {
	writers := make([]*kv.EdgeWriter, r.goroutines())
	takers := make([]edgeTaker, len(writers))
	for worker := range writers {
		writers[worker] = loader.EdgeWriter()
		takers[worker] = writers[worker]
	}
	edges, err = in.read(ctx, takers, r)
	return edges, in.offset(), err
}

// edgesTable is a table of edges.
type edgesTable struct {
	in               *table.Reader
	src, dst, weight int // columns; weight is -1 where there is none
}

func (e *edgesTable) weighted() bool     { return e.weight >= 0 }
func (e *edgesTable) offset() int64      { return e.in.Offset() }
func (e *edgesTable) parts() table.Parts { return e.in.Parts() }
func (e *edgesTable) close() error       { return e.in.Close() }

func (e *edgesTable) read(ctx context.Context, writers []edgeTaker, r Job) (int64, error) {
	var edges atomic.Int64
	read := func(worker int, c *table.Chunk) error {
		w := writers[worker]
		count, err := e.readIntegers(w, c)
		if err != nil {
			return err
		}
		for row, err := range c.Rows() {
			var weight float32
			if err == nil {
				weight, err = e.check(row)
			}
			switch {
			case err == nil && e.weight < 0:
				err = w.Add(view(row.Fields[e.src]), view(row.Fields[e.dst]), row.Line)
				count++
			case err == nil:
				err = w.AddWeighted(view(row.Fields[e.src]), view(row.Fields[e.dst]), weight, row.Line)
				count++
			}
			if err != nil {
				return err
			}
		}
		edges.Add(count)
		return nil
	}
	err := scanRows(ctx, e.in, r, read, nil)
	return edges.Load(), err
}

// readIntegers hands the edges at the beginning of a chunk to w, as far as their ends are integers and they have no
// more. It returns how many there were.
func (e *edgesTable) readIntegers(w edgeTaker, c *table.Chunk) (count int64, err error) {
	to, ok := w.(integerTaker)
	if !ok || e.src > 1 || e.dst > 1 {
		return 0, nil
	}
	var pairs [256]table.IntegerPair
	for n := len(pairs); n == len(pairs); count += int64(n) {
		n = c.IntegerPairs(pairs[:])
		for _, row := range pairs[:n] {
			if err := to.AddIntegers(row.Fields[e.src], row.Fields[e.dst], row.Line); err != nil {
				return 0, err
			}
		}
	}
	return count, nil
}

// check returns the weight of an edge, 1 where there are none, or what is wrong with it.
func (e *edgesTable) check(row table.Row) (weight float32, err error) {
	if len(row.Fields[e.src]) == 0 {
		return 0, e.in.Want(row, e.src, "the id of a node")
	}
	if len(row.Fields[e.dst]) == 0 {
		return 0, e.in.Want(row, e.dst, "the id of a node")
	}
	if e.weight < 0 {
		return 1, nil
	}
	x, ok := parseNumber(row.Fields[e.weight])
	if weight = float32(x); !ok || !(weight > 0 && weight <= math.MaxFloat32) {
		return 0, e.in.Want(row, e.weight, "a weight, a number greater than 0 that 32 bits hold")
	}
	return weight, nil
}

// edgesArray is an array of edges [m×2], or its transpose, whose integers are the ids.
type edgesArray struct {
	in   *npy.Integers
	rest atomic.Int64 // rows that no goroutine has taken
}

func newEdgesArray(in *npy.Integers) *edgesArray {
	e := &edgesArray{in: in}
	e.rest.Store(in.NumRows)
	return e
}

// arrayRows is how many edges of an array a goroutine takes at once.
const arrayRows = 16 << 10

func (e *edgesArray) offset() int64 { return e.in.Size - e.rest.Load()*e.in.RowBytes() }

func (e *edgesArray) weighted() bool { return false }

func (e *edgesArray) parts() table.Parts { return table.Parts{} }

func (e *edgesArray) close() error { return e.in.Close() }

func (e *edgesArray) read(ctx context.Context, writers []edgeTaker, r Job) (int64, error) {
	stage := "read " + filepath.Base(e.in.Path)
	rows := e.in.NumRows
	ids, raw := make([][]int64, len(writers)), make([][]byte, len(writers))
	err := parallel.Do(ctx, len(writers), int((rows+arrayRows-1)/arrayRows),
		func(_ context.Context, worker, i int) (err error) {
			first := int64(i) * arrayRows
			count := min(arrayRows, rows-first)
			e.rest.Add(-count)
			if r.Progress != nil {
				r.Progress(stage, e.offset(), e.in.Size)
			}
			ids[worker] = slices.Grow(ids[worker][:0], 2*arrayRows)[:2*count]
			if raw[worker], err = e.in.Read(first, ids[worker], raw[worker]); err != nil {
				return err
			}
			return e.add(writers[worker], first, ids[worker])
		})
	return rows, err
}

// add hands edges [rows×2] to a writer, the first being that of a row of the array.
func (e *edgesArray) add(w edgeTaker, first int64, ids []int64) error {
	var src, dst [20]byte
	integers, _ := w.(integerTaker)
	for i := 0; i < len(ids); i += 2 {
		if integers != nil && min(ids[i], ids[i+1]) >= 0 {
			if err := integers.AddIntegers(uint64(ids[i]), uint64(ids[i+1]), first+int64(i/2)); err != nil {
				return err
			}
			continue
		}
		if err := w.Add(view(e.text(src[:0], ids[i])), view(e.text(dst[:0], ids[i+1])), first+int64(i/2)); err != nil {
			return err
		}
	}
	return nil
}

// text is an id as a nodes file has it.
func (e *edgesArray) text(dst []byte, id int64) []byte {
	if e.in.Unsigned() {
		return strconv.AppendUint(dst, uint64(id), 10)
	}
	return strconv.AppendInt(dst, id, 10)
}
