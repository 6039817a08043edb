package print

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

var (
	kinds = []query.ColumnInfo{
		{Name: "id", Kind: kv.KindInt}, {Name: "text", Kind: kv.KindString}, {Name: "label",
			Kind: kv.KindClass}, {Name: "score", Kind: kv.KindSingle},
		{Name: "weight", Kind: kv.KindFloat}, {Name: "old", Kind: kv.KindBool}, {Name: "any", Kind: kv.KindNull},
	}
	kindRows = [][]kv.Value{
		{kv.ValueOf("-7"), kv.ValueOf("東\n"), kv.ValueOf("B"), kv.ValueOf(0.5), kv.ValueOf(1e300), kv.ValueOf(true),
			kv.ValueOf(0.25)},
		{{}, {}, {}, {}, {}, {}, {}},
		{kv.ValueOf(1 << 60), kv.ValueOf("bad \xff"), kv.ValueOf("A"), kv.ValueOf(1.0), kv.ValueOf(3), kv.ValueOf(false),
			kv.ValueOf("x")},
	}
	wantRows = [][]any{
		{int64(-7), "東\n", "B", 0.5, 1e300, true, "0.25"},
		{nil, nil, nil, nil, nil, nil, nil},
		{int64(1 << 60), "bad \uFFFD", "A", 1.0, 3.0, false, "x"},
	}
)

// render writes a Result that must not fail.
func render(t *testing.T, r *query.Result) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Get(Render(&out, r, FormatParquet, &Screen{}))(t)
	return out.Bytes()
}

func TestEveryKind(t *testing.T) {
	data := render(t, query.NewTable(kinds, kindRows))
	packed := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
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
			must.Do(t, err)
		}
		must.Do(t, in.Close())
	}
	return rows
}

// numbers is a Result with so many rows of an integer and a text, that ends with an error if there is one.
func numbers(rows int, text string, failure error) *query.Result {
	columns := []query.ColumnInfo{{Name: "n", Kind: kv.KindInt}, {Name: "s", Kind: kv.KindString}}
	return query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for i := range rows {
			if !yield([]kv.Value{kv.ValueOf(int64(i)), kv.ValueOf(text)}, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	})
}

func TestRowGroupsAreBounded(t *testing.T) {
	const rows = 5000
	text := strings.Repeat("x", 4000)
	data := render(t, numbers(rows, text, nil))
	file := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
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

// TestPartsAreNotTakenForTheWhole: a file of an answer that failed half way cannot be read.
func TestPartsAreNotTakenForTheWhole(t *testing.T) {
	broken := errors.New("block 7 is corrupt")
	for _, rows := range []int{0, 100, 5000} {
		var out bytes.Buffer
		if _, err := Render(&out, numbers(rows, strings.Repeat("x", 4000), broken), FormatParquet, &Screen{}); !errors.Is(err, broken) {
			t.Errorf("%d rows: got error %v, want %v", rows, err, broken)
		}
		if _, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len())); err == nil {
			t.Errorf("%d rows: the part reads as a whole", rows)
		}
	}
}

func TestRefusals(t *testing.T) {
	twice := []query.ColumnInfo{{Name: "id"}, {Name: "id", Kind: kv.KindFloat}}
	if _, err := Render(io.Discard, query.NewTable(twice, nil), FormatParquet, &Screen{}); err == nil ||
		!strings.Contains(err.Error(), `called "id"`) {
		t.Errorf("two columns of one name: got error %v", err)
	}
	wrong := query.NewTable([]query.ColumnInfo{{Name: "n", Kind: kv.KindInt}}, [][]kv.Value{{kv.ValueOf("7a")}})
	if _, err := Render(io.Discard, wrong, FormatParquet, &Screen{}); err == nil ||
		err.Error() != `column n: got string "7a", want int` {
		t.Errorf("a text among integers: got error %v", err)
	}
	if err := FormatParquet.Check(&Screen{Terminal: true}); err == nil {
		t.Error("a terminal takes a Parquet file")
	}
	if err := FormatParquet.Check(&Screen{}); err != nil {
		t.Errorf("a pipe refuses a Parquet file: %v", err)
	}
	var f Format
	if err := f.UnmarshalText([]byte("parket")); err == nil || !strings.Contains(err.Error(), "markdown or parquet") {
		t.Errorf("a format that is none: got error %v", err)
	}
	for _, name := range FormatNames {
		if err := f.UnmarshalText([]byte(name)); err != nil || f.String() != name {
			t.Errorf("format %s: got %s, %v", name, f, err)
		}
	}
}

func TestFootersAreBounded(t *testing.T) {
	to := must.Get(newParquetSink(io.Discard, []query.ColumnInfo{{Name: "s", Kind: kv.KindString}}))(t)
	row := []kv.Value{kv.ValueOf(strings.Repeat("x", groupBytes))}
	to.chunks = mostChunks - 1
	must.Do(t, errors.Join(to.row(row), to.row(row)))
	if err := to.row(row); err == nil || !strings.Contains(err.Error(), "want another format") {
		t.Errorf("got error %v, want a refusal of one chunk more", err)
	}
}
