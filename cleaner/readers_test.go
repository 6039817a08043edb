package cleaner

import (
	"context"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// runColumns reads what a run writes of every node, and by which run, in one snapshot.
func runColumns(tx *kv.Tx) (scores []kv.Value, err error) {
	for _, column := range []string{ScoreColumn, SuggestedColumn, RunColumn} {
		r, err := tx.Reader(column)
		if err != nil {
			return nil, err
		}
		for v := range tx.NumNodes() {
			value, err := r.At(kv.NodeID(v))
			if err != nil {
				return nil, err
			}
			scores = append(scores, value)
		}
	}
	return scores, nil
}

// TestReadersDuringClean has a reader run to its end within every step of a second run: none waits for the run, and
// each sees the scores of the first run alone, as does a snapshot from before when the run is over.
func TestReadersDuringClean(t *testing.T) {
	s := newPlanted(5, 300).load(t, true)
	must.Get(Clean(context.Background(), s, Options{Seed: 1}))(t)
	before := s.Begin()
	defer before.Close()
	want := must.Get(runColumns(before))(t)
	read, stages := 0, map[string]bool{}
	reader := func(stage string, _, _ int64) {
		if stages[stage] {
			return
		}
		stages[stage] = true
		read++
		done := make(chan error)
		go func() {
			done <- s.View(func(tx *kv.Tx) error {
				got, err := runColumns(tx)
				if err == nil && !slices.Equal(got, want) {
					t.Errorf("during %s: a reader sees other scores than those of the first run", stage)
				}
				return err
			})
		}()
		if err := <-done; err != nil {
			t.Errorf("during %s: %v", stage, err)
		}
	}
	run := must.Get(Clean(context.Background(), s, Options{Seed: 2, Progress: reader}))(t)
	if read < 3 {
		t.Errorf("got %d reads during the run, want one in each of several stages", read)
	}
	if got, err := runColumns(before); err != nil || !slices.Equal(got, want) {
		t.Errorf("a snapshot from before the run sees other scores after it, %v", err)
	}
	must.Do(t, s.View(func(tx *kv.Tx) error {
		got, err := runColumns(tx)
		if err == nil && slices.Equal(got, want) {
			t.Error("the second run changed no score")
		}
		for _, id := range got[2*tx.NumNodes():] {
			if !id.IsNull() && id.Int() != run.ID {
				t.Errorf("a score is of run %v, want %d", id, run.ID)
				break
			}
		}
		return err
	}))
}
