package table

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A column of 16-bit floats has numbers.
func TestFloat16(t *testing.T) {
	type row struct {
		ID   string    `parquet:"id"`
		Half [2]byte   `parquet:"half"`
		List [][2]byte `parquet:"list,list"`
	}
	var file bytes.Buffer
	must.Do(t, parquet.Write(&file, []row{{"a", [2]byte{0, 0x3c}, [][2]byte{{0, 0x3c}, {0, 0xc0}}},
		{"b", [2]byte{0, 0xbe}, nil}, {"c", [2]byte{0, 0x7e}, nil}}))
	// The footer is written again, with the type that this writer cannot write.
	content := file.Bytes()
	end := len(content) - 8
	begin := end - int(binary.LittleEndian.Uint32(content[end:]))
	var meta format.FileMetaData
	must.Do(t, thrift.Unmarshal(new(thrift.CompactProtocol), content[begin:end], &meta))
	for i := range meta.Schema {
		if meta.Schema[i].Name == "half" || meta.Schema[i].Name == "element" {
			meta.Schema[i].LogicalType.Value = new(format.Float16Type)
		}
	}
	footer := must.Get(thrift.Marshal(new(thrift.CompactProtocol), &meta))(t)
	content = append(content[:begin:begin], footer...)
	content = append(binary.LittleEndian.AppendUint32(content, uint32(len(footer))), "PAR1"...)
	path := filepath.Join(t.TempDir(), "nodes.parquet")
	must.Do(t, os.WriteFile(path, content, 0o600))
	in := must.Get(Open(t.Context(), Parts{paths: []string{path}}.WithoutNested(), testMemory))(t)
	defer in.Close()
	var got []string
	for row, err := range in.Rows() {
		must.Do(t, err)
		got = append(got, join(row, "|"))
	}
	if want := []string{"a|1|[1,-2]", "b|-1.5|[]", "c|NaN|[]"}; !slices.Equal(got, want) || !in.IsFloat(1) {
		t.Errorf("got %q, floats %v, want %q", got, in.IsFloat(1), want)
	}
}

// A whole float reads as the integer, so that ids that pandas made floats are those of other files.
func TestWholeFloats(t *testing.T) {
	type row struct {
		Double float64 `parquet:"double"`
		Float  float32 `parquet:"float"`
	}
	var file bytes.Buffer
	must.Do(t, parquet.Write(&file, []row{
		{999_999, 1 << 24}, {1_000_000, 1 << 30}, {-1_234_567, 1e6}, {1 << 53, 0.5}, {1 << 54, 1e-7}, {1_234_567.5, 0},
		{math.Inf(1), 1e30},
	}))
	got := readAll(t, Parts{paths: []string{write(t, "ids.parquet", file.Bytes())}})
	want := []string{
		"double|float", "999999|16777216", "1000000|1073741824", "-1234567|1000000", "9007199254740992|0.5",
		"1.8014398509481984e+16|1e-07",
		"1.2345675e+06|0", "+Inf|1e+30",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
