package npy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A Row is one row of a matrix.
type Row struct {
	Values  []float64 // [NumColumns]
	Columns []uint32  // of a sparse row: those that may be other than zero, some repeated; else nil
}

// A Reader reads the rows of one matrix from first to last.
type Reader struct {
	Size                int64 // of the file, in bytes
	NumRows, NumColumns int64

	path   string
	at     int64 // rows handed out
	next   func() (Row, error)
	finish func() error // after the last row
	file   *stream.File
}

// Open opens an .npz file, by its name, or else an .npy file, and checks all that can be checked before reading its
// values. Of an .npz with several arrays that are not a CSR matrix it takes the one of the given name.
func Open(ctx context.Context, path, name string) (*Reader, error) {
	f, size, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, Size: size, file: f}
	if isZip(path) {
		err = r.openZip(f, size, name)
	} else {
		err = r.openArray(f, size)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func isZip(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// openFile opens a file and returns its size in bytes, which nothing else has: a pipe is refused before it is waited
// for.
func openFile(ctx context.Context, path string) (*stream.File, int64, error) {
	info, err := stream.Stat(ctx, path)
	switch {
	case err != nil: // the open says it
	case info.IsDir():
		return nil, 0, fmt.Errorf("%s: is a directory, want a file", path)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s: is a pipe or a device, want a file", path)
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

// Next returns the next row, which is borrowed until the one after. Behind the last row it returns io.EOF, or what is
// wrong with the end of the file.
func (r *Reader) Next() (row Row, err error) {
	if r.at == r.NumRows {
		return row, cmp.Or(r.finish(), io.EOF)
	}
	row, err = r.next()
	r.at++
	return row, err
}

// Path is the path as given to Open.
func (r *Reader) Path() string { return r.path }

// Close releases the file.
func (r *Reader) Close() error { return r.file.Close() }

// setShape takes the shape of the matrix. Its bounds keep the memory that a row takes small.
func (r *Reader) setShape(rows, cols int64) error {
	r.NumRows, r.NumColumns = rows, cols
	if rows < 0 || cols < 0 || rows > math.MaxUint32 || cols > maxColumns {
		return fmt.Errorf("has shape [%d×%d], want at most [%d×%d]", rows, cols, int64(math.MaxUint32), maxColumns)
	}
	return nil
}

// fail is an error of a row of a member; of a file without members "", of no row -1.
func (r *Reader) fail(member string, row int64, err error) error {
	place := r.path + ": "
	if member != "" {
		place += fmt.Sprintf("array %q ", member)
	}
	if row >= 0 {
		place += fmt.Sprintf("row %d ", row)
	}
	return fmt.Errorf("%s%w", place, err)
}

func (r *Reader) errorf(format string, args ...any) error {
	return r.fail("", -1, fmt.Errorf(format, args...))
}
