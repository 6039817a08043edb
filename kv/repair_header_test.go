package kv

import (
	"os"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestRepairWithoutHeaderAndJournal loses both.
func TestRepairWithoutHeaderAndJournal(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	dir := s.Dir()
	writeRaw(t, s, headerKey(), nil)
	damagedStores.Store(dir, true)
	closeStore(t, s)
	must.Do(t, os.Remove(onlyJournal(t, dir)))
	var done []Correction
	lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(m Correction) { done = append(done, m) })
	if err != nil || lost.String() != "an unknown number of commits, 1 identity of the store" {
		t.Errorf("got %v lost (%v) after %v", lost, err, done)
	}
	damagedStores.Delete(dir)
	checkClean(t, openStore(t, dir, Options{}))
}
