package columnar

import (
	"fmt"
	"io"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// suspects is a Result of so many rows like those of suspects.
func suspects(rows int) *query.Result {
	columns := []query.ColumnInfo{
		{Name: "id", Kind: kv.KindInt}, {Name: "given_label", Kind: kv.KindClass}, {Name: "score", Kind: kv.KindSingle},
		{Name: "suggested_label", Kind: kv.KindClass}, {Name: "confidence", Kind: kv.KindSingle},
	}
	var classes [40]kv.Value
	for i := range classes {
		classes[i] = kv.StringValue(fmt.Sprintf("subject number %d", i))
	}
	return query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for i := range rows {
			score := float64(float32(1 - float64(i)/float64(rows)))
			row := []kv.Value{kv.IntValue(int64(i) * 7919 % (1 << 40)), classes[i%40], kv.FloatValue(score), classes[(i*7+1)%40], kv.FloatValue(score / 2)}
			if !yield(row, nil) {
				return
			}
		}
	})
}

// BenchmarkFormats writes a million suspects.
func BenchmarkFormats(b *testing.B) {
	for name, f := range map[string]Format{"csv": Format(print.FormatCSV), "arrow": ArrowStream, "parquet": ParquetFile} {
		b.Run(name, func(b *testing.B) {
			const rows = 1_000_000
			for b.Loop() {
				if _, err := f.Render(io.Discard, suspects(rows), &print.Screen{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
