package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, content, 0o600))
	return path
}

func zipped(t testing.TB, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	must.Get(z.Write([]byte(content)))(t)
	must.Do(t, z.Close())
	return out.Bytes()
}

func parquetFile[T any](t testing.TB, rows ...T) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, parquet.Write(&out, rows, parquet.MaxRowsPerRowGroup(2)))
	return out.Bytes()
}

// read returns the header and the rows, each as its line and its fields, quoted.
func read(path string) (string, error) { return readWithin(path, testMemory) }

// readWithin is read within a memory, in bytes.
func readWithin(path string, memory int64) (string, error) {
	r, err := Open(context.Background(), path, Options{Texts: []string{"id"}, Memory: memory})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q", r.Header())
	for row, err := range rowsOf(r) {
		if err != nil {
			return b.String(), errors.Join(err, r.Close())
		}
		fmt.Fprintf(&b, " %d%q", row.Line, row.Fields)
	}
	if r.Offset() > r.Size() {
		return b.String(), fmt.Errorf("offset %d of %d", r.Offset(), r.Size())
	}
	return b.String(), r.Close()
}

func TestTextErrors(t *testing.T) {
	long := strings.Repeat("x", MaxRecord+2)
	gz := zipped(t, "id,label\n"+strings.Repeat("1,A\n", 10000))
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"a.csv", nil, ": the file is empty, want a header line that names the columns"},
		{"a.edges", []byte("# a\n# b\n"), ": all lines begin with #, as comments do, want a header line"},
		{"a.csv", []byte("id,label\n1,A\n2\n"), ":3: got 1 fields, want 2 (id,label)"},
		{"a.csv", []byte("id,label\n1,\"A\n2,B\n"), ":2: a quoted field is still open at the end of the file"},
		{"a.csv", []byte("id,label\n1,\"A\"x\n"), `:2: got "x" after a closing quote, want the end of the field`},
		{"a.csv", []byte("id,label\n1,A\x00\n"), ":2: got a NUL byte, want text"},
		{"a.csv", []byte("id,label\n1,\xff\n"), ":2: got bytes that are not UTF-8"},
		{"a.csv", []byte("\xff\xfei\x00d\x00"), ":1: got UTF-16 text, want UTF-8: iconv -f UTF-16 -t UTF-8 converts it"},
		{"a.csv", []byte("id,label\ra,X\nb,Y\n"),
			":1: got a carriage return in the header, want lines that end with LF or CRLF"},
		{"a.csv", []byte("id,label\n" + long), ":2: got a record of more than 16 MiB"},
		{"a.csv", []byte("id,label\n1,\"" + strings.Repeat("xxxxxxx\n", MaxRecord/8+1)),
			": got a record of more than 16 MiB"},
		{"a.csv.gz", gz[:len(gz)/2], "the file cannot be read on: it ends early"},
		{"a.csv.gz", []byte("\x1f\x8b\n1,2\n"), ": is not a whole gzip file ("},
		{"a.parquet.gz", []byte(zipped(t, "PAR1\x15\x04")),
			":1: got parquet data within gzip, want it alone: unpack it with gunzip"},
		{"a.tsv", []byte("id\tlabel\n1\tA\t\n2\tB\t\n"), ":2: got 3 fields, want 2 (id,label)"},
		{"a.csv", []byte("PK\x03\x04"), ":1: got a zip archive"},
		{"a.csv", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"),
			":1: got a pointer of Git LFS"},
	} {
		path := write(t, c.name, c.content)
		got, err := read(path)
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.80s, %v\nwant an error with %s", c.name, got, err, c.want)
		}
	}
	if _, err := read(t.TempDir() + "/none.csv"); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: got %v", err)
	}
	if _, err := read(write(t, "a.csv", nil) + "/../"); err == nil {
		t.Error("a directory: got no error")
	}
}

