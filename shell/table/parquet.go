package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRows is how many rows a chunk holds.
const parquetRows = 4096

// A parquetReader reads the columns of a flat parquet file side by side.
type parquetReader struct {
	path    string
	groups  []parquet.RowGroup // still to be read
	columns []parquetColumn
	left    int64        // rows of the group being read
	rows    atomic.Int64 // handed out
	promise int64        // rows that the footer counts
}

// A parquetColumn is a column of the group being read.
type parquetColumn struct {
	name   string
	append func(dst []byte, v parquet.Value) []byte // the value as text; nil where its bytes are
	pages  parquet.Pages
	page   parquet.Page // nil where there is none
	values parquet.ValueReader
}

// A parquetChunk is a run of rows of one group.
type parquetChunk struct {
	file   *parquetReader
	values []parquet.Value // [columns×parquetRows]
	rows   int
	at     int    // the next row
	line   int64  // rows of the file before the chunk
	text   []byte // of the fields that are no bytes in the file
	ends   []int  // of the fields of a row in it
	fields [][]byte
}

func (r *Reader) openParquet(f *os.File) (err error) {
	defer asError(r.path, &err)
	if err := checkFooter(f, r.size); err != nil {
		return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole parquet file (%v)", err)}
	}
	file, err := parquet.OpenFile(f, r.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return &Error{Path: r.path, Msg: "is not a whole parquet file (its footer cannot be decoded)", Err: err}
	}
	p := &parquetReader{path: r.path, promise: file.NumRows()}
	for _, group := range file.RowGroups() {
		// A group without rows has no pages, and its columns may begin nowhere.
		if group.NumRows() > 0 {
			p.groups = append(p.groups, group)
		}
	}
	for _, column := range file.Root().Columns() {
		appendText, ok := textOf(column)
		if !ok {
			return &Error{Path: r.path, Column: column.Name(),
				Msg: "got a nested or unusual type, want booleans, integers, floats, strings, dates or timestamps"}
		}
		r.header = append(r.header, column.Name())
		p.columns = append(p.columns, parquetColumn{name: column.Name(), append: appendText})
	}
	if len(r.header) == 0 {
		return &Error{Path: r.path, Msg: "has no columns"}
	}
	r.chunks = func() rows { return &parquetChunk{file: p} }
	r.closes = append(r.closes, p)
	total := max(p.promise, 1)
	r.read = func() int64 { return int64(float64(r.size) * float64(min(p.rows.Load(), total)) / float64(total)) }
	return nil
}

// checkFooter holds the length that the file's end gives against the file, before anything of that length is allocated.
func checkFooter(f *os.File, size int64) error {
	const ends = 12 // "PAR1" at both ends and the length of the footer
	if size < ends {
		return errors.New("it ends early")
	}
	var tail [8]byte
	if _, err := f.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return errors.New("it ends early: no PAR1 at its end")
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:4])); n > size-ends {
		return fmt.Errorf("its footer claims %d bytes of a file of %d", n, size)
	}
	return nil
}

// textOf returns how a column's values read as text, nil where they are text; false where they cannot be read.
func textOf(column *parquet.Column) (appendText func([]byte, parquet.Value) []byte, ok bool) {
	if !column.Leaf() || column.Repeated() {
		return nil, false
	}
	var logical format.LogicalTypeValue
	if t := column.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch t := logical.(type) {
	case *format.DecimalType, *format.TimeType, *format.UUIDType, *format.Float16Type:
		return nil, false
	case *format.DateType:
		return func(dst []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().AppendFormat(dst, time.DateOnly)
		}, true
	case *format.TimestampType:
		if t.Unit.Value == nil {
			return nil, false
		}
		unit := t.Unit.Value.Duration()
		perSecond := int64(time.Second / unit)
		return func(dst []byte, v parquet.Value) []byte {
			seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
			return time.Unix(seconds, rest*int64(unit)).UTC().AppendFormat(dst, time.RFC3339Nano)
		}, true
	case *format.IntType:
		if !t.IsSigned {
			if column.Type().Kind() == parquet.Int32 {
				return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, uint64(v.Uint32()), 10) }, true
			}
			return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, v.Uint64(), 10) }, true
		}
	}
	switch column.Type().Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }, true
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, int64(v.Int32()), 10) }, true
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) }, true
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte {
			return strconv.AppendFloat(dst, float64(v.Float()), 'g', -1, 32)
		}, true
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendFloat(dst, v.Double(), 'g', -1, 64) }, true
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return nil, true
	}
	return nil, false
}

