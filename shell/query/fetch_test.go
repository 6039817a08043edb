package query

import (
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestBatchesFitMemory holds that rows are fetched in batches that grow as far as a share of the memory, and whose rows
// stay the same.
func TestBatchesFitMemory(t *testing.T) {
	const n = 20_000
	store := starStore(t, n)
	must.Do(t, store.View(func(tx *kv.Tx) error {
		for _, c := range []struct {
			memory int64
			most   int // rows of a batch
		}{{0, lastBatch}, {1 << 20, lastBatch}, {16 << 20, 2*lastBatch + lastBatch/2}, {1 << 30, n}} {
			f := must.Get(newQuery(t.Context(), tx, Options{Workers: 1}, nil).fetcher([]string{"id", "label"}))(t)
			f.memory = c.memory
			asked, given, most := 0, 0, 0
			nodes := func(yield func(kv.NodeID, error) bool) {
				for v := range kv.NodeID(n) {
					if asked++; !yield(v, nil) {
						return
					}
				}
			}
			for row, err := range f.rows(t.Context(), nodes) {
				must.Do(t, err)
				most = max(most, asked-given)
				if want, err := tx.ID(kv.NodeID(given)); err != nil || row[0].Str() != want {
					t.Fatalf("row %d in %d bytes: got %v, %v, want %s", given, c.memory, row, err, want)
				}
				given++
			}
			if given != n || most > c.most || c.memory > 16<<20 && most <= lastBatch {
				t.Errorf("%d bytes: got %d rows in batches of up to %d, want %d rows in batches of up to %d", c.memory, given,
					most, n, c.most)
			}
		}
		return nil
	}))
}
