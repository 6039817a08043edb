package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

const (
	// parquetRows is how many rows a chunk holds at most, and parquetValues how many values where a row has fewer.
	parquetRows   = 4096
	parquetValues = 1 << 17
	// parquetShare is the part of the memory that the pages of a file take, as a divisor.
	parquetShare = 4
)

// A parquetReader reads the columns of a flat parquet file side by side.
type parquetReader struct {
	*parquet.File
	path    string
	content io.ReaderAt
	places  [][]place // of each column of each group of rows
	group   int       // the next group of rows
	columns []parquetColumn
	rest    int64        // rows of the group being read
	rows    atomic.Int64 // handed out
	readers int64        // goroutines that have copies of texts at once
	memory  int64        // bytes that pages may take, and as many that the texts of all chunks may
	held    int64        // bytes that pages take

	header, packed, plain []byte // of the page being unpacked
	zstd                  *zstd.Decoder
}

// A parquetColumn is a column of the group being read.
type parquetColumn struct {
	file     *parquetReader
	name     string
	leaf     int        // of the columns of values of a group
	append   appendText // nil if the bytes of a value are its text
	isBytes  bool
	optional bool // values may be null
	pages    parquet.Pages
	page     parquet.Page // nil if there is none
	rest     int64        // values of the page that are still to be read
	values   parquet.ValueReader

	place
	unpacked io.Reader // of the page being handed to the decoder
	offset   int64     // bytes handed to it
	refused  error     // why a page was not, in other words than those of the decoder
	held     [2]int64  // bytes that a page of values and the dictionary take
}

// A parquetChunk is a run of rows of one group.
type parquetChunk struct {
	file   *parquetReader
	values []parquet.Value // [columns×most]
	bytes  []byte          // of the values that are bytes
	most   int             // rows
	rows   int
	at     int    // the next row
	line   int64  // rows of the file before the chunk
	text   []byte // of the fields that are no bytes in the file
	ends   []int  // of the fields of a row in it
	fields [][]byte
}

func (r *file) openParquet(f *os.File) (err error) {
	defer asError(r.path, &err)
	file, places, err := openFooter(f, r.size, r.opt.Memory)
	if err != nil {
		return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole parquet file (%v)", err), Err: err}
	}
	p := &parquetReader{File: file, path: r.path, content: f, places: places, memory: r.opt.Memory / parquetShare}
	for _, column := range file.Root().Columns() {
		asText, ok := textOf(column)
		if !ok || isBinary(column) && !slices.Contains(r.opt.Texts, column.Name()) {
			r.leftOut = append(r.leftOut, column.Name())
			continue
		}
		kind := column.Type().Kind()
		isBytes := kind == parquet.ByteArray || kind == parquet.FixedLenByteArray
		r.header = append(r.header, column.Name())
		p.columns = append(p.columns, parquetColumn{
			file: p, name: column.Name(), leaf: column.Index(), append: asText, isBytes: isBytes, optional: column.Optional(),
		})
	}
	if len(r.header) == 0 {
		return &Error{Path: r.path, Msg: "has no columns of booleans, numbers, strings, dates or times"}
	}
	r.chunks = func() rows {
		p.readers++
		return &parquetChunk{file: p, most: min(max(parquetValues/len(p.columns), 1), parquetRows)}
	}
	r.closes = append(r.closes, p)
	total := max(file.NumRows(), 1)
	r.read = func() int64 { return int64(float64(r.size) * float64(min(p.rows.Load(), total)) / float64(total)) }
	return nil
}

