package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"slices"
)

// openCSR opens a scipy CSR matrix: row i holds data[k] in column indices[k] for indptr[i] ≤ k < indptr[i+1]. The three
// arrays are streamed side by side.
func (r *Reader) openCSR(members map[string]*zip.File) error {
	if f := members["format"]; f != nil {
		isCSR, err := endsWith(f, "csr")
		if err != nil {
			return r.wrap("format", err)
		}
		if !isCSR {
			return r.errorf("is a sparse matrix in another format than csr: save m.tocsr()")
		}
	}
	if err := r.readShape(members); err != nil {
		return err
	}
	var vectors [3]*vector
	for i, name := range []string{"indptr", "indices", "data"} {
		v, err := r.openVector(members, name)
		if err != nil {
			return err
		}
		if name != "data" && (v.kind == 'f' || v.kind == 'b') {
			return r.wrap(name, errors.New("holds no integers, want integers"))
		}
		vectors[i] = v
	}
	indptr, indices, data := vectors[0], vectors[1], vectors[2]
	if indptr.length != r.rows+1 {
		return r.wrap("indptr", fmt.Errorf("holds %d values, want %d, one more than rows", indptr.length, r.rows+1))
	}
	if indices.length != data.length {
		return r.wrap("indices", fmt.Errorf("holds %d values, want the %d of data", indices.length, data.length))
	}
	r.sparse = true
	c := &csr{reader: r, indptr: indptr, indices: indices, data: data}
	r.next, r.finish = c.next, c.finish
	first, err := indptr.integer()
	if err == nil && first != 0 {
		err = fmt.Errorf("begins with %d, want 0", first)
	}
	if err != nil {
		return r.wrap("indptr", err)
	}
	return nil
}

func (r *Reader) readShape(members map[string]*zip.File) error {
	v, err := r.openVector(members, "shape")
	if err != nil {
		return err
	}
	if v.length != 2 || v.kind == 'f' || v.kind == 'b' {
		return r.wrap("shape", fmt.Errorf("holds %d values, want two integers", v.length))
	}
	var sizes [2]int64
	for i := range sizes {
		if sizes[i], err = v.integer(); err != nil {
			return r.wrap("shape", err)
		}
	}
	if err := r.setShape(sizes[0], sizes[1]); err != nil {
		return r.wrap("shape", err)
	}
	return nil
}

// A csr reads the rows of a CSR matrix.
type csr struct {
	reader                *Reader
	indptr, indices, data *vector
	end                   int64 // indptr of the row last read
	columns               []uint32
	values                []float64
}

func (c *csr) next() (Row, error) {
	r := c.reader
	end, err := c.indptr.integer()
	if err == nil && (end < c.end || end > c.data.length) {
		err = fmt.Errorf("says %d, want a number from %d to %d", end, c.end, c.data.length)
	}
	if err == nil && end-c.end > r.cols {
		err = fmt.Errorf("gives it %d values, want at most one for each of %d columns", end-c.end, r.cols)
	}
	if err != nil {
		return Row{}, r.wrapRow("indptr", r.at, err)
	}
	n := int(end - c.end)
	c.end = end
	c.columns, c.values = slices.Grow(c.columns[:0], n)[:n], slices.Grow(c.values[:0], n)[:n]
	for i := range c.columns {
		column, err := c.indices.integer()
		if err == nil && (column < 0 || column >= r.cols) {
			err = fmt.Errorf("holds column %d, want 0 to %d", column, r.cols-1)
		}
		if err != nil {
			return Row{}, r.wrapRow("indices", r.at, err)
		}
		c.columns[i] = uint32(column)
	}
	if err := c.data.read(c.values); err != nil {
		return Row{}, r.wrapRow("data", r.at, err)
	}
	return Row{Columns: c.columns, Values: c.values}, nil
}

// finish checks that the rows used all values, and the members' checksums.
func (c *csr) finish() error {
	if c.end != c.data.length {
		return c.reader.wrap("indptr", fmt.Errorf("ends with %d, want %d, the length of data", c.end, c.data.length))
	}
	var errs []error
	for _, v := range []*vector{c.indptr, c.indices, c.data} {
		errs = append(errs, c.reader.atEnd(v.in, v.name))
	}
	return errors.Join(errs...)
}
