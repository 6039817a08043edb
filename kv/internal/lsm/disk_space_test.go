package lsm

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestLevelsAreKnown writes until memtables have become tables and were merged: what a commit knows of the levels is what Badger
// says, and most commits need not ask it.
func TestLevelsAreKnown(t *testing.T) {
	d := testDB(t)
	sizes := func(levels []badger.LevelInfo) (sizes []levelSize) {
		for _, level := range levels {
			sizes = append(sizes, levelSize{tables: level.NumTables, bytes: level.Size})
		}
		return sizes
	}
	commits, known := 0, 0
	for body := strings.Repeat("x", 2000); d.merges.moves.Load() < 8; commits++ {
		before := d.tree
		set(t, d, 100, body)
		if now := d.tree; before.levels != nil && &now.levels[0] == &before.levels[0] {
			known++
		}
		for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			must.Do(t, d.awaitFlush())
			got, want := sizes(d.levels()), sizes(d.db.Levels())
			if reflect.DeepEqual(got, want) {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("after %d commits: got levels %v, want %v", commits, got, want)
			}
		}
	}
	if known < commits/4 {
		t.Errorf("%d of %d commits asked no more, want a quarter", known, commits)
	}
}