func TestParquet(t *testing.T) {
	type row struct {
		ID    int64     `parquet:"id"`
		Label *string   `parquet:"label,optional"`
		Score float64   `parquet:"score"`
		Half  float32   `parquet:"half"`
		Small uint32    `parquet:"small"`
		OK    bool      `parquet:"ok"`
		When  time.Time `parquet:"when,timestamp(millisecond)"`
		Day   int32     `parquet:"day,date"`
	}
	theory := "Théorie"
	at := time.Date(2020, 2, 29, 12, 0, 0, 500e6, time.UTC)
	content := parquetFile(t,
		row{ID: -1, Label: &theory, Score: 0.1, Half: 0.25, Small: 1 << 31, OK: true, When: at, Day: 1}, row{ID: 2, When: at},
		row{ID: 3, When: at})
	got, err := read(write(t, "a.parquet", content))
	want := `["id" "label" "score" "half" "small" "ok" "when" "day"]` +
		` 1["-1" "Théorie" "0.1" "0.25" "2147483648" "true" "2020-02-29T12:00:00.500Z" "1970-01-02"]` +
		` 2["2" "" "0" "0" "0" "false" "2020-02-29T12:00:00.500Z" "1970-01-01"]` +
		` 3["3" "" "0" "0" "0" "false" "2020-02-29T12:00:00.500Z" "1970-01-01"]`
	if err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	got, err = read(write(t, "empty.parquet", parquetFile[row](t)))
	if err != nil || got != `["id" "label" "score" "half" "small" "ok" "when" "day"]` {
		t.Errorf("no rows: got %s, %v", got, err)
	}
}

// Some writers put a row group into a file without rows, whose columns begin nowhere.
func TestParquetEmptyGroup(t *testing.T) {
	type edge struct {
		Src int64 `parquet:"src"`
		Dst int64 `parquet:"dst"`
	}
	content := parquetFile(t, edge{1, 2})
	file := must.Get(parquet.OpenFile(bytes.NewReader(content), int64(len(content))))(t)
	metadata := file.Metadata()
	metadata.NumRows = 0
	group := &metadata.RowGroups[0]
	group.NumRows, group.TotalByteSize = 0, 0
	for i := range group.Columns {
		column := &group.Columns[i].MetaData
		column.NumValues, column.DataPageOffset, column.DictionaryPageOffset = 0, -1, 0
	}
	footer := must.Get(thrift.Marshal(new(thrift.CompactProtocol), metadata))(t)
	empty := append([]byte("PAR1"), footer...)
	empty = binary.LittleEndian.AppendUint32(empty, uint32(len(footer)))
	got, err := read(write(t, "empty.parquet", append(empty, "PAR1"...)))
	if err != nil || got != `["src" "dst"]` {
		t.Errorf("a row group without rows: got %s, %v", got, err)
	}
}

func TestParquetErrors(t *testing.T) {
	type row struct {
		ID    string `parquet:"id"`
		Label string `parquet:"label"`
	}
	type list struct {
		Tags [][]string `parquet:"tags,list"`
	}
	good := parquetFile(t, row{"1", "A"}, row{"2", "B"})
	footer := bytes.Clone(good)
	copy(footer[len(footer)-8:], "\xff\xff\xff\x7f")
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{[]byte("PAR1"), ": is not a whole parquet file (it ends early)"},
		{good[:len(good)-10], ": is not a whole parquet file (it ends early: no PAR1 at its end)"},
		{footer, ": is not a whole parquet file (its footer claims 2147483647 bytes of a file of"},
		{parquetFile(t, list{[][]string{{"x"}}}), ": has no columns of booleans, numbers"},
		{parquetFile(t, row{"1", "A\x00"}), `:1: column "label": got a NUL byte, want text`},
		{parquetFile(t, row{"1", "A"}, row{"\xff", "B"}), `:2: column "id": got bytes that are not UTF-8`},
	} {
		path := write(t, "a.parquet", c.content)
		got, err := read(path)
		if err == nil || !strings.Contains(err.Error(), path+c.want) {
			t.Errorf("got %s, %v\nwant an error with %s", got, err, c.want)
		}
	}
}

// Damage anywhere in a parquet file gives an error of ours or other values, and no panic.
func TestParquetDamage(t *testing.T) {
	type row struct {
		ID    string `parquet:"id"`
		Year  int64  `parquet:"year"`
		Label string `parquet:"label,dict"`
	}
	var rows []row
	for i := range int64(50) {
		rows = append(rows, row{fmt.Sprint("node ", i), i * i, "AB"[i%2 : i%2+1]})
	}
	good := parquetFile(t, rows...)
	r := rand.New(rand.NewPCG(1, 0))
	failed := 0
	for range 100 {
		content := bytes.Clone(good)
		content[r.IntN(len(content))] ^= 1 << r.IntN(8)
		if _, err := read(write(t, "a.parquet", content)); err != nil {
			failed++
			if _, ours := errors.AsType[*Error](err); !ours || strings.ContainsAny(err.Error(), "<>\n") ||
				strings.Contains(err.Error(), "thrift") {
				t.Errorf("a damaged file: got %v, want one line of ours", err)
			}
		}
	}
	if failed == 0 {
		t.Error("100 damaged files: got no error at all")
	}
}

// testMemory is far more than the files of tests take to read.
const testMemory = 1 << 30
