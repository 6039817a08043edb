package print

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	// cellBytes is the size of a value in a row group without its text, about.
	cellBytes = 8
	// groupBytes is about how many bytes a row group has at most before it is packed, if one row has not more.
	groupBytes = 8 << 20
	// strideRows is how many rows are handed on at a time.
	strideRows = 512
	// dictionaryBytes is how much of the texts of a column a dictionary holds, before the column is written without
	// one.
	dictionaryBytes = 1 << 20
	// mostChunks is how many chunks of columns a file may have, one of each column in each row group. Each takes a few
	// hundred bytes until the file is complete.
	mostChunks = 1 << 17
)

// writeParquet writes a Result as a Parquet file, and returns how many rows it had.
func writeParquet(w io.Writer, r *query.Result) (rows int64, err error) {
	to, err := newParquetSink(w, r.Columns())
	if err != nil {
		return 0, err
	}
	for row, err := range r.Rows() {
		if err == nil {
			err = to.row(row)
		}
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, to.end()
}

// A parquetSink writes a Parquet file.
type parquetSink struct {
	columns []query.ColumnInfo
	to      *parquet.GenericWriter[any]
	stride  [][]parquet.Value // of each column
	bytes   int               // of the row group
	chunks  int               // of the row groups before
}

func newParquetSink(w io.Writer, columns []query.ColumnInfo) (*parquetSink, error) {
	root := orderedGroup{}
	names := make(map[string]bool, len(columns))
	for _, c := range columns {
		if names[c.Name] {
			return nil, fmt.Errorf("two columns are called %s, which Parquet has no room for: want another name or another "+
				"format", strconv.Quote(c.Name))
		}
		names[c.Name] = true
		root.fields = append(root.fields, parquetField{Node: parquet.Optional(parquetNode(c)), name: c.Name})
	}
	return &parquetSink{
		columns: columns,
		to: parquet.NewGenericWriter[any](w, parquet.NewSchema("graphcleaner", root),
			parquet.Compression(&parquet.Snappy), parquet.DictionaryMaxBytes(dictionaryBytes),
			parquet.CreatedBy("graphcleaner", "", "")),
		stride: make([][]parquet.Value, len(columns)),
	}, nil
}

// parquetNode is how a column is typed. Ids differ from row to row, and other texts recur.
func parquetNode(c query.ColumnInfo) parquet.Node {
	switch c.Kind {
	case kv.KindBool:
		return parquet.Leaf(parquet.BooleanType)
	case kv.KindInt:
		return parquet.Leaf(parquet.Int64Type)
	case kv.KindFloat, kv.KindSingle:
		return parquet.Leaf(parquet.DoubleType)
	}
	if c.Name == "id" {
		return parquet.String()
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

func (s *parquetSink) row(values []kv.Value) error {
	bytes := cellBytes * len(values)
	for _, v := range values {
		if v.Kind() == kv.KindString {
			bytes += len(v.Str())
		}
	}
	if s.bytes > 0 && s.bytes+bytes > groupBytes {
		if s.chunks += len(values); s.chunks > mostChunks {
			return fmt.Errorf("so many rows of %d columns make more than %d chunks in a Parquet file, and memory does not hold "+
				"its index: want another format", len(values), mostChunks)
		}
		if err := errors.Join(s.pass(), s.to.Flush()); err != nil {
			return err
		}
		s.bytes = 0
	}
	s.bytes += bytes
	for i, v := range values {
		if v.IsNull() {
			s.stride[i] = append(s.stride[i], parquet.NullValue().Level(0, 0, i))
			continue
		}
		value, err := parquetValue(v, s.columns[i])
		if err != nil {
			return err
		}
		s.stride[i] = append(s.stride[i], value.Level(0, 1, i))
	}
	if len(s.columns) > 0 && len(s.stride[0]) >= strideRows {
		return s.pass()
	}
	return nil
}

// parquetValue is a value of a column. Tables of nodes have integer ids as texts.
func parquetValue(v kv.Value, column query.ColumnInfo) (parquet.Value, error) {
	isNumber := v.Kind() == kv.KindInt || v.Kind() == kv.KindFloat
	switch column.Kind {
	case kv.KindBool:
		if v.Kind() == kv.KindBool {
			return parquet.BooleanValue(v.Bool()), nil
		}
	case kv.KindInt:
		if v.Kind() == kv.KindInt {
			return parquet.Int64Value(v.Int()), nil
		}
		if n, err := strconv.ParseInt(v.Str(), 10, 64); err == nil {
			return parquet.Int64Value(n), nil
		}
	case kv.KindFloat, kv.KindSingle:
		if isNumber {
			return parquet.DoubleValue(v.Float()), nil
		}
	default:
		if v.Kind() == kv.KindString {
			return parquet.ValueOf(strings.ToValidUTF8(v.Str(), "\uFFFD")), nil
		}
		return parquet.ValueOf(query.Exact(v, column.Kind)), nil
	}
	return parquet.Value{}, fmt.Errorf("column %s: got %s %q, want %s", column.Name, v.Kind(), v, column.Kind)
}

// pass hands the rows of the stride on.
func (s *parquetSink) pass() error {
	for i, to := range s.to.ColumnWriters() {
		if _, err := to.WriteRowValues(s.stride[i]); err != nil {
			return err
		}
		clear(s.stride[i])
		s.stride[i] = s.stride[i][:0]
	}
	return nil
}

func (s *parquetSink) end() error {
	if err := s.pass(); err != nil {
		return err
	}
	return s.to.Close()
}

// An orderedGroup is a group whose fields keep their order: those of a parquet.Group are sorted by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

// GoType is for reading rows from values of Go, which nothing here does.
func (g orderedGroup) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type parquetField struct {
	parquet.Node
	name string
}

func (f parquetField) Name() string { return f.name }

// Value is for values of Go, as GoType.
func (f parquetField) Value(base reflect.Value) reflect.Value { return base }
