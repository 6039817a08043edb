package npy

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// A csr reads the rows of a scipy CSR matrix: row i holds data[k] in column indices[k] for indptr[i] ≤ k < indptr[i+1].
// The three arrays are streamed side by side.
type csr struct {
	reader                *Reader
	indptr, indices, data *vector
	end                   int64     // indptr of the row last read
	values                []float64 // of a row, without zeros
	row                   Row
}

// openCSR opens the arrays of a CSR matrix.
func (r *Reader) openCSR(members map[string]*zip.File) error {
	if f := members["format"]; f != nil {
		in, err := r.stream(f, "format")
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(in, bufferSize))
		if err != nil {
			return r.fail("format", -1, readError(err, "its values"))
		}
		if !bytes.HasSuffix(bytes.ReplaceAll(text, []byte{0}, nil), []byte("csr")) { // numpy has zeros between letters
			return r.errorf("is a sparse matrix in another format than csr: save m.tocsr()")
		}
	}
	c := &csr{reader: r}
	var shape *vector
	for _, part := range []struct {
		name string
		to   **vector
	}{{"shape", &shape}, {"indptr", &c.indptr}, {"indices", &c.indices}, {"data", &c.data}} {
		f := members[part.name]
		if f == nil {
			return r.errorf("has indptr but not %q, want the data, indices, indptr and shape of a scipy CSR matrix", part.name)
		}
		v, err := r.openVector(f, part.name)
		if err != nil {
			return err
		}
		if len(v.shape) != 1 {
			return r.fail(part.name, -1, fmt.Errorf("has shape %s, want one dimension", v.shapeText()))
		}
		if part.name != "data" && !v.isInteger() {
			return r.fail(part.name, -1, errors.New("holds no integers, want integers"))
		}
		*part.to = v
	}
	if shape.rows != 2 {
		return r.fail("shape", -1, fmt.Errorf("holds %d values, want two integers", shape.rows))
	}
	rows, err := shape.integer()
	if err == nil {
		var columns int64
		columns, err = shape.integer()
		err = errors.Join(err, r.setShape(rows, columns))
	}
	if err != nil {
		return r.fail("shape", -1, err)
	}
	if c.indptr.rows != r.NumRows+1 {
		return r.fail("indptr", -1, fmt.Errorf("holds %d values, want %d, one more than rows", c.indptr.rows, r.NumRows+1))
	}
	if c.indices.rows != c.data.rows {
		return r.fail("indices", -1, fmt.Errorf("holds %d values, want the %d of data", c.indices.rows, c.data.rows))
	}
	r.next, r.finish = c.next, c.finish
	first, err := c.indptr.integer()
	if err == nil && first != 0 {
		err = fmt.Errorf("begins with %d, want 0", first)
	}
	if err != nil {
		return r.fail("indptr", -1, err)
	}
	return nil
}

// next reads the next row. The values of a column that is there several times add up, as scipy has it.
func (c *csr) next() (Row, error) {
	r := c.reader
	end, err := c.indptr.integer()
	if err == nil && (end < c.end || end > c.data.rows) {
		err = fmt.Errorf("says %d, want a number from %d to %d", end, c.end, c.data.rows)
	}
	if err == nil && end-c.end > r.NumColumns {
		err = fmt.Errorf("gives it %d values, want at most one for each of %d columns", end-c.end, r.NumColumns)
	}
	if err != nil {
		return Row{}, r.fail("indptr", r.at, err)
	}
	n := int(end - c.end)
	c.end = end
	if c.values = slices.Grow(c.values[:0], n)[:n]; c.row.Values == nil {
		c.row = Row{make([]float64, r.NumColumns), []uint32{}}
	}
	if err := c.data.read(c.values); err != nil {
		return Row{}, r.fail("data", r.at, err)
	}
	for _, column := range c.row.Columns {
		c.row.Values[column] = 0
	}
	c.row.Columns = c.row.Columns[:0]
	for _, value := range c.values {
		column, err := c.indices.integer()
		if err == nil && (column < 0 || column >= r.NumColumns) {
			err = fmt.Errorf("holds column %d, want 0 to %d", column, r.NumColumns-1)
		}
		if err != nil {
			return Row{}, r.fail("indices", r.at, err)
		}
		c.row.Values[column] += value
		c.row.Columns = append(c.row.Columns, uint32(column))
	}
	return c.row, nil
}

// finish checks that the rows used all values, and the members' checksums.
func (c *csr) finish() error {
	if c.end != c.data.rows {
		return c.reader.fail("indptr", -1, fmt.Errorf("ends with %d, want %d, the length of data", c.end, c.data.rows))
	}
	var errs []error
	for _, v := range []*vector{c.indptr, c.indices, c.data} {
		errs = append(errs, c.reader.atEnd(v.in, v.name))
	}
	return errors.Join(errs...)
}

// A vector streams the values of a member.
type vector struct {
	header
	name string
	in   *bufio.Reader
	raw  []byte
}

// openVector opens a member, its shape held against its size.
func (r *Reader) openVector(f *zip.File, name string) (*vector, error) {
	in, err := r.stream(f, name)
	if err != nil {
		return nil, err
	}
	h, err := readMatrix(in, int64(f.UncompressedSize64))
	if err != nil {
		return nil, r.fail(name, -1, err)
	}
	return &vector{header: h, name: name, in: in}, nil
}

// read reads the next len(dst) values.
func (v *vector) read(dst []float64) error {
	v.raw = slices.Grow(v.raw[:0], len(dst)*v.size)[:len(dst)*v.size]
	if _, err := io.ReadFull(v.in, v.raw); err != nil {
		return readError(err, "its values")
	}
	v.floats(dst, v.raw)
	return nil
}

// integer reads the next value of a vector of integers.
func (v *vector) integer() (int64, error) {
	var raw [8]byte
	if _, err := io.ReadFull(v.in, raw[:v.size]); err != nil {
		return 0, readError(err, "its values")
	}
	return v.dtype.integer(raw[:]), nil
}
