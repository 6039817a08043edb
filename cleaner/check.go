package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Check checks what the rooms below know nothing of: the history of decisions, as decide.Check does, and the runs. Every
// run can be read, with the detectors and the confident joint of the last, and every score is the last run's. It returns
// an error only where it cannot go on, as ctx.Err().
func Check(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	if err := decide.Check(ctx, tx, report); err != nil {
		return err
	}
	return checkRuns(ctx, tx, report)
}

func checkRuns(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	problem := func(format string, args ...any) {
		report(kv.Problem{Where: "runs", What: fmt.Sprintf(format, args...)})
	}
	last := int64(0)
	for key, err := range tx.Documents(runsSpace) {
		if err != nil {
			problem("%v", err)
			return nil
		}
		run, err := readRun(tx, key)
		switch {
		case err != nil:
			problem("%v", err)
			continue
		case runKey(run.ID) != key:
			problem("run %d is under %q", run.ID, key)
		}
		last = run.ID
	}
	if last > 0 {
		if _, err := LastRun(tx); err != nil {
			problem("run %d, the last: %v", last, err)
		}
	}
	runs, err := tx.Reader(RunColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		return nil
	}
	if err != nil {
		return err
	}
	other, example := 0, kv.NodeID(0)
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		run, err := runs.At(v)
		if err != nil {
			problem("node number %d: %v", v, err)
			return nil
		}
		if !run.IsNull() && run.Int() != last {
			other, example = other+1, v
		}
	}
	if other > 0 {
		problem("%d nodes, such as node number %d, have the scores of another run than the last, %d", other, example, last)
	}
	return nil
}
