package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestDamagedOlderLog has a crash leave the logs of two memtables, the older of which is then damaged or missing.
// Commits are missing before the last: Open says so, and Repair takes every decision from decisions.log.
func TestDamagedOlderLog(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 5)
	closeStore(t, s) // so that the header lies in a table
	s = openStore(t, s.Dir(), Options{})
	decide(t, s, 0, 5)
	dir := copyStore(t, s.Dir())
	// Opened again, the store has a log of its own beside the one that becomes a table.
	later := openStore(t, copyStore(t, dir), Options{})
	decide(t, later, 5, 10)
	older, newer := fileNames(t, dir, "*.mem"), fileNames(t, later.Dir(), "*.mem")
	newest := newer[len(newer)-1]
	for _, name := range []string{newest, "decisions.log", "catalog"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && name != newest {
			t.Fatal(err)
		}
		must.Do(t, copyFile(filepath.Join(later.Dir(), name), filepath.Join(dir, name)))
	}
	if len(older) != 1 || older[0] == newest {
		t.Fatalf("logs %v and %v, want an older and a newer one", older, newer)
	}
	if n := decided(t, copyStore(t, dir), 0, 10); n != 10 {
		t.Fatalf("without damage there are %d of 10 decisions", n)
	}
	for how, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"flipped": func(path string) error { return flipByte(path, 100) },
	} {
		c := copyStore(t, dir)
		damagedStores.Store(c, true)
		must.Do(t, damage(filepath.Join(c, older[0])))
		for range 2 { // one that is refused leaves it as it was
			if _, err := Open(c, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: opening it: got %v, want ErrCorrupt", how, err)
			}
		}
		if lost, _ := repairLosing(t, c); !strings.Contains(lost.String(), "commit") {
			t.Errorf("%s: repaired, lost %s, want commits", how, lost)
		}
		view(t, openStore(t, c, Options{}), func(tx *Tx) error {
			for i := range 10 {
				if _, err := tx.Space("decisions").Get(fmt.Appendf(nil, "%03d", i)); err != nil {
					t.Errorf("%s: decision %d, after a repair: %v", how, i, err)
				}
			}
			return nil
		})
	}
}
