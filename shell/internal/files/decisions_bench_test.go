package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/shell/internal/papers"
)

// BenchmarkReadDecisions reads a file with a decision about every node.
func BenchmarkReadDecisions(b *testing.B) {
	const nodes = 20_000
	store := papers.Scored(b, nodes)
	var lines, table strings.Builder
	fmt.Fprintln(&table, "id,label")
	for v := range nodes {
		fmt.Fprintf(&lines, `{"seq":%d,"step":%[1]d,"time":"%s","id":%d,"decision":"reject","from":"A","to":"A","who":"ann","why":null,"run":1,"score":0.98,"undoes":null}`+"\n",
			v+1, time.Unix(int64(v), 0).UTC().Format(time.RFC3339), v)
		fmt.Fprintf(&table, "%d,A\n", v)
	}
	for name, text := range map[string]string{"jsonl": lines.String(), "csv": table.String()} {
		b.Run("nodes=20000/format="+name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "d."+name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tx := store.Begin()
				sorted := spill.New(b.TempDir(), 1<<30)
				err := readDecisions(b.Context(), path, tx, Adopting{Job: Job{Memory: 1 << 30}}, sorted, new(LeftOut))
				tx.Close()
				if err != nil || sorted.Len() != nodes {
					b.Fatalf("got %d decisions and error %v, want %d", sorted.Len(), err, nodes)
				}
				if err := sorted.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(nodes)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}
