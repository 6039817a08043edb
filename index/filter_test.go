package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestFilterOnManyGoroutines decides drawn batches on several goroutines, and expects what one finds.
func TestFilterOnManyGoroutines(t *testing.T) {
	const n = 20_000
	tx := scoredStore(t, n).Begin()
	defer tx.Close()
	where := or(label(Eq, "class 1"), and(score(Gt, 0.5), not(label(Eq, "class 2"))))
	var reads [2]Reads
	var filters [2]*filter
	for i, workers := range []int{1, 4} {
		r := newReader(tx, nil)
		r.workers = workers
		filters[i] = newFilter(r, where, &reads[i])
	}
	r := rand.New(rand.NewPCG(1, 0))
	passed := 0
	for _, size := range []int{1, leastPart, leastPart + 1, 100, lastBatch} {
		batch := make([]kv.NodeID, size)
		for i := range batch {
			batch[i] = kv.NodeID(r.IntN(n))
		}
		want := must.Get(filters[0].decide(t.Context(), batch))(t)
		got, err := filters[1].decide(t.Context(), batch)
		if err != nil || !slices.Equal(got, want) || reads[0] != reads[1] {
			t.Errorf("%d nodes: got %v, %v after reads of %+v, want %v after %+v", size, got, err, reads[1], want, reads[0])
		}
		for _, ok := range got {
			if ok {
				passed++
			}
		}
	}
	if passed == 0 || passed == int(reads[0].Rows) {
		t.Errorf("%d of %d nodes passed, want some", passed, reads[0].Rows)
	}
}
