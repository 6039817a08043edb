package table

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/graphcleaner/graphcleaner/shell/table/internal/pages"
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
	path    string
	source  *pages.File
	groups  []parquetGroup // still to be read
	columns []parquetColumn
	leaves  int          // columns of a group
	rest    int64        // rows of the group being read
	rows    atomic.Int64 // handed out
	promise int64        // rows that the footer counts

	hasLists  bool
	listBytes int64 // that the texts of lists may take
}

// A parquetGroup is a group of rows.
type parquetGroup struct {
	rows   parquet.RowGroup
	places []pages.Place // of its columns
}

// A parquetColumn is a column of the group being read.
type parquetColumn struct {
	name   string
	leaf   int        // of the columns of a group
	append appendText // nil if the bytes of a value are its text
	views  bool       // values are views of pages
	source *pages.Source
	pages  parquet.Pages
	page   parquet.Page // nil if there is none
	rest   int64        // values of the page that are still to be read
	values parquet.ValueReader
	list   *parquetList // nil if the column has no lists
}

// appendText appends the text of a value. An error is a valueError.
type appendText func(dst []byte, v parquet.Value) ([]byte, error)

// A valueError says why a value has no text.
type valueError string

func (e valueError) Error() string { return string(e) }

// A parquetChunk is a run of rows of one group.
type parquetChunk struct {
	file   *parquetReader
	values []parquet.Value // [columns×most]
	most   int             // rows
	rows   int
	at     int    // the next row
	line   int64  // rows of the file before the chunk
	text   []byte // of the fields that are no bytes in the file
	ends   []int  // of the fields of a row in it
	fields [][]byte
	lists  []listTexts // of the columns that have lists
}

func (r *Reader) openParquet(f *os.File, memory int64) (err error) {
	defer asError(r.path, &err)
	meta, err := pages.ReadFooter(f, r.size, memory)
	if err != nil {
		return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole parquet file (%v)", err), Err: err}
	}
	p := &parquetReader{path: r.path, source: pages.NewFile(f, memory/parquetShare), promise: meta.NumRows}
	places, err := pages.TakePlaces(meta, r.size)
	if err != nil {
		return &Error{Path: r.path, Msg: err.Error()}
	}
	halves := halvesOf(meta.Schema)
	dropNullType(meta.Schema)
	file, err := pages.OpenFooter(meta)
	if err != nil {
		return &Error{Path: r.path, Msg: "is not a whole parquet file (" + pages.ErrFooter.Error() + ")", Err: err}
	}
	for i, group := range file.RowGroups() {
		// A group without rows has no pages, and its columns may begin nowhere.
		if group.NumRows() > 0 {
			p.groups = append(p.groups, parquetGroup{group, places[i]})
		}
	}
	for _, column := range file.Root().Columns() {
		leaf := p.leaves
		p.leaves += leavesOf(column)
		levels := pages.Levels{}
		if column.Optional() {
			levels.Definition = 1
		}
		list, asText, ok := listOf(column)
		if ok {
			levels = pages.Levels{Repetition: 1, Definition: list.value}
		} else {
			asText, ok = textOf(column)
		}
		isHalf := ok && slices.Contains(halves, leaf)
		if isHalf {
			asText = halfText
		}
		isNeeded := slices.Contains(r.parts.needed, column.Name())
		if r.parts.lenient && (!ok || isBinary(column) && !isNeeded && !isHalf) {
			r.leftOut = append(r.leftOut, column.Name())
			continue
		}
		if !ok {
			return unusualColumn(r.path, column.Name())
		}
		views := list == nil && isBytes(column)
		r.header, r.lists = append(r.header, column.Name()), append(r.lists, list != nil)
		r.floats = append(r.floats, list == nil && (isHalf || isFloat(column)))
		p.columns = append(p.columns, parquetColumn{
			name: column.Name(), leaf: leaf, append: asText, views: views, list: list,
			source: p.source.Column(levels, views, column.Leaf() && column.Type().Kind() == parquet.ByteArray),
		})
	}
	if len(r.header) == 0 && len(r.leftOut) > 0 {
		return unusualColumn(r.path, r.leftOut[0])
	}
	if len(r.header) == 0 {
		return &Error{Path: r.path, Msg: "has no columns"}
	}
	p.hasLists, p.listBytes = slices.Contains(r.lists, true), memory/parquetShare
	r.chunks = func() rows {
		p.source.Readers++
		return &parquetChunk{file: p, most: min(max(parquetValues/len(p.columns), 1), parquetRows)}
	}
	r.closes = append(r.closes, p)
	total := max(p.promise, 1)
	r.read = func() int64 { return int64(float64(r.size) * float64(min(p.rows.Load(), total)) / float64(total)) }
	return nil
}

