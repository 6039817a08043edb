package cleaner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Features of a cleaned store use the diagonals that the cleaning has kept.
func TestFeaturesUseKeptDiagonals(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(23, 80).load(t, true)
	read := func() (values []float32, computed []int) {
		err := s.View(func(tx *kv.Tx) error {
			rows, err := Features(ctx, s, tx, 3, kv.Both, ops.Options{OnStage: func(stage kv.Stage) {
				if stage.Name == "diagonal" {
					computed = append(computed, stage.Hop)
				}
			}})
			if err != nil {
				return err
			}
			values = make([]float32, tx.NumNodes()*rows.Width())
			err = rows.Read(kv.Range{End: kv.NodeID(tx.NumNodes())}, 0, rows.Width(), values)
			return errors.Join(err, rows.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
		return values, computed
	}
	if _, err := Clean(ctx, s, Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	got, computed := read()
	if len(computed) > 0 {
		t.Errorf("after a cleaning: got the diagonals of hops %v computed, want none", computed)
	}
	if err := os.RemoveAll(filepath.Join(s.Dir(), "work")); err != nil {
		t.Fatal(err)
	}
	want, computed := read()
	if !slices.Equal(computed, []int{2, 3}) {
		t.Errorf("with nothing kept: got the diagonals of hops %v computed, want 2 and 3", computed)
	}
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("value %d: got %v, want %v", i, got[i], want[i])
		}
	}
}
