package columnar

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

var (
	kinds = []query.ColumnInfo{
		{Name: "id", Kind: kv.KindInt}, {Name: "text", Kind: kv.KindString}, {Name: "label", Kind: kv.KindClass}, {Name: "score", Kind: kv.KindSingle},
		{Name: "weight", Kind: kv.KindFloat}, {Name: "old", Kind: kv.KindBool}, {Name: "any", Kind: kv.KindNull},
	}
	kindRows = [][]kv.Value{
		{kv.StringValue("-7"), kv.StringValue("東\n"), kv.StringValue("B"), kv.FloatValue(0.5), kv.FloatValue(1e300), kv.BoolValue(true), kv.FloatValue(0.25)},
		{{}, {}, {}, {}, {}, {}, {}},
		{kv.IntValue(1 << 60), kv.StringValue("bad \xff"), kv.StringValue("A"), kv.FloatValue(1), kv.IntValue(3), kv.BoolValue(false), kv.StringValue("x")},
	}
	wantRows = [][]any{
		{int64(-7), "東\n", "B", 0.5, 1e300, true, "0.25"},
		{nil, nil, nil, nil, nil, nil, nil},
		{int64(1 << 60), "bad \uFFFD", "A", 1.0, 3.0, false, "x"},
	}
)

// rowsOf are the rows of record batches, and how many rows each batch has.
func rowsOf(batches []arrow.RecordBatch) (rows [][]any, sizes []int64) {
	for _, batch := range batches {
		sizes = append(sizes, batch.NumRows())
		for i := range int(batch.NumRows()) {
			row := make([]any, batch.NumCols())
			for j, column := range batch.Columns() {
				if column.IsNull(i) {
					continue
				}
				switch column := column.(type) {
				case *array.Int64:
					row[j] = column.Value(i)
				case *array.Float64:
					row[j] = column.Value(i)
				case *array.Boolean:
					row[j] = column.Value(i)
				case *array.String:
					row[j] = strings.Clone(column.Value(i))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, sizes
}

// readStream reads what there is of a stream.
func readStream(data []byte) ([]arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var batches []arrow.RecordBatch
	for r.Next() {
		batch := r.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	return batches, r.Err()
}

// render writes a Result that must not fail.
func render(t *testing.T, f Format, r *query.Result) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := f.Render(&out, r, &print.Screen{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEveryKind(t *testing.T) {
	batches, err := readStream(render(t, ArrowStream, query.NewTable(kinds, kindRows)))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := rowsOf(batches); !reflect.DeepEqual(got, wantRows) {
		t.Errorf("stream: got %v, want %v", got, wantRows)
	}

	file, err := ipc.NewFileReader(bytes.NewReader(render(t, ArrowFile, query.NewTable(kinds, kindRows))))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := file.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := rowsOf([]arrow.RecordBatch{batch}); !reflect.DeepEqual(got, wantRows) {
		t.Errorf("file: got %v, want %v", got, wantRows)
	}

	data := render(t, ParquetFile, query.NewTable(kinds, kindRows))
	packed, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range packed.Root().Columns() {
		names = append(names, column.Name())
	}
	if want := []string{"id", "text", "label", "score", "weight", "old", "any"}; !reflect.DeepEqual(names, want) {
		t.Errorf("parquet: got columns %v, want %v", names, want)
	}
	if got := parquetRows(t, packed); !reflect.DeepEqual(got, wantRows) {
		t.Errorf("parquet: got %v, want %v", got, wantRows)
	}
}

func parquetRows(t *testing.T, file *parquet.File) (rows [][]any) {
	t.Helper()
	for _, group := range file.RowGroups() {
		in := group.Rows()
		buffer := make([]parquet.Row, 100)
		for {
			n, err := in.ReadRows(buffer)
			for _, values := range buffer[:n] {
				row := make([]any, len(values))
				for i, v := range values {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64:
						row[i] = v.Int64()
					case v.Kind() == parquet.Double:
						row[i] = v.Double()
					case v.Kind() == parquet.Boolean:
						row[i] = v.Boolean()
					default:
						row[i] = string(v.ByteArray())
					}
				}
				rows = append(rows, row)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// numbers is a Result with so many rows of an integer and a text, that ends with an error if there is one.
func numbers(rows int, text string, failure error) *query.Result {
	columns := []query.ColumnInfo{{Name: "n", Kind: kv.KindInt}, {Name: "s", Kind: kv.KindString}}
	return query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for i := range rows {
			if !yield([]kv.Value{kv.IntValue(int64(i)), kv.StringValue(text)}, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		rows int
		text string
		want []int64
	}{
		{"no row", 0, "", nil},
		{"short rows", 5000, "x", []int64{1024, 2048, 1928}},
		{"long rows", 5, strings.Repeat("x", batchBytes/2-100), []int64{2, 2, 1}},
		{"huge rows", 2, strings.Repeat("x", 2*batchBytes), []int64{1, 1}},
	} {
		batches, err := readStream(render(t, ArrowStream, numbers(c.rows, c.text, nil)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows, sizes := rowsOf(batches)
		if !reflect.DeepEqual(sizes, c.want) || len(rows) != c.rows {
			t.Errorf("%s: got %d rows in batches of %v, want %d in %v", c.name, len(rows), sizes, c.rows, c.want)
		}
		for i, row := range rows {
			if row[0] != int64(i) || row[1] != c.text {
				t.Fatalf("%s: row %d is another", c.name, i)
			}
		}
	}
}

func TestRowGroupsAreBounded(t *testing.T) {
	const rows = 5000
	text := strings.Repeat("x", 4000)
	data := render(t, ParquetFile, numbers(rows, text, nil))
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, group := range file.RowGroups() {
		if bytes := group.NumRows() * int64(len(text)+2*cellBytes); bytes > groupBytes {
			t.Errorf("row group %d has %d bytes, want at most %d", i, bytes, groupBytes)
		}
	}
	got := parquetRows(t, file)
	if len(got) != rows || len(file.RowGroups()) != 3 {
		t.Fatalf("got %d rows in %d groups, want %d in 3", len(got), len(file.RowGroups()), rows)
	}
	for i, row := range got {
		if row[0] != int64(i) || row[1] != text {
			t.Fatalf("row %d is %v", i, row[0])
		}
	}
}

// TestPartsAreNotTakenForTheWhole: a stream or a file of an answer that failed half way cannot be read to its end.
func TestPartsAreNotTakenForTheWhole(t *testing.T) {
	broken := errors.New("block 7 is corrupt")
	for _, rows := range []int{0, 100, firstBatch, 3 * firstBatch} {
		for _, f := range []Format{ArrowStream, ArrowFile, ParquetFile} {
			var out bytes.Buffer
			if _, err := f.Render(&out, numbers(rows, "x", broken), &print.Screen{}); !errors.Is(err, broken) {
				t.Errorf("%d rows, format %d: got error %v, want %v", rows, f, err, broken)
			}
			var err error
			switch f {
			case ArrowStream:
				_, err = readStream(out.Bytes())
			case ArrowFile:
				_, err = ipc.NewFileReader(bytes.NewReader(out.Bytes()))
			case ParquetFile:
				_, err = parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
			}
			if err == nil {
				t.Errorf("%d rows, format %d: the part reads as a whole", rows, f)
			}
		}
	}
}

// TestFirstRowsComeAtOnce renders a result that would never end and stops it from the reading side.
func TestFirstRowsComeAtOnce(t *testing.T) {
	endless := query.NewResult([]query.ColumnInfo{{Name: "n", Kind: kv.KindInt}}, func(yield func([]kv.Value, error) bool) {
		for n := int64(0); yield([]kv.Value{kv.IntValue(n)}, nil); n++ {
			continue
		}
	})
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := ArrowStream.Render(write, endless, &print.Screen{})
		done <- err
	}()
	r, err := ipc.NewReader(read)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() || r.RecordBatch().NumRows() != firstBatch {
		t.Fatalf("got no first batch of %d rows: %v", firstBatch, r.Err())
	}
	closed := errors.New("the reader is gone")
	read.CloseWithError(closed)
	if err := <-done; !errors.Is(err, closed) {
		t.Errorf("got error %v, want the writer's", err)
	}
}

func TestRefusals(t *testing.T) {
	twice := []query.ColumnInfo{{Name: "id"}, {Name: "id", Kind: kv.KindFloat}}
	if _, err := ParquetFile.Render(io.Discard, query.NewTable(twice, nil), &print.Screen{}); err == nil || !strings.Contains(err.Error(), `called "id"`) {
		t.Errorf("two columns of one name: got error %v", err)
	}
	wrong := query.NewTable([]query.ColumnInfo{{Name: "n", Kind: kv.KindInt}}, [][]kv.Value{{kv.StringValue("7a")}})
	if _, err := ArrowStream.Render(io.Discard, wrong, &print.Screen{}); err == nil || err.Error() != `column n: got string "7a", want int` {
		t.Errorf("a text among integers: got error %v", err)
	}
	if err := ArrowStream.CheckScreen(&print.Screen{Terminal: true}); err == nil {
		t.Error("a terminal takes an Arrow stream")
	}
	if err := ArrowStream.CheckScreen(&print.Screen{}); err != nil {
		t.Errorf("a pipe refuses an Arrow stream: %v", err)
	}
	var f Format
	if err := f.UnmarshalText([]byte("arow")); err == nil || !strings.Contains(err.Error(), "line or arrow; did you mean arrow?") {
		t.Errorf("a format that is none: got error %v", err)
	}
	for _, name := range append([]string{arrowName}, print.FormatNames...) {
		if err := f.UnmarshalText([]byte(name)); err != nil || f.String() != name {
			t.Errorf("format %s: got %s, %v", name, f, err)
		}
	}
}

func TestParquetChunks(t *testing.T) {
	for _, c := range []struct{ rows, columns, want int64 }{{0, 5, 0}, {1, 5, 5}, {groupBytes / cellBytes, 1, 1}, {groupBytes/cellBytes + 1, 1, 2}, {10, 1 << 40, 10 << 40}} {
		if got := ParquetChunks(c.rows, c.columns); got != c.want {
			t.Errorf("ParquetChunks(%d, %d): got %d, want %d", c.rows, c.columns, got, c.want)
		}
	}
}
