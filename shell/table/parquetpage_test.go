package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// TestParquetEncodings reads the same rows however they are packed.
func TestParquetEncodings(t *testing.T) {
	type row struct {
		ID    string  `parquet:"id"`
		Label *string `parquet:"label,optional"`
		Year  int64   `parquet:"year"`
		Month int32   `parquet:"month"`
		Score float64 `parquet:"score"`
		OK    bool    `parquet:"ok"`
	}
	var rows []row
	var want strings.Builder
	want.WriteString(`["id" "label" "year" "month" "score" "ok"]`)
	labels := []string{"theory", "theories", "", "practice"}
	for i := range 9000 {
		r := row{ID: fmt.Sprintf("node/%06d", i*7), Year: int64(i%40) - 20, Month: int32(i % 12), Score: float64(i) / 8, OK: i/1000%2 == 0}
		label := ""
		if i%5 != 0 && i/2000 != 1 {
			label = labels[i%len(labels)]
			r.Label = &label
		}
		rows = append(rows, r)
		fmt.Fprintf(&want, " %d%q", i+1, []string{r.ID, label, fmt.Sprint(r.Year), fmt.Sprint(r.Month), fmt.Sprint(r.Score), fmt.Sprint(r.OK)})
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw} {
		for _, version := range []int{1, 2} {
			for _, texts := range []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray, &parquet.DeltaByteArray} {
				numbers := encoding.Encoding(&parquet.Plain)
				switch texts {
				case &parquet.DeltaByteArray:
					numbers = &parquet.DeltaBinaryPacked
				case &parquet.RLEDictionary:
					numbers = &parquet.RLEDictionary
				}
				var out bytes.Buffer
				err := parquet.Write(&out, rows, parquet.MaxRowsPerRowGroup(5000), parquet.Compression(codec), parquet.DataPageVersion(version),
					parquet.PageBufferSize(10_000), parquet.DefaultEncodingFor(parquet.ByteArray, texts),
					parquet.DefaultEncodingFor(parquet.Int64, numbers), parquet.DefaultEncodingFor(parquet.Int32, numbers))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := read(write(t, "a.parquet", out.Bytes())); err != nil || got != want.String() {
					t.Errorf("%v, pages of version %d, texts %v, numbers %v: got %.200s…, %v, want %.200s…", codec, version, texts, numbers, got, err, want.String())
				}
			}
		}
	}
}

// A claim is a page whose header, or whose runs, say that more is in it than its bytes.
type claim struct {
	name   string
	header format.PageHeader
	page   []byte
	codec  format.CompressionCodec
	kind   format.Type
	null   bool // the column may be null
	want   string
}

