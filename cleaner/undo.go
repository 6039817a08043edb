package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Undo is decide.Undo in a store whose scores are those of the last run.
func Undo(ctx context.Context, s *kv.Store, steps int, opt decide.Options) (decide.Entries, error) {
	return decide.Undo(ctx, s, steps, opt, seenByLastRun)
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