// textOf returns how a column's values read as text, nil if they are text; false if they cannot be read.
func textOf(column *parquet.Column) (asText appendText, ok bool) {
	if !column.Leaf() || column.Repeated() {
		return nil, false
	}
	return textOfValue(column)
}

// textOfValue is textOf for a value of a list too.
func textOfValue(column *parquet.Column) (asText appendText, ok bool) {
	var logical format.LogicalTypeValue
	if t := column.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch t := logical.(type) {
	case *format.DecimalType:
		return decimalText(t, column.Type().Kind())
	case *format.TimeType:
		return clockText(t, column.Type().Kind())
	case *format.UUIDType:
		return uuidText, true
	case *format.DateType:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return appendTime(dst, time.Unix(int64(v.Int32())*24*60*60, 0), time.DateOnly)
		}, true
	case *format.TimestampType:
		if t.Unit.Value == nil {
			return nil, false
		}
		unit := t.Unit.Value.Duration()
		perSecond := int64(time.Second / unit)
		// All texts of a column have as many digits, so that their order is that of the times.
		layout := "2006-01-02T15:04:05." + strconv.FormatInt(perSecond, 10)[1:] + "Z"
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
			return appendTime(dst, time.Unix(seconds, rest*int64(unit)), layout)
		}, true
	case *format.IntType:
		if !t.IsSigned {
			if column.Type().Kind() == parquet.Int32 {
				return func(dst []byte, v parquet.Value) ([]byte, error) {
					return strconv.AppendUint(dst, uint64(v.Uint32()), 10), nil
				}, true
			}
			return func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendUint(dst, v.Uint64(), 10), nil }, true
		}
	}
	switch column.Type().Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendBool(dst, v.Boolean()), nil }, true
	case parquet.Int96:
		return int96Text, true
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return strconv.AppendInt(dst, int64(v.Int32()), 10), nil
		}, true
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return strconv.AppendInt(dst, v.Int64(), 10), nil }, true
	case parquet.Float:
		return func(dst []byte, v parquet.Value) ([]byte, error) {
			return appendFloat(dst, float64(v.Float()), 32), nil
		}, true
	case parquet.Double:
		return func(dst []byte, v parquet.Value) ([]byte, error) { return appendFloat(dst, v.Double(), 64), nil }, true
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return nil, true
	}
	return nil, false
}

// appendTime appends a time as text. Texts of years beyond four digits have another order than their times.
func appendTime(dst []byte, t time.Time, layout string) ([]byte, error) {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return dst, valueError(fmt.Sprintf("got the time %s, want one of the years 0 to 9999", t.Format(time.RFC3339)))
	}
	return t.AppendFormat(dst, layout), nil
}

