package table

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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
	for i := range 3000 {
		r := row{ID: fmt.Sprintf("node/%06d", i*7), Year: int64(i%40) - 20, Month: int32(i % 12), Score: float64(i) / 8,
			OK: i/333%2 == 0}
		label := ""
		if i%5 != 0 && i/700 != 1 {
			label = labels[i%len(labels)]
			r.Label = &label
		}
		rows = append(rows, r)
		fmt.Fprintf(&want, " %d%q", i+1,
			[]string{r.ID, label, fmt.Sprint(r.Year), fmt.Sprint(r.Month), fmt.Sprint(r.Score), fmt.Sprint(r.OK)})
	}
	for i, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd} {
		version := 1 + i%2
		for _, texts := range []encoding.Encoding{&parquet.Plain, &parquet.RLEDictionary, &parquet.DeltaLengthByteArray} {
			numbers := encoding.Encoding(&parquet.Plain)
			switch texts {
			case &parquet.DeltaLengthByteArray:
				numbers = &parquet.DeltaBinaryPacked
			case &parquet.RLEDictionary:
				numbers = &parquet.RLEDictionary
			}
			var out bytes.Buffer
			must.Do(t, parquet.Write(&out, rows, parquet.MaxRowsPerRowGroup(1700), parquet.Compression(codec),
				parquet.DataPageVersion(version),
				parquet.PageBufferSize(3300), parquet.DefaultEncodingFor(parquet.ByteArray, texts),
				parquet.DefaultEncodingFor(parquet.Int64, numbers), parquet.DefaultEncodingFor(parquet.Int32, numbers)))
			if got, err := read(write(t, "a.parquet", out.Bytes())); err != nil || got != want.String() {
				t.Errorf("%v, pages of version %d, texts %v, numbers %v: got %.200s…, %v, want %.200s…", codec, version, texts,
					numbers, got, err, want.String())
			}
		}
	}
}

// TestParquetPages says where a page cannot be decoded, or takes more memory than there is.
func TestParquetPages(t *testing.T) {
	var out bytes.Buffer
	type row struct {
		ID string `parquet:"id"`
	}
	var rows []row
	for i := range 20_000 {
		rows = append(rows, row{fmt.Sprintf("node %06d", i)})
	}
	must.Do(t, parquet.Write(&out, rows))
	damaged := bytes.Clone(out.Bytes())
	clear(damaged[4:12])
	for name, c := range map[string]struct {
		content []byte
		memory  int64
		want    string
	}{
		"a page that cannot be decoded": {damaged, 32 << 20, ":1: column \"id\": is a damaged parquet file from here on: "},
		"a page without room":           {out.Bytes(), 400_000, ":1: column \"id\": got a page that takes "},
		"no footer":                     {damaged[:100], 32 << 20, ": is not a whole parquet file ("},
	} {
		path := write(t, "a.parquet", c.content)
		if _, err := readWithin(path, c.memory); err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
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
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd, &parquet.Gzip} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			must.Do(f, parquet.Write(&out, []row{{"a", &label, 1}, {"b", nil, 2}, {"c", &label, 1}}, parquet.Compression(codec),
				parquet.DataPageVersion(version),
				parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaLengthByteArray),
				parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked)))
			f.Add(out.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, err := readWithin(write(t, "a.parquet", content), 1<<20)
		if _, ours := errors.AsType[*Error](err); err != nil && !ours {
			t.Errorf("got %v, want an error of ours", err)
		}
	})
}
