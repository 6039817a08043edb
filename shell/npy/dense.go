package npy

import (
	"bufio"
	"fmt"
	"io"
)

const (
	// bufferSize is what streams are read through, in bytes.
	bufferSize = 1 << 20
	// fortranBlock bounds the block of rows that a matrix in Fortran order is gathered in, in bytes; a block is never
	// less than one row.
	fortranBlock = 8 << 20
)

// openArray opens an .npy array that lies uncompressed in content, the whole of which is size bytes.
func (r *Reader) openArray(content io.ReaderAt, size int64, member string) error {
	section := io.NewSectionReader(content, 0, size)
	h, t, err := r.openHeader(section, size)
	if err != nil {
		return r.wrap(member, err)
	}
	if h.fortran && r.rows > 1 && r.cols > 1 {
		r.next = r.fortranRows(content, h.length, t, member)
		return nil
	}
	r.next = r.streamRows(section, t, member)
	return nil
}

// openHeader reads the header of a dense matrix and holds it against the size of its file or zip member.
func (r *Reader) openHeader(content io.Reader, size int64) (header, dtype, error) {
	h, err := readHeader(content)
	if err != nil {
		return h, dtype{}, err
	}
	t, err := parseType(h.descr)
	if err != nil {
		return h, t, err
	}
	if r.rows, r.cols, err = h.matrixShape(); err != nil {
		return h, t, err
	}
	want := r.rows * r.cols * int64(t.size)
	if got := size - h.length; got != want {
		return h, t, fmt.Errorf("holds %d bytes of values, want %d for its shape %s of %s", got, want, h.shapeText(), h.descr)
	}
	return h, t, nil
}

// streamRows reads rows in C order.
func (r *Reader) streamRows(content io.Reader, t dtype, member string) func() (Row, error) {
	in := bufio.NewReaderSize(content, bufferSize)
	var raw []byte
	var values []float64
	return func() (Row, error) {
		if values == nil {
			// The file has been found to hold rows·cols values, so a row is no larger than what the file holds.
			raw, values = make([]byte, r.cols*int64(t.size)), make([]float64, r.cols)
		}
		if _, err := io.ReadFull(in, raw); err != nil {
			return Row{}, r.wrapRow(member, r.at, readError(err, "its values"))
		}
		t.decode(values, raw)
		return Row{Values: values}, nil
	}
}

// fortranRows gathers rows of a matrix that is stored column by column.
func (r *Reader) fortranRows(content io.ReaderAt, begin int64, t dtype, member string) func() (Row, error) {
	perBlock := min(max(fortranBlock/(8*r.cols), 1), r.rows)
	var raw []byte
	var column, block []float64 // block is [rows×cols]
	return func() (Row, error) {
		if block == nil {
			raw, column = make([]byte, perBlock*int64(t.size)), make([]float64, perBlock)
			block = make([]float64, perBlock*r.cols)
		}
		in := r.at % perBlock
		if in == 0 {
			rows := min(perBlock, r.rows-r.at)
			for j := range r.cols {
				part := raw[:rows*int64(t.size)]
				if _, err := content.ReadAt(part, begin+(j*r.rows+r.at)*int64(t.size)); err != nil {
					return Row{}, r.wrapRow(member, r.at, readError(err, "its values"))
				}
				t.decode(column[:rows], part)
				for i, v := range column[:rows] {
					block[int64(i)*r.cols+j] = v
				}
			}
		}
		return Row{Values: block[in*r.cols : (in+1)*r.cols]}, nil
	}
}

// wrap names the file, and the member, that an error is about.
func (r *Reader) wrap(member string, err error) error { return r.wrapRow(member, -1, err) }

func (r *Reader) wrapRow(member string, row int64, err error) error {
	return &Error{Path: r.path, Member: member, Row: row, Msg: err.Error()}
}
