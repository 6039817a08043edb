package cleaner

import (
	"context"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Indexes that users made on what a run writes are there after the next run, and equal their columns.
func TestCleanKeepsIndexes(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(3, 300).load(t, false)
	mustClean(t, s, Options{Seed: 1, Imported: AsGiven})
	made := []string{ConfidenceColumn, SuggestedColumn, RunColumn}
	for _, column := range made {
		if err := index.Create(ctx, s, column); err != nil {
			t.Fatalf("index on %s: %v", column, err)
		}
	}
	mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	view(t, s, func(tx *kv.Tx) error {
		for _, column := range append(made, ScoreColumn, kv.LabelColumn) {
			if c, _ := tx.Column(column); !c.Indexed {
				t.Errorf("%s has no index after the second run", column)
			}
		}
		return index.Check(ctx, tx, func(p kv.Problem) { t.Errorf("%s: %s", p.Where, p.What) })
	})

	must.Do(t, index.Drop(s, SuggestedColumn))
	mustClean(t, s, Options{Seed: 3, Imported: AsGiven})
	view(t, s, func(tx *kv.Tx) error {
		var indexed []string
		for _, c := range tx.Columns() {
			if c.Indexed {
				indexed = append(indexed, c.Name)
			}
		}
		if want := []string{ConfidenceColumn, kv.LabelColumn, RunColumn, ScoreColumn}; !slices.Equal(indexed, want) {
			t.Errorf("indexes after one was dropped: got %v, want %v", indexed, want)
		}
		return nil
	})
}
