package npy

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Integers is a dense matrix of integers in an .npy file, read at any row.
type Integers struct {
	Path    string // as given to OpenIntegers
	Size    int64  // of the file, in bytes
	NumRows int64

	array
	file *stream.File
}

// OpenIntegers opens an .npy file of integers with two columns, and checks all that can be checked before reading its
// values. A matrix with two rows, but not two columns, is read as its transpose.
func OpenIntegers(ctx context.Context, path string) (*Integers, error) {
	if isZip(path) {
		return nil, fmt.Errorf("%s: is an .npz, want one array of integers: "+
			"numpy.save('edges.npy', numpy.transpose(m.nonzero())) writes the places of a scipy matrix m", path)
	}
	f, size, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	m := &Integers{Path: path, Size: size, array: array{content: f}, file: f}
	m.header, err = readMatrix(f, size)
	switch isMatrix := len(m.shape) == 2; {
	case err != nil:
	case !m.isInteger():
		err = fmt.Errorf("holds values of type %q, want integers", m.descr)
	case isMatrix && m.cols == 2:
	case isMatrix && m.rows == 2:
		// One order of a matrix is the other order of its transpose.
		m.rows, m.cols, m.fortran = m.cols, m.rows, !m.fortran
	default:
		err = fmt.Errorf("has shape %s, want 2 columns, or 2 rows", m.shapeText())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	m.NumRows = m.rows
	return m, nil
}

// Read reads len(dst)/2 rows from a row on into dst [rows×2], with raw as memory for their bytes, which it
// returns. A value above the largest int64 becomes negative: see Unsigned. Several goroutines may read at once.
func (m *Integers) Read(row int64, dst []int64, raw []byte) ([]byte, error) {
	raw, err := read(&m.array, row, int64(len(dst))/2, dst, raw, m.integers)
	if err != nil {
		return raw, fmt.Errorf("%s: row %d %w", m.Path, row, err)
	}
	return raw, nil
}

// Unsigned says whether values are never less than zero, so that a negative int64 stands for one that is 2⁶⁴ larger.
func (m *Integers) Unsigned() bool { return m.kind == 'u' }

// Close releases the file.
func (m *Integers) Close() error { return m.file.Close() }
