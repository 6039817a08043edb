package columnar

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	// groupBytes is about how many bytes a row group has at most before it is packed, if one row has not more.
	groupBytes = 8 << 20
	// strideRows is how many rows are handed on at a time.
	strideRows = 512
	// dictionaryBytes is how much of the texts of a column a dictionary holds, before the column is written without
	// one.
	dictionaryBytes = 1 << 20
)

// ParquetChunks is about how many chunks of columns a Parquet file of so many rows and columns of numbers has.
func ParquetChunks(rows, columns int64) int64 {
	perGroup := max(groupBytes/(cellBytes*columns), 1)
	return (rows + perGroup - 1) / perGroup * columns
}

// A parquetSink writes a Parquet file.
type parquetSink struct {
	columns []query.ColumnInfo
	to      *parquet.GenericWriter[any]
	stride  [][]parquet.Value // of each column
	bytes   int               // of the row group
}

func newParquetSink(w io.Writer, columns []query.ColumnInfo) (*parquetSink, error) {
	root := orderedGroup{}
	names := make(map[string]bool, len(columns))
	for _, c := range columns {
		if names[c.Name] {
			return nil, fmt.Errorf("two columns are called %s, which Parquet has no room for: want another name or another format", strconv.Quote(c.Name))
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
	if bytes := weight(values); s.bytes > 0 && s.bytes+bytes > groupBytes {
		if err := s.pass(); err != nil {
			return err
		}
		if err := s.to.Flush(); err != nil {
			return err
		}
		s.bytes = bytes
	} else {
		s.bytes += bytes
	}
	for i, v := range values {
		value, err := parquetValue(v, s.columns[i])
		if err != nil {
			return err
		}
		present := 1
		if v.IsNull() {
			present = 0
		}
		s.stride[i] = append(s.stride[i], value.Level(0, present, i))
	}
	if len(s.columns) > 0 && len(s.stride[0]) >= strideRows {
		return s.pass()
	}
	return nil
}

// parquetValue is a value of a column.
func parquetValue(v kv.Value, column query.ColumnInfo) (parquet.Value, error) {
	if v.IsNull() {
		return parquet.NullValue(), nil
	}
	switch column.Kind {
	case kv.KindBool:
		b, err := truth(v, column)
		return parquet.BooleanValue(b), err
	case kv.KindInt:
		n, err := number(v, column)
		return parquet.Int64Value(n), err
	case kv.KindFloat, kv.KindSingle:
		f, err := float(v, column)
		return parquet.DoubleValue(f), err
	}
	return parquet.ValueOf(text(v, column)), nil
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

// GoType is asked for by what reads rows from values of Go, which nothing here does.
func (g orderedGroup) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type parquetField struct {
	parquet.Node
	name string
}

func (f parquetField) Name() string { return f.name }

// Value is for values of Go, as GoType.
func (f parquetField) Value(base reflect.Value) reflect.Value { return base }
