package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Check checks the history of decisions, as decide.Check does, and the runs: that every run can be read, and what
// was fitted in the last run, that every score belongs to the last run, and that the kept
// classifier can be read. It returns an error only if it cannot continue, such as ctx.Err().
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
	for key, err := range tx.Documents(runsSpace).Keys() {
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
	if err := checkClassifier(tx); err != nil && !errors.Is(err, kv.ErrNotFound) {
		report(kv.Problem{Where: "predictions", What: err.Error()})
	}
	others, example, err := scoredByOthers(ctx, tx, last)
	if err != nil {
		if ctx.Err() == nil {
			problem("%v", err)
		}
		return ctx.Err()
	}
	count := int64(0)
	for _, nodes := range others {
		count += nodes
	}
	if count > 0 {
		problem("%d nodes, such as node number %d, have the scores of another run than the last, %d", count, example, last)
	}
	return nil
}

// scoredByOthers counts the nodes that have the scores of another run than the last, by run, and names one of them.
func scoredByOthers(ctx context.Context, tx *kv.Tx, last int64) (nodes map[int64]int64, example kv.NodeID, err error) {
	runs, err := tx.Reader(RunColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	nodes = make(map[int64]int64)
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		run, err := runs.At(v)
		if err != nil {
			return nil, 0, fmt.Errorf("node number %d: %w", v, err)
		}
		if !run.IsNull() && run.Int() != last {
			nodes[run.Int()]++
			example = v
		}
	}
	return nodes, example, nil
}