// fill decodes the next rows of the group being read, or of the next one.
func (c *parquetChunk) fill() (err error) {
	p := c.file
	defer asError(p.path, &err)
	c.at, c.rows, c.line, c.text, c.bytes = 0, 0, p.rows.Load(), c.text[:0], c.bytes[:0]
	if p.rest == 0 {
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	if c.values == nil {
		c.values = make([]parquet.Value, len(p.columns)*c.most)
	}
	most := int(min(p.rest, int64(c.most)))
	for c.rows < most && (c.rows == 0 || int64(len(c.bytes)) < p.memory/(1+p.readers)) {
		rows := most - c.rows
		for i := range p.columns { // as many as each has in its page
			err := p.columns[i].nextPage()
			if errors.Is(err, io.EOF) {
				err = errors.New("it ends early")
			}
			if err != nil {
				return damagedFrom(p.path, c.line+int64(c.rows)+1, p.columns[i].name, err)
			}
			rows = int(min(int64(rows), p.columns[i].rest))
		}
		for i := range p.columns {
			values := c.values[i*c.most+c.rows:][:rows]
			if err := p.columns[i].read(values); err != nil {
				return damagedFrom(p.path, c.line+int64(c.rows)+1, p.columns[i].name, err)
			}
			if p.columns[i].isBytes {
				c.copyBytes(values)
			}
		}
		c.rows += rows
	}
	p.rest -= int64(c.rows)
	p.rows.Add(int64(c.rows))
	return nil
}

// copyBytes makes values views of the chunk, where they were those of a page.
func (c *parquetChunk) copyBytes(values []parquet.Value) {
	for i, v := range values {
		if !v.IsNull() {
			begin := len(c.bytes)
			c.bytes = append(c.bytes, v.ByteArray()...)
			values[i] = parquet.ByteArrayValue(c.bytes[begin:])
		}
	}
}

// nextGroup ends the group that has been read and begins the next one that has rows, or returns io.EOF.
func (p *parquetReader) nextGroup() error {
	if err := p.Close(); err != nil {
		return err
	}
	groups := p.RowGroups()
	for p.group < len(groups) && groups[p.group].NumRows() == 0 {
		p.group++
	}
	if p.group == len(groups) {
		if rows := p.rows.Load(); rows != p.NumRows() {
			return &Error{Path: p.path, Msg: fmt.Sprintf("got %d rows, want the %d that its footer counts", rows,
				p.NumRows())}
		}
		return io.EOF
	}
	chunks := groups[p.group].ColumnChunks()
	for i := range p.columns {
		column := &p.columns[i]
		column.place, column.unpacked, column.offset, column.refused = p.places[p.group][column.leaf],
			bytes.NewReader(nil), 0, nil
		column.pages = chunks[column.leaf].(*parquet.FileColumnChunk).PagesFrom(column)
	}
	p.rest = groups[p.group].NumRows()
	p.group++
	return nil
}

// damagedFrom is the error of a damaged page that begins at a row.
func damagedFrom(path string, row int64, column string, err error) error {
	msg := fmt.Sprintf("is a damaged parquet file from here on: %v", err)
	if noRoom, ok := errors.AsType[roomError](err); ok {
		msg = noRoom.Error()
	}
	return &Error{Path: path, Line: row, Column: column, Msg: msg, Err: err}
}

var errPage = errors.New("a page cannot be decoded")

// nextPage sees to it that the column has a page of which values are left; io.EOF if there are no more.
func (c *parquetColumn) nextPage() (err error) {
	for c.rest == 0 {
		c.endPage()
		if c.page, err = c.pages.ReadPage(); err != nil && c.refused != nil {
			return c.refused // the decoder may have put it into other words
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return errPage
		}
		if err != nil {
			return err
		}
		c.values, c.rest = c.page.Values(), c.page.NumValues()
	}
	return nil
}

// read decodes values of the page, which has so many.
func (c *parquetColumn) read(values []parquet.Value) error {
	for len(values) > 0 {
		n, err := c.values.ReadValues(values)
		if n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		values = values[n:]
		c.rest -= int64(n)
		if err != nil && len(values) > 0 {
			return errPage
		}
	}
	return nil
}

// endPage gives the memory of a page back.
func (c *parquetColumn) endPage() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	c.page, c.values, c.rest = nil, nil, 0
}

// next turns the next row into text.
func (c *parquetChunk) next() (Row, error) {
	if c.at == c.rows {
		return Row{}, io.EOF
	}
	c.fields, c.ends = c.fields[:0], c.ends[:0]
	begin, at := len(c.text), c.at
	c.at++
	line := c.line + int64(c.at)
	for i := range c.file.columns {
		column, v := &c.file.columns[i], c.values[i*c.most+at]
		var err error
		switch {
		case v.IsNull():
		case column.append == nil:
			err = checkText(v.ByteArray())
		default:
			c.text, err = column.append(c.text, v)
		}
		if err != nil {
			return Row{}, &Error{Path: c.file.path, Line: line, Column: column.name, Msg: err.Error()}
		}
		c.ends = append(c.ends, len(c.text))
	}
	for i, end := range c.ends { // the text may have moved while it grew
		field := c.text[begin:end]
		if c.file.columns[i].append == nil {
			field = c.values[i*c.most+at].ByteArray()
		}
		c.fields = append(c.fields, field)
		begin = end
	}
	return Row{Line: line, Fields: c.fields}, nil
}

// Close ends the group being read.
func (p *parquetReader) Close() error {
	var err error
	for i := range p.columns {
		if column := &p.columns[i]; column.pages != nil {
			column.endPage()
			err = errors.Join(err, column.pages.Close())
			column.pages = nil
			p.held -= column.held[0] + column.held[1]
			column.held = [2]int64{}
		}
	}
	return err
}

// asError turns a panic of the parquet decoder, which damaged files can cause, into an error of the file.
func asError(path string, err *error) {
	if cause := recover(); cause != nil {
		*err = &Error{Path: path, Msg: "is a damaged parquet file", Err: fmt.Errorf("%v", cause)}
	}
}
