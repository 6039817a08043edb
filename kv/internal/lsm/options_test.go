package lsm

import (
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestBudgets checks that what Badger may hold stays within any budget, and that Badger takes the options.
func TestBudgets(t *testing.T) {
	for _, budget := range []int64{testBudget, 200 << 20, 1 << 30, 1 << 40} {
		b := must.Get(badgerOptions(t.TempDir(), Options{MemoryBudget: budget}))(t)
		// An arena is 1.3 times its memtable; beside those that wait one is filled.
		held := b.MemTableSize*13/10*(waitingMemTables+1) + b.IndexCacheSize + b.BlockCacheSize
		if held > budget {
			t.Errorf("budget %d: Badger may hold %d bytes", budget, held)
		}
		if b.MemTableSize*15/100 < b.ValueThreshold {
			t.Errorf("budget %d: a transaction of %d bytes has no room for a value of %d", budget, b.MemTableSize*15/100,
				b.ValueThreshold)
		}
		db, err := badger.Open(b)
		if err != nil {
			t.Fatalf("budget %d: %v", budget, err)
		}
		must.Do(t, db.Close())
	}
}

// TestLogsBesidePatterns finds the logs of a database whose path has the characters of a pattern.
func TestLogsBesidePatterns(t *testing.T) {
	for _, name := range []string{"run[1]", "a[b", "[!x]"} {
		dir := filepath.Join(t.TempDir(), name)
		d := openTest(t, dir)
		set(t, d, 3, "body")
		if logs, err := memTableLogs(dir); err != nil || len(logs) != 1 {
			t.Errorf("%s: got logs %v (%v), want one", name, logs, err)
		}
		closeTest(t, d)
	}
}
