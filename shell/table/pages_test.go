package table

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A claim is a page whose header, or whose runs, say that more is in it than its bytes.
type claim struct {
	name   string
	header format.PageHeader
	page   []byte
	codec  format.CompressionCodec
	kind   format.Type
	null   bool // the column may be null
	noRoom bool
}

// parquetOf is a file of one column of one page, which a dictionary goes before if it has indices.
func parquetOf(t *testing.T, c claim) []byte {
	t.Helper()
	protocol := new(thrift.CompactProtocol)
	if c.header.CompressedPageSize == 0 {
		c.header.CompressedPageSize = int32(len(c.page))
	}
	file := []byte("PAR1")
	if c.header.DataPageHeader.V.Encoding == format.RLEDictionary {
		file = append(file, must.Get(thrift.Marshal(protocol, &format.PageHeader{Type: format.DictionaryPage,
			CompressedPageSize: 5, UncompressedPageSize: 5,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1})}))(t)...)
		file = append(file, "\x01\x00\x00\x00x"...)
	}
	file = append(append(file, must.Get(thrift.Marshal(protocol, &c.header))(t)...), c.page...)
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
	footer := must.Get(thrift.Marshal(protocol, &meta))(t)
	file = append(file, footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// TestClaims reads pages that claim to be, or unpack to, far more than the file has: nothing of that is allocated.
func TestClaims(t *testing.T) {
	zeros := make([]byte, 16<<20)
	packed := func(codec compress.Codec) []byte {
		return must.Get(codec.Encode(nil, zeros))(t)
	}
	v1 := func(values, size int32, encoding format.Encoding) format.PageHeader {
		return format.PageHeader{Type: format.DataPage, UncompressedPageSize: size,
			DataPageHeader: thrift.New(format.DataPageHeader{
				NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
			})}
	}
	long := binary.AppendUvarint(nil, math.MaxInt32<<1) // a run of so many values
	delta := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), math.MaxInt32)
	delta = append(delta, make([]byte, 100)...)
	for _, c := range []claim{
		{name: "a page of 2 GiB packed",
			header: format.PageHeader{CompressedPageSize: math.MaxInt32, DataPageHeader: thrift.New(format.DataPageHeader{})}},
		{name: "a page of 2 GiB", header: v1(1, math.MaxInt32, format.Plain), page: []byte("x"), codec: format.Gzip,
			noRoom: true},
		{name: "a page of less than nothing", header: v1(1, -1, format.Plain), page: []byte("x"), codec: format.Gzip},
		{name: "2^31 values", header: v1(math.MaxInt32, 4, format.Plain), page: []byte("xxxx"), noRoom: true},
		{name: "less than no values", header: v1(-1, 4, format.Plain), page: []byte("xxxx")},
		{name: "gzip that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Gzip),
			codec: format.Gzip},
		{name: "snappy that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Snappy),
			codec: format.Snappy},
		{name: "zstd that unpacks to more", header: v1(1, 100, format.Plain), page: packed(&parquet.Zstd),
			codec: format.Zstd},
		{name: "snappy of 16 MiB", header: v1(1, 16<<20, format.Plain), page: packed(&parquet.Snappy), codec: format.Snappy,
			noRoom: true},
		{name: "levels in a long run", header: v1(1, 0, format.Plain), null: true,
			page: append(append([]byte{byte(len(long) + 1), 0, 0, 0}, long...), 1)},
		{name: "levels beyond the page", header: v1(1, 0, format.Plain), null: true, page: []byte{255, 255, 255, 255}},
		{name: "indices in a long run", header: v1(1, 0, format.RLEDictionary), page: append(append([]byte{8}, long...), 1)},
		{name: "booleans in a long run", header: v1(1, 0, format.RLE), kind: format.Boolean,
			page: append(append([]byte{byte(len(long) + 1), 0, 0, 0}, long...), 1)},
		{name: "2^31 differences", header: v1(1, 0, format.DeltaBinaryPacked), kind: format.Int64, page: delta},
		{name: "2^31 lengths", header: v1(1, 0, format.DeltaLengthByteArray), page: delta},
		{name: "2^31 prefixes", header: v1(1, 0, format.DeltaByteArray), page: delta},
		{name: "a dictionary of 2^31 values", header: format.PageHeader{
			Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: math.MaxInt32}),
		}, page: []byte("xxxx"), noRoom: true},
	} {
		if c.kind == 0 && c.name != "booleans in a long run" {
			c.kind = format.ByteArray
		}
		got, err := allocating(t, parquetOf(t, c), 32<<20)
		if _, noRoom := errors.AsType[roomError](err); err == nil || noRoom != c.noRoom {
			t.Errorf("%s: got %v, want an error, of room: %v", c.name, err, c.noRoom)
		}
		if got > 16<<20 {
			t.Errorf("%s: %d MiB were allocated, want at most 16", c.name, got>>20)
		}
	}
}

// allocating is the error of reading a file within a memory, and the number of bytes that this allocates.
func allocating(t *testing.T, content []byte, memory int64) (bytes uint64, err error) {
	t.Helper()
	path := write(t, "a.parquet", content)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = readWithin(path, memory)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// TestFooters reads footers that are made to harm those who decode them.
func TestFooters(t *testing.T) {
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
		got, err := allocating(t, footer(text), 64<<20)
		if err == nil || !strings.Contains(err.Error(), "is not a whole parquet file (its footer") {
			t.Errorf("%s: got %v, want an error of the footer", name, err)
		}
		if got > 16<<20 {
			t.Errorf("%s: %d MiB were allocated, want at most 16", name, got>>20)
		}
	}
}
