package table

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// edgesText is a text of edges with the ends of ids between quotes, or not.
func edgesText(rows int, separator, quote string) []byte {
	r := rand.New(rand.NewPCG(1, 0))
	text := []byte("src" + separator + "dst\n")
	for range rows {
		text = strconv.AppendInt(append(text, quote...), r.Int64N(1e7), 10)
		text = append(append(append(text, quote...), separator...), quote...)
		text = append(append(strconv.AppendInt(text, r.Int64N(1e7), 10), quote...), '\n')
	}
	return text
}

func edgesParquet(b *testing.B, rows int) []byte {
	b.Helper()
	type edge struct {
		Src int64 `parquet:"src"`
		Dst int64 `parquet:"dst"`
	}
	r := rand.New(rand.NewPCG(1, 0))
	edges := make([]edge, rows)
	for i := range edges {
		edges[i] = edge{r.Int64N(1e7), r.Int64N(1e7)}
	}
	var out bytes.Buffer
	must.Do(b, parquet.Write(&out, edges, parquet.MaxRowsPerRowGroup(1<<17), parquet.Compression(&parquet.Snappy)))
	return out.Bytes()
}

func BenchmarkScan(b *testing.B) {
	const rows = 1 << 20
	plain := edgesText(rows, ",", "")
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{"plain.csv", plain},
		{"quoted.csv", edgesText(rows, ",", `"`)},
		{"plain.tsv", edgesText(rows, "\t", "")},
		{"plain.csv.gz", zipped(b, string(plain))},
		{"edges.parquet", edgesParquet(b, rows)},
	} {
		path := write(b, file.name, file.content)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("file=%s/workers=%d", file.name, workers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(file.content)))
				for b.Loop() {
					r := must.Get(openFile(b.Context(), path, testMemory))(b)
					var count atomic.Int64
					must.Do(b, r.Scan(b.Context(), workers, func(_ int, c *Chunk) error {
						n := int64(0)
						for _, err := range c.Rows() {
							if err != nil {
								return err
							}
							n++
						}
						count.Add(n)
						return nil
					}, nil))
					if count.Load() != rows {
						b.Fatalf("got %d rows, want %d", count.Load(), rows)
					}
					must.Do(b, r.Close())
				}
				b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
