package table

import (
	"context"
	"errors"
	"io"
)

// An Aligned is a table whose columns lie in several files without headers: the first rows of all files are its first row, and so on.
type Aligned struct {
	Rows    int64  // as many as every file has
	Counted string // the file that says so
	Columns []AlignedColumn
}

// An AlignedColumn is a column of an Aligned.
type AlignedColumn struct {
	Name string
	Path string // of its file; columns of one file are beside each other; empty: there is no file

	// Text appends the value in a row, counted from 0, of which the file has field. Without it the value is the field.
	Text func(dst []byte, row int64, field []byte) []byte
}

// AlignedParts is a table of a name. Once its memory is known, align describes it. The paths are those of its files.
func AlignedParts(name string, paths []string, align func(ctx context.Context, memory int64) (*Aligned, error)) Parts {
	return Parts{name: name, paths: paths, align: align}
}

// OpenHeadless opens a text file without a header, as Open does. If there are no names, its rows may have any number of fields.
func OpenHeadless(ctx context.Context, path string, memory int64, names ...string) (*Reader, error) {
	return Parts{name: path, paths: []string{path}, header: names, headless: true}.open(ctx, 0, memory, chunkBytes)
}

// openAligned opens the files of an Aligned.
func (p Parts) openAligned(ctx context.Context, memory int64) (_ *Reader, err error) {
	of, err := p.align(ctx, memory)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: p.name, parts: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	a := &alignedReader{Aligned: of}
	for first, column := range of.Columns {
		r.header, r.sources = append(r.header, column.Name), append(r.sources, column.Path)
		if column.Path == "" || first > 0 && of.Columns[first-1].Path == column.Path {
			continue
		}
		var names []string
		for _, other := range of.Columns[first:] {
			if other.Path == column.Path {
				names = append(names, other.Name)
			}
		}
		in, err := OpenHeadless(ctx, column.Path, memory, names...)
		if err != nil {
			return nil, err
		}
		r.closes = append(r.closes, in)
		r.size += in.Size()
		a.files = append(a.files, in)
	}
	r.read = func() (sum int64) {
		for _, in := range a.files {
			sum += in.Offset()
		}
		return sum
	}
	r.chunks = func() rows { return &alignedChunk{of: a} }
	return r, r.checkHeader()
}

// An alignedReader reads the files of an Aligned side by side.
type alignedReader struct {
	*Aligned
	files []*Reader // in the order of their columns
	row   int64     // the next
}

// An alignedChunk is a run of rows of an Aligned.
type alignedChunk struct {
	of     *alignedReader
	text   []byte
	ends   []int // of the fields in it
	first  int64 // row
	at     int   // field, the first of the next row
	fields [][]byte
}

// fill reads the next rows of all files.
func (c *alignedChunk) fill() error {
	a := c.of
	c.text, c.ends, c.first, c.at = c.text[:0], c.ends[:0], a.row, 0
	for len(c.text) < chunkBytes && a.row < a.Rows {
		if err := c.readRow(); err != nil {
			return err
		}
		a.row++
	}
	if len(c.ends) > 0 {
		return nil
	}
	for _, in := range a.files {
		if _, err := in.row(); !errors.Is(err, io.EOF) {
			return in.Errorf(0, "", "has more rows than the %d that %s counts", a.Rows, a.Counted)
		}
	}
	return io.EOF
}

// readRow reads the next row of all files.
func (c *alignedChunk) readRow() error {
	a, file := c.of, 0
	var fields [][]byte // of a file, those of the columns to come
	for _, column := range a.Columns {
		var field []byte
		if column.Path != "" {
			if len(fields) == 0 {
				row, err := a.files[file].row()
				if errors.Is(err, io.EOF) {
					return a.files[file].Errorf(0, "", "got %d rows, want the %d that %s counts", a.row, a.Rows, a.Counted)
				}
				if err != nil {
					return err
				}
				fields = row.Fields
				file++
			}
			field, fields = fields[0], fields[1:]
		}
		if column.Text != nil {
			c.text = column.Text(c.text, a.row, field)
		} else {
			c.text = append(c.text, field...)
		}
		c.ends = append(c.ends, len(c.text))
	}
	return nil
}

// next returns the next row of the chunk.
func (c *alignedChunk) next() (Row, error) {
	if c.at == len(c.ends) {
		return Row{}, io.EOF
	}
	begin := 0
	if c.at > 0 {
		begin = c.ends[c.at-1]
	}
	columns := len(c.of.Columns)
	c.fields = c.fields[:0]
	for _, end := range c.ends[c.at : c.at+columns] {
		c.fields = append(c.fields, c.text[begin:end])
		begin = end
	}
	c.at += columns
	return Row{Line: c.first + int64(c.at/columns), Fields: c.fields}, nil
}
