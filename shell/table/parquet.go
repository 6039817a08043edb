package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetBatch is how many rows are decoded at a time.
const parquetBatch = 256

// A parquetReader reads the rows of a flat parquet file as text.
type parquetReader struct {
	path    string
	groups  []parquet.RowGroup
	rows    parquet.Rows // of the group being read; nil between groups
	append  []func(dst []byte, v parquet.Value) []byte
	batch   []parquet.Row // of which those from at on are still to be handed out
	buffer  []parquet.Row
	at      int
	ended   bool  // the group has no rows behind batch
	line    int64 // rows handed out
	promise int64 // rows that the footer counts
	text    []byte
	ends    []int
	fields  [][]byte
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
	p := &parquetReader{path: r.path, buffer: make([]parquet.Row, parquetBatch), promise: file.NumRows()}
	for _, group := range file.RowGroups() {
		// A group without rows has no pages, and its columns may begin nowhere.
		if group.NumRows() > 0 {
			p.groups = append(p.groups, group)
		}
	}
	for _, column := range file.Root().Columns() {
		appendText := textOf(column)
		if appendText == nil {
			return &Error{Path: r.path, Column: column.Name(),
				Msg: "got a nested or unusual type, want booleans, integers, floats, strings, dates or timestamps"}
		}
		r.header = append(r.header, column.Name())
		p.append = append(p.append, appendText)
	}
	if len(r.header) == 0 {
		return &Error{Path: r.path, Msg: "has no columns"}
	}
	r.next = p.next
	r.closes = append(r.closes, p)
	total := max(p.promise, 1)
	r.read = func() int64 { return int64(float64(r.size) * float64(min(p.line, total)) / float64(total)) }
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

// textOf returns how a column's values read as text, nil where they do not.
func textOf(column *parquet.Column) func([]byte, parquet.Value) []byte {
	if !column.Leaf() || column.Repeated() {
		return nil
	}
	var logical format.LogicalTypeValue
	if t := column.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch t := logical.(type) {
	case *format.DecimalType, *format.TimeType, *format.UUIDType, *format.Float16Type:
		return nil
	case *format.DateType:
		return func(dst []byte, v parquet.Value) []byte {
			return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().AppendFormat(dst, time.DateOnly)
		}
	case *format.TimestampType:
		if t.Unit.Value == nil {
			return nil
		}
		unit := t.Unit.Value.Duration()
		perSecond := int64(time.Second / unit)
		return func(dst []byte, v parquet.Value) []byte {
			seconds, rest := v.Int64()/perSecond, v.Int64()%perSecond
			return time.Unix(seconds, rest*int64(unit)).UTC().AppendFormat(dst, time.RFC3339Nano)
		}
	case *format.IntType:
		if !t.IsSigned {
			if column.Type().Kind() == parquet.Int32 {
				return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, uint64(v.Uint32()), 10) }
			}
			return func(dst []byte, v parquet.Value) []byte { return strconv.AppendUint(dst, v.Uint64(), 10) }
		}
	}
	switch column.Type().Kind() {
	case parquet.Boolean:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendBool(dst, v.Boolean()) }
	case parquet.Int32:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendInt(dst, v.Int64(), 10) }
	case parquet.Float:
		return func(dst []byte, v parquet.Value) []byte {
			return strconv.AppendFloat(dst, float64(v.Float()), 'g', -1, 32)
		}
	case parquet.Double:
		return func(dst []byte, v parquet.Value) []byte { return strconv.AppendFloat(dst, v.Double(), 'g', -1, 64) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(dst []byte, v parquet.Value) []byte { return append(dst, v.ByteArray()...) }
	}
	return nil
}

func (p *parquetReader) next() (row Row, err error) {
	defer asError(p.path, &err)
	for p.at == len(p.batch) {
		if err := p.fill(); err != nil {
			return Row{}, err
		}
	}
	values := p.batch[p.at]
	p.at++
	p.line++
	if len(values) != len(p.append) {
		return Row{}, &Error{Path: p.path, Line: p.line, Msg: fmt.Sprintf("got %d values, want %d", len(values), len(p.append))}
	}
	p.text, p.ends, p.fields = p.text[:0], p.ends[:0], p.fields[:0]
	for i, v := range values {
		if !v.IsNull() {
			p.text = p.append[i](p.text, v)
		}
		p.ends = append(p.ends, len(p.text))
	}
	begin := 0
	for _, end := range p.ends {
		p.fields = append(p.fields, p.text[begin:end])
		begin = end
	}
	if err := checkText(p.text); err != nil {
		return Row{}, &Error{Path: p.path, Line: p.line, Msg: err.Error()}
	}
	return Row{Line: p.line, Fields: p.fields}, nil
}

// fill decodes the next batch, or returns io.EOF.
func (p *parquetReader) fill() error {
	if p.ended {
		if err := p.Close(); err != nil {
			return err
		}
		p.ended = false
	}
	if p.rows == nil {
		if len(p.groups) == 0 && p.line != p.promise {
			return &Error{Path: p.path, Msg: fmt.Sprintf("got %d rows, want the %d that its footer counts", p.line, p.promise)}
		}
		if len(p.groups) == 0 {
			return io.EOF
		}
		p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
	}
	n, err := p.rows.ReadRows(p.buffer)
	p.batch, p.at = p.buffer[:n], 0
	switch {
	case errors.Is(err, io.EOF):
		p.ended = true
	case err != nil:
		return &Error{Path: p.path, Line: p.line + int64(n) + 1, Err: err,
			Msg: "is a damaged parquet file: from here on it cannot be decoded"}
	}
	return nil
}

// Close closes the row group being read.
func (p *parquetReader) Close() error {
	if p.rows == nil {
		return nil
	}
	err := p.rows.Close()
	p.rows = nil
	return err
}

// asError turns a panic of the parquet decoder, which damaged files can cause, into an error of the file.
func asError(path string, err *error) {
	if cause := recover(); cause != nil {
		*err = &Error{Path: path, Msg: "is a damaged parquet file", Err: fmt.Errorf("%v", cause)}
	}
}
