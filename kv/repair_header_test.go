package kv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// TestRepairWithoutHeader loses the header, and the file catalog, which has a copy of it, or not.
func TestRepairWithoutHeader(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		s := newStore(t, Options{})
		addNodes(t, s, 3)
		dir, id, want := s.Dir(), s.ID(), "nothing"
		writeRaw(t, s, headerKey(), nil)
		damagedStores.Store(dir, true)
		closeStore(t, s)
		if without {
			want = "1 identity of the store"
			must.Do(t, os.Remove(filepath.Join(dir, lsm.CatalogName)))
		}
		var done []Correction
		lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil,
			func(m Correction) { done = append(done, m) })
		if err != nil || lost.String() != want {
			t.Errorf("got %v lost (%v) after %v, want %s", lost, err, done, want)
		}
		damagedStores.Delete(dir)
		again := openStore(t, dir, Options{})
		checkClean(t, again)
		if same := again.ID() == id; same == without {
			t.Errorf("without a copy %t: it is %t that the ID is the same", without, same)
		}
	}
}