// fill decodes the next rows of the group being read, or of the next one.
func (c *parquetChunk) fill() (err error) {
	p := c.file
	defer asError(p.path, &err)
	c.at, c.rows, c.line, c.text = 0, 0, p.rows.Load(), c.text[:0]
	if p.rest == 0 {
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	if c.values == nil {
		c.values, c.lists = make([]parquet.Value, len(p.columns)*c.most), make([]listTexts, len(p.columns))
	}
	for i := range c.lists {
		c.lists[i] = listTexts{c.lists[i].text[:0], c.lists[i].ends[:0]}
	}
	most := int(min(p.rest, int64(c.most)))
	for p.source.Fresh = 0; c.rows < most; {
		rows, err := p.alike(c.line + int64(c.rows))
		if err != nil {
			return err
		}
		// Texts are views of their pages, so that a chunk keeps all that it has rows of.
		if c.rows > 0 && (p.source.IsFull() || p.isFullOfLists(c)) {
			break
		}
		if rows, err = p.readLists(c, min(rows, most-c.rows)); err != nil {
			return err
		}
		for i := range p.columns {
			if p.columns[i].list != nil {
				continue
			}
			if err := p.columns[i].read(c.values[i*c.most+c.rows:][:rows]); err != nil {
				return damagedFrom(p.path, c.line+int64(c.rows)+1, p.columns[i].name, err)
			}
		}
		c.rows += rows
	}
	p.rest -= int64(c.rows)
	p.rows.Add(int64(c.rows))
	return nil
}

// alike sees to it that every column has a page, and returns how many rows all of them have. before is how many rows of the
// file have been read.
func (p *parquetReader) alike(before int64) (rows int, err error) {
	rows = parquetRows
	for i := range p.columns {
		column := &p.columns[i]
		if column.list != nil {
			continue // its rows may begin in one page and end in the next
		}
		err := column.nextPage()
		if errors.Is(err, io.EOF) {
			return 0, &Error{Path: p.path, Line: before + 1, Column: column.name, Msg: "is a damaged column: it ends early"}
		}
		if err != nil {
			return 0, damagedFrom(p.path, before+1, column.name, err)
		}
		rows = int(min(int64(rows), column.rest))
	}
	return rows, nil
}

// nextGroup ends the group that has been read and begins the next one, or returns io.EOF.
func (p *parquetReader) nextGroup() error {
	rows := p.rows.Load()
	for i := range p.columns {
		column := &p.columns[i]
		if column.pages == nil {
			continue
		}
		switch err := column.nextPage(); {
		case err == nil || column.list != nil && column.list.at < len(column.list.values):
			return &Error{Path: p.path, Line: rows + 1, Column: column.name,
				Msg: "is a damaged column: it has more rows than the footer counts"}
		case !errors.Is(err, io.EOF):
			return damagedFrom(p.path, rows+1, column.name, err)
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
	chunks := group.rows.ColumnChunks()
	if len(chunks) != p.leaves || len(group.places) != p.leaves {
		return &Error{Path: p.path, Line: rows + 1, Msg: fmt.Sprintf(
			"is a damaged parquet file: got %d columns in a group of rows, want %d", len(chunks), p.leaves)}
	}
	for i := range p.columns {
		column := &p.columns[i]
		column.source.Begin(group.places[column.leaf])
		column.pages = chunks[column.leaf].(*parquet.FileColumnChunk).PagesFrom(column.source)
	}
	p.rest = group.rows.NumRows()
	return nil
}

// damagedFrom is what is wrong with a page that begins at a row.
func damagedFrom(path string, row int64, column string, err error) error {
	if noRoom, ok := errors.AsType[*pages.RoomError](err); ok {
		return &Error{Path: path, Line: row, Column: column, Err: err, Msg: noRoom.Error()}
	}
	return &Error{Path: path, Line: row, Column: column, Err: err, Msg: "is a damaged parquet file: from here on it cannot be decoded"}
}

// nextPage sees to it that the column has a page of which values are left; io.EOF if there are no more.
func (c *parquetColumn) nextPage() (err error) {
	for c.rest == 0 {
		c.endPage()
		if c.page, err = c.pages.ReadPage(); err != nil {
			if c.source.Err() != nil {
				return c.source.Err() // the decoder may have put it into other words
			}
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
			return err
		}
	}
	return nil
}

// endPage gives the memory of a page back, but for bytes, which rows may still be views of: the collector has that.
func (c *parquetColumn) endPage() {
	if !c.views && c.page != nil {
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
	begin := len(c.text)
	for i := range c.file.columns {
		v := c.values[i*c.most+c.at]
		if column := &c.file.columns[i]; column.append != nil && !v.IsNull() && column.list == nil {
			var err error
			if c.text, err = column.append(c.text, v); err != nil {
				c.at++
				return Row{}, &Error{Path: c.file.path, Line: c.line + int64(c.at), Column: column.name, Msg: err.Error()}
			}
		}
		c.ends = append(c.ends, len(c.text))
	}
	c.at++
	line := c.line + int64(c.at)
	for i, end := range c.ends { // the text may have moved while it grew
		field := c.text[begin:end]
		if c.file.columns[i].list != nil {
			field = c.lists[i].row(c.at - 1)
		}
		if c.file.columns[i].append == nil {
			field = c.values[i*c.most+c.at-1].ByteArray()
			if err := checkText(field); err != nil {
				return Row{}, &Error{Path: c.file.path, Line: line, Column: c.file.columns[i].name, Msg: err.Error()}
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
			column.pages, column.page, column.values, column.rest = nil, nil, nil, 0
			if column.list != nil {
				column.list.values, column.list.at = nil, 0
			}
			column.source.End()
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
