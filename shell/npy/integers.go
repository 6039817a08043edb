package npy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Integers is a dense matrix of integers in an .npy file, read at any row.
type Integers struct {
	path    string
	file    *stream.File
	size    int64
	begin   int64 // of the values
	fortran bool
	dtype   dtype
	rows    int64
	cols    int64
}

// OpenIntegers opens an .npy file of integers with the given number of columns, and checks all that can be checked
// before reading its values. A matrix with that number of rows, but not of columns, is read as its transpose.
func OpenIntegers(ctx context.Context, path string, columns int) (_ *Integers, err error) {
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		return nil, &Error{Path: path, Row: -1, Msg: "is an .npz, want one array of integers: " +
			"numpy.save('edges.npy', numpy.transpose(m.nonzero())) writes the places of a scipy matrix m"}
	}
	f, size, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	m := &Integers{path: path, file: f, size: size}
	h, err := readHeader(f)
	if err != nil {
		return nil, m.errorf(-1, "%v", err)
	}
	if m.dtype, err = parseType(h.descr); err != nil || m.dtype.kind != 'i' && m.dtype.kind != 'u' {
		return nil, m.errorf(-1, "holds values of type %q, want integers", h.descr)
	}
	m.begin, m.fortran = h.length, h.fortran
	switch {
	case len(h.shape) == 2 && h.shape[1] == int64(columns):
		m.rows, m.cols = h.shape[0], h.shape[1]
	case len(h.shape) == 2 && h.shape[0] == int64(columns):
		// One order of a matrix is the other order of its transpose.
		m.rows, m.cols, m.fortran = h.shape[1], h.shape[0], !h.fortran
	default:
		return nil, m.errorf(-1, "has shape %s, want %d columns, or %d rows", h.shapeText(), columns, columns)
	}
	if most := math.MaxInt64 / (8 * m.cols); m.rows > most {
		return nil, m.errorf(-1, "has shape %s, want at most %d rows", h.shapeText(), most)
	}
	want := m.rows * m.cols * int64(m.dtype.size)
	if got := m.size - m.begin; got != want {
		return nil, m.errorf(-1, "holds %d bytes of values, want %d for its shape %s of %s", got, want, h.shapeText(),
			h.descr)
	}
	return m, nil
}

// Path is the file's path as given to OpenIntegers.
func (m *Integers) Path() string { return m.path }

// Size is the size of the file in bytes.
func (m *Integers) Size() int64 { return m.size }

// NumRows is the number of rows.
func (m *Integers) NumRows() int64 { return m.rows }

// RowBytes is the size of a row in bytes.
func (m *Integers) RowBytes() int64 { return m.cols * int64(m.dtype.size) }

// Read reads len(dst)/columns rows from a row on into dst [rows×columns], with raw as memory for their bytes, which it
// returns. A value above the largest int64 becomes negative: see Unsigned. Several goroutines may read at once.
func (m *Integers) Read(row int64, dst []int64, raw []byte) ([]byte, error) {
	size := int64(m.dtype.size)
	rows := int64(len(dst)) / m.cols
	if need := int(rows * m.cols * size); cap(raw) < need {
		raw = make([]byte, need)
	}
	if !m.fortran {
		raw = raw[:rows*m.cols*size]
		if err := m.readAt(raw, row, m.begin+row*m.cols*size); err != nil {
			return raw, err
		}
		for i := range dst {
			dst[i] = m.dtype.integer(raw[int64(i)*size:])
		}
		return raw, nil
	}
	raw = raw[:rows*size]
	for j := range m.cols {
		if err := m.readAt(raw, row, m.begin+(j*m.rows+row)*size); err != nil {
			return raw, err
		}
		for i := range rows {
			dst[i*m.cols+j] = m.dtype.integer(raw[i*size:])
		}
	}
	return raw, nil
}

func (m *Integers) readAt(raw []byte, row, offset int64) error {
	if _, err := m.file.ReadAt(raw, offset); err != nil && (len(raw) > 0 || !errors.Is(err, io.EOF)) {
		return m.errorf(row, "%v", readError(err, "its values"))
	}
	return nil
}

// Unsigned says whether values are never less than zero, so that a negative int64 stands for one that is 2⁶⁴ larger.
func (m *Integers) Unsigned() bool { return m.dtype.kind == 'u' }

// Close releases the file.
func (m *Integers) Close() error { return m.file.Close() }

func (m *Integers) errorf(row int64, format string, args ...any) error {
	return &Error{Path: m.path, Row: row, Msg: fmt.Sprintf(format, args...)}
}
