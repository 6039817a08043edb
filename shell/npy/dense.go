package npy

import (
	"io"
	"slices"
)

const (
	// bufferSize is the size of the buffer of a stream, in bytes.
	bufferSize = 1 << 20
	// blockBytes bounds the rows that are read at once, in bytes; a block is never less than one row.
	blockBytes = 8 << 20
)

// An array is a dense matrix in a file, read at any row.
type array struct {
	header
	content io.ReaderAt
}

// read reads rows of an array, from one on, into dst [rows×cols]. raw is memory for their bytes, which it returns.
func read[T any](a *array, row, rows int64, dst []T, raw []byte, decode func(dst []T, src []byte)) ([]byte, error) {
	size := int64(a.size)
	part := func(values []T, at int64) error {
		raw = slices.Grow(raw[:0], len(values)*a.size)[:len(values)*a.size]
		if _, err := a.content.ReadAt(raw, a.length+at*size); err != nil {
			return readError(err, "its values")
		}
		decode(values, raw)
		return nil
	}
	if !a.fortran {
		return raw, part(dst, row*a.cols)
	}
	column := make([]T, rows)
	for j := range a.cols {
		if err := part(column, j*a.rows+row); err != nil {
			return raw, err
		}
		for i, x := range column {
			dst[int64(i)*a.cols+j] = x
		}
	}
	return raw, nil
}

// openArray opens an .npy array, the whole file of which is size bytes.
func (r *Reader) openArray(content io.ReaderAt, size int64) error {
	h, err := readMatrix(io.NewSectionReader(content, 0, size), size)
	if err == nil {
		err = r.setShape(h.rows, h.cols)
	}
	if err != nil {
		return r.fail("", -1, err)
	}
	a := &array{header: h, content: content}
	perBlock := min(max(blockBytes/(8*max(h.cols, 1)), 1), max(h.rows, 1))
	r.finish = func() error { return nil }
	var raw []byte
	var block []float64 // [perBlock×cols]; the file has been found to hold as many values
	r.next = func() (_ Row, err error) {
		if block == nil {
			block = make([]float64, perBlock*h.cols)
		}
		in := r.at % perBlock
		if in == 0 {
			rows := min(perBlock, h.rows-r.at)
			if raw, err = read(a, r.at, rows, block[:rows*h.cols], raw, h.floats); err != nil {
				return Row{}, r.fail("", r.at, err)
			}
		}
		return Row{Values: block[in*h.cols : (in+1)*h.cols]}, nil
	}
	return nil
}