// fill decodes the next rows of the group being read, or of the next one.
func (c *parquetChunk) fill() (err error) {
	p := c.file
	defer asError(p.path, &err)
	c.at, c.rows, c.line, c.text = 0, 0, p.rows.Load(), c.text[:0]
	if p.left == 0 {
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	if c.values == nil {
		c.values = make([]parquet.Value, len(p.columns)*parquetRows)
	}
	rows := int(min(p.left, parquetRows))
	for i := range p.columns {
		column := &p.columns[i]
		n, err := column.read(c.values[i*parquetRows:][:rows])
		if errors.Is(err, io.EOF) {
			return &Error{Path: p.path, Line: c.line + int64(n) + 1, Column: column.name,
				Msg: "is a damaged column: it ends early"}
		}
		if err != nil {
			return damagedFrom(p.path, c.line+int64(n)+1, err)
		}
	}
	c.rows = rows
	p.left -= int64(rows)
	p.rows.Add(int64(rows))
	return nil
}

// nextGroup ends the group that has been read and begins the next one, or returns io.EOF.
func (p *parquetReader) nextGroup() error {
	rows := p.rows.Load()
	for i := range p.columns {
		column := &p.columns[i]
		if column.pages == nil {
			continue
		}
		var more [1]parquet.Value
		n, err := column.read(more[:])
		if n > 0 {
			return &Error{Path: p.path, Line: rows + 1, Column: column.name,
				Msg: "is a damaged column: it has more rows than the footer counts"}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return damagedFrom(p.path, rows+1, err)
		}
	}
	if err := p.Close(); err != nil {
		return err
	}
	if len(p.groups) == 0 {
		if rows != p.promise {
			return &Error{Path: p.path, Msg: fmt.Sprintf("got %d rows, want the %d that its footer counts", rows, p.promise)}
		}
		return io.EOF
	}
	group := p.groups[0]
	p.groups = p.groups[1:]
	chunks := group.ColumnChunks()
	if len(chunks) != len(p.columns) {
		return &Error{Path: p.path, Line: rows + 1, Msg: fmt.Sprintf(
			"is a damaged parquet file: got %d columns in a group of rows, want %d", len(chunks), len(p.columns))}
	}
	for i, chunk := range chunks {
		p.columns[i].pages = chunk.Pages()
	}
	p.left = group.NumRows()
	return nil
}

func damagedFrom(path string, row int64, err error) error {
	return &Error{Path: path, Line: row, Err: err, Msg: "is a damaged parquet file: from here on it cannot be decoded"}
}

// read decodes values. Where the column ends it returns how many it had, and io.EOF.
func (c *parquetColumn) read(values []parquet.Value) (n int, err error) {
	for n < len(values) {
		if c.page == nil {
			if c.page, err = c.pages.ReadPage(); err != nil {
				return n, err
			}
			c.values = c.page.Values()
		}
		more, err := c.values.ReadValues(values[n:])
		n += more
		switch {
		case errors.Is(err, io.EOF):
			c.endPage()
		case err != nil:
			return n, err
		}
	}
	return n, nil
}

// endPage gives the memory of a page back, but for bytes, which rows may still be views of: the collector has that.
func (c *parquetColumn) endPage() {
	if c.append != nil {
		parquet.Release(c.page)
	}
	c.page, c.values = nil, nil
}

// next turns the next row into text.
func (c *parquetChunk) next() (Row, error) {
	if c.at == c.rows {
		return Row{}, io.EOF
	}
	c.fields, c.ends = c.fields[:0], c.ends[:0]
	begin := len(c.text)
	for i := range c.file.columns {
		v := c.values[i*parquetRows+c.at]
		if appendText := c.file.columns[i].append; appendText != nil && !v.IsNull() {
			c.text = appendText(c.text, v)
		}
		c.ends = append(c.ends, len(c.text))
	}
	c.at++
	line := c.line + int64(c.at)
	for i, end := range c.ends { // the text may have moved while it grew
		field := c.text[begin:end]
		if c.file.columns[i].append == nil {
			field = c.values[i*parquetRows+c.at-1].ByteArray()
			if err := checkText(field); err != nil {
				return Row{}, recordError(c.file.path, line, field, "%v", err)
			}
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
			err = errors.Join(err, column.pages.Close())
			column.pages, column.page, column.values = nil, nil, nil
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
