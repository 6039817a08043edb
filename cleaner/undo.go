package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Undo is decide.Undo in a store whose scores are those of the last run.
func Undo(ctx context.Context, s *kv.Store, steps int, opt decide.Options) (decide.Entries, error) {
	return decide.Undo(ctx, s, steps, opt, seenByLastRun)
}

// UndoStep is decide.UndoStep in a store whose scores are those of the last run.
func UndoStep(ctx context.Context, s *kv.Store, step int64, opt decide.Options) (decide.Entries, error) {
	return decide.UndoStep(ctx, s, step, opt, seenByLastRun)
}

// seenByLastRun is the newest entry whose label the scores of the last run have seen; 0 without a run.
func seenByLastRun(tx *kv.Tx) (int64, error) {
	run, err := lastRun(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return run.seen(), nil
}

// AsOf names a moment in the past of a store: that at which a run read the labels, or a time. One of the two is set.
type AsOf struct {
	Run  int64     // of which run; 0: none
	Time time.Time // what was entered at or before it counts; zero: none
}

// LabelsAsOf is decide.LabelsAt for a time, or for the moment when a run read the labels. If there is no such run, it
// returns kv.ErrNotFound; unless at has exactly one of the two, ErrOptions.
func LabelsAsOf(ctx context.Context, tx *kv.Tx, at AsOf) (map[kv.NodeID]decide.PastLabel, error) {
	switch {
	case (at.Run != 0) == !at.Time.IsZero():
		return nil, fmt.Errorf("labels as of run %d, time %v: want one of the two: %w", at.Run, at.Time, ErrOptions)
	case at.Run == 0:
		return decide.LabelsAt(ctx, tx, at.Time)
	}
	run, err := readRun(tx, runKey(at.Run))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("labels as of run %d: %w", at.Run, kv.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return decide.LabelsAfter(ctx, tx, run.Decisions)
}
