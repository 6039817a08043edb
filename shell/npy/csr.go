package npy

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// openCSR opens a scipy CSR matrix: row i holds data[k] in column indices[k] for indptr[i] ≤ k < indptr[i+1]. The three
// arrays are streamed side by side.
func (r *Reader) openCSR(members map[string]*zip.File) error {
	if f := members["format"]; f != nil {
		format, err := readFormat(f)
		if err != nil {
			return r.wrap("format", err)
		}
		if format != "csr" {
			return r.errorf("is a sparse matrix in format %q, want csr (save m.tocsr())", format)
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
		if name != "data" && (v.t.kind == 'f' || v.t.kind == 'b') {
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
	if v.length != 2 || v.t.kind == 'f' || v.t.kind == 'b' {
		return r.wrap("shape", fmt.Errorf("holds %d values, want two integers", v.length))
	}
	var sizes [2]int64
	for i := range sizes {
		if sizes[i], err = v.integer(); err != nil {
			return r.wrap("shape", err)
		}
	}
	r.rows, r.cols = sizes[0], sizes[1]
	if r.rows < 0 || r.cols < 0 || r.rows > math.MaxUint32 || r.cols > maxColumns {
		return r.wrap("shape", fmt.Errorf("says [%d×%d], want at most [%d×%d]", r.rows, r.cols, int64(math.MaxUint32),
			maxColumns))
	}
	return nil
}

// A csr reads the rows of a CSR matrix.
type csr struct {
	reader                *Reader
	indptr, indices, data *vector
	end                   int64 // indptr of the row last read
	entries               []entry
	columns               []uint32
	values                []float64
}

type entry struct {
	column uint32
	value  float64
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
	ascending := true
	for i := range c.columns {
		column, err := c.indices.integer()
		if err == nil && (column < 0 || column >= r.cols) {
			err = fmt.Errorf("holds column %d, want 0 to %d", column, r.cols-1)
		}
		if err != nil {
			return Row{}, r.wrapRow("indices", r.at, err)
		}
		c.columns[i] = uint32(column)
		ascending = ascending && (i == 0 || c.columns[i-1] < c.columns[i])
	}
	if err := c.data.floats(c.values); err != nil {
		return Row{}, r.wrapRow("data", r.at, err)
	}
	if !ascending {
		if err := c.sort(); err != nil {
			return Row{}, err
		}
	}
	return Row{Columns: c.columns, Values: c.values}, nil
}

// sort brings the row into ascending columns, which scipy does not promise.
func (c *csr) sort() error {
	c.entries = c.entries[:0]
	for i, column := range c.columns {
		c.entries = append(c.entries, entry{column, c.values[i]})
	}
	slices.SortFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.column, b.column) })
	for i, e := range c.entries {
		if i > 0 && c.entries[i-1].column == e.column {
			return c.reader.wrapRow("indices", c.reader.at, fmt.Errorf("holds column %d twice (save after m.sum_duplicates())",
				e.column))
		}
		c.columns[i], c.values[i] = e.column, e.value
	}
	return nil
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
