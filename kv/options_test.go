package kv

import (
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestBudgets checks that what Badger may hold stays within any budget, and that Badger takes the options.
func TestBudgets(t *testing.T) {
	for _, budget := range []int64{1, minMemoryBudget, 200 << 20, 1 << 30, 1 << 40} {
		opt, err := Options{MemoryBudget: budget}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		b, err := badgerOptions(t.TempDir(), opt, true)
		if err != nil {
			t.Fatal(err)
		}
		// An arena is 1.3 times its memtable; beside those that wait one is filled.
		held := b.MemTableSize*13/10*int64(b.NumMemtables+1) + b.IndexCacheSize + b.BlockCacheSize
		if held > opt.MemoryBudget {
			t.Errorf("budget %d: Badger may hold %d bytes", opt.MemoryBudget, held)
		}
		if b.MemTableSize*15/100 < b.ValueThreshold {
			t.Errorf("budget %d: a transaction of %d bytes has no room for a value of %d", budget, b.MemTableSize*15/100, b.ValueThreshold)
		}
		db, err := badger.Open(b)
		if err != nil {
			t.Fatalf("budget %d: %v", budget, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSmallerBudgetAfterCrash replays the log of a large memtable into a store with a small budget.
func TestSmallerBudgetAfterCrash(t *testing.T) {
	s := newStore(t, Options{MemoryBudget: 1 << 30})
	const spaces, entries = 12, 20 // 15 MiB, more than a small memtable takes
	for i := range spaces {
		update(t, s, func(tx *Tx) error {
			for j := range entries {
				if err := tx.Space(fmt.Sprint("s", i)).Put(fmt.Append(nil, j), make([]byte, MaxSpaceValue)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	c := openStore(t, copyStore(t, s.Dir()), Options{MemoryBudget: minMemoryBudget})
	view(t, c, func(tx *Tx) error {
		for i := range spaces {
			count := 0
			for _, err := range tx.Space(fmt.Sprint("s", i)).Ascend(nil) {
				if err != nil {
					return err
				}
				count++
			}
			if count != entries {
				t.Errorf("space %d: got %d entries, want %d", i, count, entries)
			}
		}
		return nil
	})
}
