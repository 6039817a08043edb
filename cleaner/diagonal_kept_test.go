package cleaner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Every hop is kept once it is done, also where a later one fails, and is not computed again.
func TestDiagonalsAreKeptHopByHop(t *testing.T) {
	ctx := context.Background()
	s := newPlanted(23, 80).load(t, false)
	err := s.View(func(tx *kv.Tx) (err error) {
		want, err := ops.ComputeDiagonals(ctx, tx, 4, ops.Options{})
		if err != nil {
			return err
		}
		w, err := openWorkplace(ctx, s, tx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		for _, run := range []struct {
			hops     int
			computed []int // but for hop 1, which takes no work
			fails    bool
		}{{2, []int{2}, false}, {4, []int{3}, true}, {4, []int{4}, false}, {3, nil, false}} {
			inner, cancel := context.WithCancel(ctx)
			var computed []int
			opt := ops.Options{OnStage: func(stage kv.Stage) {
				if stage.Name != "diagonal" {
					return
				}
				computed = append(computed, stage.Hop)
			}, Progress: func(string, int64, int64) {
				if run.fails && slices.Contains(computed, 3) {
					cancel()
				}
			}}
			held, err := w.diagonals(inner, tx, diagonalJob{hops: run.hops}, opt)
			if run.fails {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%d hops, cancelled in the last: got error %v, want %v", run.hops, err, context.Canceled)
				}
			} else if err != nil {
				return err
			}
			cancel()
			if !slices.Equal(computed, run.computed) {
				t.Errorf("%d hops: got hops %v computed, want %v", run.hops, computed, run.computed)
			}
			for k := 1; !run.fails && k <= run.hops; k++ {
				if !slices.Equal(held.At(k), want.At(k)) {
					t.Errorf("%d hops: hop %d differs in its bits", run.hops, k)
				}
			}
			if err := held.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
