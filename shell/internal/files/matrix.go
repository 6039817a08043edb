package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A writing puts files into a store through one bulk write; begin, which begins predictions, may put them elsewhere.
type writing struct {
	Job
	bulk  *kv.Bulk
	tx    *kv.Tx
	begin func(classes []string, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error)
	nodes string // the files of nodes that come along

	classes []string // of the columns of a matrix of predictions; empty: nobody has named them

	// rows goes over the nodes of the rows of an array, and count is their number; nil: those of the store, in the order
	// of the nodes file. Then each of them has a row, in a table too.
	rows  func(fn func(kv.NodeID) error) error
	count int

	partial bool // nodes may be without predictions
	seen    bool // and the run in the same import has seen these nodes
}

// checkEvery is how many rows of an array are read between two looks at the context.
const checkEvery = 4096

// IsArray says whether a file is one of numpy's, by its name.
func IsArray(path string) bool {
	extension := strings.ToLower(filepath.Ext(path))
	return extension == ".npy" || extension == ".npz"
}

// A matrixFile has a row of numbers for every node: a table with a column id, or an array in the order of the nodes
// file.
type matrixFile struct {
	source
	table  *table.Reader // or nil
	id     int           // column of the table
	values []int         // columns of the table that have numbers
	array  *npy.Reader
}

// A source is a table or an array.
type source interface {
	Path() string
	Close() error
}

// openMatrix opens a file of a matrix.
func (w *writing) openMatrix(ctx context.Context, path, name string, stage *ops.Stage) (*matrixFile, error) {
	if IsArray(path) {
		in, err := npy.Open(ctx, path, name)
		if err != nil {
			return nil, err
		}
		stage.Columns, stage.BytesRead = int(in.NumColumns), in.Size
		return &matrixFile{source: in, array: in}, nil
	}
	in, columns, err := w.OpenTable(ctx, path)
	if err != nil {
		return nil, err
	}
	m := &matrixFile{source: in, table: in, id: columns[0]}
	for column, name := range in.Header() {
		if column != m.id && name != "" {
			m.values = append(m.values, column)
		}
	}
	if name == cleaner.FeaturesMatrix {
		err = w.leaveAnswersOut(m)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	stage.Columns, stage.BytesRead = m.columns(), in.Size()
	return m, nil
}

// columns is how many columns the matrix has.
func (m *matrixFile) columns() int {
	if m.table == nil {
		return int(m.array.NumColumns)
	}
	return len(m.values)
}

// isNamed reports whether the header of the file names the columns of the matrix.
func (m *matrixFile) isNamed() bool { return m.table != nil && !m.table.Numbered() }

// names picks from the names of all columns those of the columns that have numbers.
func (m *matrixFile) names(of []string) []string {
	names := make([]string, len(m.values))
	for i, column := range m.values {
		names[i] = of[column]
	}
	return names
}

// errorf is an error of the file as a whole.
func (m *matrixFile) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", m.Path(), fmt.Errorf(format, args...))
}

// each calls fn for every node with its row. A node has one row at most, and every node one unless w.rows or w.partial
// is set; then numbers may be NaN: a cell of a table is empty. A *cleaner.RowError of fn becomes an error of the file.
func (m *matrixFile) each(ctx context.Context, w *writing, fn func(v kv.NodeID, row npy.Row) error) error {
	if m.table == nil {
		return m.eachRow(ctx, w, fn)
	}
	values := make([]float64, 0, m.columns())
	seen, err := eachNamed(ctx, w.tx, m.table, m.id, w.Progress, func(v kv.NodeID, row table.Row) (err error) {
		values = values[:0]
		for _, column := range m.values {
			text := row.Fields[column]
			x, ok := parseNumber(text)
			if !ok && w.partial {
				word, isWord := parseNonFinite(text)
				x, ok = math.NaN(), len(text) == 0 || isWord && math.IsNaN(word)
			}
			if !ok || math.IsInf(float64(float32(x)), 0) {
				want := "a finite number of 32 bits"
				if w.partial {
					want += ", or a row of empty cells for a node without predictions"
				}
				return m.table.Want(row, column, want)
			}
			values = append(values, x)
		}
		err = fn(v, npy.Row{Values: values})
		if bad, ok := errors.AsType[*cleaner.RowError](err); ok {
			return m.table.Errorf(row.Line, "", "node %s: %s", bad.ID, bad.Msg)
		}
		return err
	})
	if err != nil || w.rows != nil || w.partial {
		return err
	}
	return wantAll(w.tx, m.table, seen)
}

// eachRow is each of an array, whose rows are in the order of the nodes file.
func (m *matrixFile) eachRow(ctx context.Context, w *writing, fn func(kv.NodeID, npy.Row) error) error {
	in, each, count, of := m.array, w.rows, w.count, "row of the nodes file"
	if each == nil {
		each, count, of = w.eachNode, w.tx.Shape().Present, "node in the order of the nodes file"
	}
	if in.NumRows != int64(count) {
		return m.errorf("has %d rows, want %d, one for each %s", in.NumRows, count, of)
	}
	at := int64(0)
	err := each(func(v kv.NodeID) error {
		row, err := in.Next()
		if err == nil && at%checkEvery == 0 {
			if err = ctx.Err(); w.Progress != nil {
				w.Progress("rows of "+filepath.Base(in.Path()), at, in.NumRows)
			}
		}
		if err == nil {
			err = fn(v, row)
		}
		if bad, ok := errors.AsType[*cleaner.RowError](err); ok {
			return fmt.Errorf("%s: row %d (node %s): %s", in.Path(), at, bad.ID, bad.Msg)
		}
		at++
		return err
	})
	if err != nil {
		return err
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return err
	}
	return ctx.Err()
}

// eachNode calls fn for the nodes of the store in the order of the nodes file.
func (w *writing) eachNode(fn func(kv.NodeID) error) error {
	for v, err := range w.tx.InFileOrder() {
		if err == nil {
			err = fn(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
