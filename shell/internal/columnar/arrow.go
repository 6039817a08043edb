package columnar

import (
	"bufio"
	"cmp"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

const (
	// firstBatch is how many rows the first batch has, so that a reader at the other end of a pipe soon has some. Each batch may have
	// twice as many as the one before, up to mostRows.
	firstBatch = 1 << 10
	mostRows   = 1 << 16
	// batchBytes is about how many bytes a batch has at most, if one row has not more.
	batchBytes = 4 << 20
)

// torn is the beginning of a message of Arrow whose rest never comes. Readers take a stream that ends between two messages for complete.
var torn = []byte{0xff, 0xff, 0xff, 0xff, 0x08, 0x00, 0x00, 0x00}

// An arrowSink writes an Arrow stream or file.
type arrowSink struct {
	out     *bufio.Writer
	columns []query.ColumnInfo
	batch   *array.RecordBuilder
	to      interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	stream  bool
	rows    int // of the batch
	bytes   int
	most    int  // rows of the batch
	written bool // a batch
}

func newArrowSink(w io.Writer, columns []query.ColumnInfo, f Format) (*arrowSink, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Kind), Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	s := &arrowSink{
		out: bufio.NewWriterSize(w, 1<<16), columns: columns, batch: array.NewRecordBuilder(memory.DefaultAllocator, schema),
		stream: f == ArrowStream, most: firstBatch,
	}
	if s.stream {
		s.to = ipc.NewWriter(s.out, ipc.WithSchema(schema))
		return s, nil
	}
	var err error
	s.to, err = ipc.NewFileWriter(s.out, ipc.WithSchema(schema))
	return s, err
}

// arrowType is how a column of a kind is typed.
func arrowType(kind kv.Kind) arrow.DataType {
	switch kind {
	case kv.KindBool:
		return arrow.FixedWidthTypes.Boolean
	case kv.KindInt:
		return arrow.PrimitiveTypes.Int64
	case kv.KindFloat, kv.KindSingle:
		return arrow.PrimitiveTypes.Float64
	}
	return arrow.BinaryTypes.String
}

func (s *arrowSink) row(values []kv.Value) error {
	bytes := weight(values)
	if s.rows > 0 && (s.rows >= s.most || s.bytes+bytes > batchBytes) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	for i, v := range values {
		if err := appendTo(s.batch.Field(i), v, s.columns[i]); err != nil {
			return err
		}
	}
	s.rows++
	s.bytes += bytes
	return nil
}

// appendTo appends a value of a column to what is built of it.
func appendTo(to array.Builder, v kv.Value, column query.ColumnInfo) error {
	if v.IsNull() {
		to.AppendNull()
		return nil
	}
	switch to := to.(type) {
	case *array.BooleanBuilder:
		b, err := truth(v, column)
		to.Append(b)
		return err
	case *array.Int64Builder:
		n, err := number(v, column)
		to.Append(n)
		return err
	case *array.Float64Builder:
		f, err := float(v, column)
		to.Append(f)
		return err
	case *array.StringBuilder:
		to.Append(text(v, column))
	}
	return nil
}

// flush writes the batch, and begins another.
func (s *arrowSink) flush() error {
	batch := s.batch.NewRecordBatch()
	defer batch.Release()
	s.rows, s.bytes, s.most, s.written = 0, 0, min(2*s.most, mostRows), true
	return cmp.Or(s.to.Write(batch), s.out.Flush())
}

func (s *arrowSink) end() error {
	defer s.batch.Release()
	if s.rows > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return cmp.Or(s.to.Close(), s.out.Flush())
}

func (s *arrowSink) abort() error {
	s.batch.Release()
	if !s.stream || !s.written {
		return nil // a file lacks its footer, and a stream its schema
	}
	_, err := s.out.Write(torn)
	return cmp.Or(err, s.out.Flush())
}
