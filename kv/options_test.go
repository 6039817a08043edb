package kv

import (
	"fmt"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestSmallerBudgetAfterCrash replays the log of a large memtable into a store with a small budget.
func TestSmallerBudgetAfterCrash(t *testing.T) {
	s := newStore(t, Options{MemoryBudget: 1 << 30})
	const spaces, entries = 12, 20 // 15 MiB, more than a small memtable takes
	for i := range spaces {
		update(t, s, func(tx *Tx) error {
			for j := range entries {
				must.Do(t, tx.Space(fmt.Sprint("s", i)).Put(fmt.Append(nil, j), make([]byte, MaxSpaceValue)))
			}
			return nil
		})
	}
	c := openStore(t, copyStore(t, s.Dir()), Options{MemoryBudget: minMemoryBudget})
	view(t, c, func(tx *Tx) error {
		for i := range spaces {
			count := 0
			for _, err := range tx.Space(fmt.Sprint("s", i)).Ascend(nil) {
				must.Do(t, err)
				count++
			}
			if count != entries {
				t.Errorf("space %d: got %d entries, want %d", i, count, entries)
			}
		}
		return nil
	})
}