// parquetOf is a file of one column of one page.
func parquetOf(t *testing.T, c claim) []byte {
	t.Helper()
	protocol := new(thrift.CompactProtocol)
	if c.header.CompressedPageSize == 0 {
		c.header.CompressedPageSize = int32(len(c.page))
	}
	header, err := thrift.Marshal(protocol, &c.header)
	if err != nil {
		t.Fatal(err)
	}
	file := append([]byte("PAR1"), header...)
	file = append(file, c.page...)
	repetition := format.Required
	if c.null {
		repetition = format.Optional
	}
	meta := format.FileMetaData{
		Version: 1, NumRows: 1,
		Schema: []format.SchemaElement{
			{Name: "schema", NumChildren: thrift.New(int32(1))},
			{Name: "id", Type: thrift.New(c.kind), RepetitionType: thrift.New(repetition)},
		},
		RowGroups: []format.RowGroup{{NumRows: 1, TotalByteSize: int64(len(file)), Columns: []format.ColumnChunk{{
			MetaData: format.ColumnMetaData{
				Type: c.kind, Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"id"}, Codec: c.codec, NumValues: 1,
				TotalCompressedSize: int64(len(file)) - 4, DataPageOffset: 4,
			},
		}}}},
	}
	footer, err := thrift.Marshal(protocol, &meta)
	if err != nil {
		t.Fatal(err)
	}
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// TestParquetClaims reads pages that claim to be, or unpack to, far more than the file has: nothing of that is allocated.
func TestParquetClaims(t *testing.T) {
	zeros := make([]byte, 16<<20)
	packed := func(codec compress.Codec) []byte {
		out, err := codec.Encode(nil, zeros)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	v1 := func(values, size int32, encoding format.Encoding) format.PageHeader {
		return format.PageHeader{Type: format.DataPage, UncompressedPageSize: size, DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})}
	}
	long := binary.AppendUvarint(nil, math.MaxInt32<<1) // a run of so many values
	delta := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), math.MaxInt32)
	delta = append(delta, make([]byte, 100)...)
	// 1001 prefixes of which the first is 0 and the others are 2^20, as differences: one of 2^20, then none.
	prefixes := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 1024), 1), 1001)
	prefixes = append(prefixes, 0, 0, 32)
	prefixes = append(prefixes, append([]byte{0, 0, 16, 0}, make([]byte, 4*1023)...)...)
	suffixes := append(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 1024), 1), 1001), 0, 0, 0)
	const room = "of memory, want at most"
	const damaged = "is a damaged parquet file: from here on it cannot be decoded"
	for _, c := range []claim{
		{name: "a page of 2 GiB packed", header: format.PageHeader{CompressedPageSize: math.MaxInt32, DataPageHeader: thrift.New(format.DataPageHeader{})}, want: damaged},
		{name: "a page of 2 GiB", header: v1(1, math.MaxInt32, format.Plain), page: []byte("x"), codec: format.Gzip, want: room},
		{name: "a page of less than nothing", header: v1(1, -1, format.Plain), page: []byte("x"), codec: format.Gzip, want: damaged},
		{name: "2^31 values", header: v1(math.MaxInt32, 4, format.Plain), page: []byte("xxxx"), want: room},
		{name: "less than no values", header: v1(-1, 4, format.Plain), page: []byte("xxxx"), want: damaged},
		{name: "gzip that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Gzip), codec: format.Gzip, want: damaged},
		{name: "snappy that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Snappy), codec: format.Snappy, want: damaged},
		{name: "zstd that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Zstd), codec: format.Zstd, want: damaged},
		{name: "brotli that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Brotli), codec: format.Brotli, want: damaged},
		{name: "lz4 that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Lz4Raw), codec: format.Lz4Raw, want: damaged},
		{name: "lz4 that is none", header: v1(1, 100, format.Plain), page: []byte("\xff\xff\xff\xff"), codec: format.Lz4Raw, want: damaged},
		{name: "snappy of 16 MiB", header: v1(1, 16<<20, format.Plain), page: packed(&parquet.Snappy), codec: format.Snappy, want: room},
		{name: "levels in a long run", header: v1(1, 0, format.Plain), null: true, page: append(append([]byte{byte(len(long) + 1), 0, 0, 0}, long...), 1), want: damaged},
		{name: "levels beyond the page", header: v1(1, 0, format.Plain), null: true, page: []byte{255, 255, 255, 255}, want: damaged},
		{name: "indices in a long run", header: v1(1, 0, format.RLEDictionary), page: append(append([]byte{8}, long...), 1), want: damaged},
		{name: "booleans in a long run", header: v1(1, 0, format.RLE), kind: format.Boolean, page: append(append([]byte{byte(len(long) + 1), 0, 0, 0}, long...), 1), want: damaged},
		{name: "2^31 differences", header: v1(1, 0, format.DeltaBinaryPacked), kind: format.Int64, page: delta, want: damaged},
		{name: "2^31 lengths", header: v1(1, 0, format.DeltaLengthByteArray), page: delta, want: damaged},
		{name: "2^31 prefixes", header: v1(1, 0, format.DeltaByteArray), page: delta, want: damaged},
		{name: "prefixes of 1 GiB", header: v1(1001, 0, format.DeltaByteArray), page: append(prefixes, suffixes...), want: room},
		{name: "a dictionary of 2^31 values", header: format.PageHeader{
			Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: math.MaxInt32}),
		}, page: []byte("xxxx"), want: room},
	} {
		if c.kind == 0 && c.name != "booleans in a long run" {
			c.kind = format.ByteArray
		}
		path := write(t, "a.parquet", parquetOf(t, c))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readWithin(path, 32<<20)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), path+`:1: column "id": `) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %s", c.name, err, c.want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: %d MiB were allocated, want at most 16", c.name, got>>20)
		}
	}
}

func readWithin(path string, memory int64) error {
	r, err := Open(context.Background(), path, memory)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, err := range r.Rows() {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestParquetFooters reads footers that are made to harm those who decode them.
func TestParquetFooters(t *testing.T) {
	footer := func(text string) []byte {
		file := append([]byte("PAR1"), text...)
		return append(binary.LittleEndian.AppendUint32(file, uint32(len(text))), "PAR1"...)
	}

	for name, text := range map[string]string{
		"a list of 2^31":            "\x15\x02\x19\xfc\xff\xff\xff\xff\x07",
		"a text of 2^31":            "\x15\x02\x68\xff\xff\xff\xff\x07",
		"a map of 2^31":             "\x15\x02\xbb\xff\xff\xff\xff\x07\x88",
		"structs in each other":     strings.Repeat("\x1c", 1<<20),
		"lists in each other":       "\x19" + strings.Repeat("\x19", 1<<20),
		"maps in each other":        "\x1b" + strings.Repeat("\x01\xbb", 1<<20),
		"a million empty structs":   "\x15\x02\x19\xfc\x80\x80\x40" + strings.Repeat("\x00", 1<<20) + "\x00",
		"a number without an end":   "\x15" + strings.Repeat("\xff", 20),
		"a type that there is none": "\x1f",
		"nothing":                   "",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readWithin(write(t, "a.parquet", footer(text)), 64<<20)
		runtime.ReadMemStats(&after)
		if _, ours := errors.AsType[*Error](err); !ours || !strings.Contains(err.Error(), "is not a whole parquet file (its footer") {
			t.Errorf("%s: got %v, want an error of the footer", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: %d MiB were allocated, want at most 16", name, got>>20)
		}
	}
}

// FuzzParquet reads anything as a parquet file: it has rows, or an error of ours.
func FuzzParquet(f *testing.F) {
	type row struct {
		ID    string  `parquet:"id"`
		Label *string `parquet:"label,optional,dict"`
		Year  int64   `parquet:"year"`
	}
	label := "theory"
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd, &parquet.Gzip, &parquet.Brotli, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			err := parquet.Write(&out, []row{{"a", &label, 1}, {"b", nil, 2}, {"c", &label, 1}}, parquet.Compression(codec), parquet.DataPageVersion(version),
				parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaByteArray), parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(out.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		err := readWithin(write(t, "a.parquet", content), 1<<20)
		if _, ours := errors.AsType[*Error](err); err != nil && !ours {
			t.Errorf("got %v, want an error of ours", err)
		}
	})
}
