package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// TestWriterWritesAsBadger writes the same records as Badger's own builder, and expects the same bytes.
func TestWriterWritesAsBadger(t *testing.T) {
	const version = 7
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "table")
		w := NewWriter(path)
		builder := table.NewTableBuilder(table.Options{
			TableSize: 1 << 20, BlockSize: BlockSize, BloomFalsePositive: BloomFalsePositive,
		})
		for i := range 1 + r.IntN(300) {
			key := fmt.Appendf(record.Prefix(record.KindSpace, record.Generation(seed)), "%03d%0*d", i, r.IntN(30), 7)
			body := make([]byte, r.IntN(1<<r.IntN(16))) // mostly small, some longer than a block
			must.Do(t, w.Add(key, record.Encode(key, body), version))
			builder.Add(y.KeyWithTs(key, version), y.ValueStruct{Value: record.Encode(key, body)}, 0)
		}
		must.Do(t, w.End())
		must.Do(t, w.Sync())
		got := must.Get(os.ReadFile(path))(t)
		if want := builder.Finish(); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: got %d bytes, want other %d", seed, len(got), len(want))
		}
		builder.Close()
	}
}
