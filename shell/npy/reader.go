package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Extensions says, for messages and help, which files Open reads.
const Extensions = ".npy or .npz"

// An Error is what is wrong with the content of a file.
type Error struct {
	Path   string
	Member string // of an .npz; else empty
	Row    int64  // 0-based; < 0: the file as a whole
	Msg    string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	b.WriteString(": ")
	if e.Member != "" {
		fmt.Fprintf(&b, "array %q ", e.Member)
	}
	if e.Row >= 0 {
		fmt.Fprintf(&b, "row %d ", e.Row)
	}
	b.WriteString(e.Msg)
	return b.String()
}

// A Row is one row of a matrix, borrowed until the next step of Reader.Rows.
type Row struct {
	Index int64 // 0-based
	// Columns holds the columns that Values belong to if the matrix is sparse, in any order. The values of a column
	// that is there several times add up, as scipy has it; the others are zero. It is nil if Values holds the whole
	// row.
	Columns []uint32
	Values  []float64
}

// A Reader reads the rows of one matrix from first to last.
type Reader struct {
	path   string
	size   int64 // of the file in bytes
	rows   int64
	cols   int64
	sparse bool
	at     int64 // rows handed out
	next   func() (Row, error)
	finish func() error // called once behind the last row
	closes []io.Closer
}

// Open opens an .npy or .npz file and checks all that can be checked before reading its values. Of an .npz with several
// arrays that are not a CSR matrix it takes the one of the given name.
func Open(ctx context.Context, path, name string) (*Reader, error) {
	extension := strings.ToLower(filepath.Ext(path))
	if extension != ".npy" && extension != ".npz" {
		return nil, &Error{Path: path, Row: -1, Msg: fmt.Sprintf("has a name that ends in %q, want one that ends in %s",
			extension, Extensions)}
	}
	f, size, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, size: size, closes: []io.Closer{f}}
	if extension == ".npy" {
		err = r.openArray(f, size)
	} else {
		err = r.openZip(f, size, name)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openFile opens a file and returns its size in bytes, which nothing else has: a pipe is refused before it is waited
// for.
func openFile(ctx context.Context, path string) (*stream.File, int64, error) {
	info, err := stream.Stat(ctx, path)
	switch {
	case err != nil: // the open says it
	case info.IsDir():
		return nil, 0, &Error{Path: path, Row: -1, Msg: "is a directory, want a file"}
	case !info.Mode().IsRegular():
		return nil, 0, &Error{Path: path, Row: -1, Msg: "is a pipe or a device, want a file"}
	}
	f, err := stream.Open(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Path is the file's path as given to Open.
func (r *Reader) Path() string { return r.path }

// Size is the size of the file in bytes, as it lies on disk.
func (r *Reader) Size() int64 { return r.size }

// NumRows is the number of rows.
func (r *Reader) NumRows() int64 { return r.rows }

// NumColumns is the number of columns.
func (r *Reader) NumColumns() int64 { return r.cols }

// Sparse says whether rows come with their Columns.
func (r *Reader) Sparse() bool { return r.sparse }

// Rows yields the rows from where the last call stopped. On failure it yields the error, once, and stops.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for r.at < r.rows {
			row, err := r.next()
			row.Index = r.at
			r.at++
			if !yield(row, err) || err != nil {
				return
			}
		}
		if r.finish == nil {
			return
		}
		err := r.finish()
		r.finish = nil
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// Close releases the file.
func (r *Reader) Close() error {
	var err error
	for i := len(r.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closes[i].Close())
	}
	r.closes = nil
	return err
}

// setShape takes the shape of the matrix. Its bounds keep the memory that a row takes small.
func (r *Reader) setShape(rows, cols int64) error {
	r.rows, r.cols = rows, cols
	if rows < 0 || cols < 0 || rows > math.MaxUint32 || cols > maxColumns {
		return fmt.Errorf("has shape [%d×%d], want at most [%d×%d]", rows, cols, int64(math.MaxUint32), maxColumns)
	}
	return nil
}

func (r *Reader) errorf(format string, args ...any) error {
	return &Error{Path: r.path, Row: -1, Msg: fmt.Sprintf(format, args...)}
}
