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
	last, err := eachBrokenRun(ctx, tx, func(key string, _ bool, why error) error {
		problem("run %q: %v", key, why)
		return nil
	})
	if err != nil {
		if ctx.Err() == nil {
			problem("%v", err)
		}
		return ctx.Err()
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

// eachBrokenRun hands to do the runs that cannot be read, and the last one if its model cannot be, and says why.
// It returns the ID of the last run that can be read.
func eachBrokenRun(
	ctx context.Context, tx *kv.Tx, do func(key string, isLast bool, why error) error,
) (last int64, err error) {
	var keys []string
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return 0, err
		}
		keys = append(keys, key)
	}
	for i, key := range keys {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return last, ctx.Err()
		}
		isLast := i == len(keys)-1
		run, why := readRun(tx, key)
		if why == nil {
			last = run.ID
			if isLast {
				_, why = LastRun(tx)
			}
			if runKey(run.ID) != key {
				why = fmt.Errorf("it is run %d", run.ID)
			}
		}
		if why == nil {
			continue
		}
		if err := do(key, isLast, why); err != nil {
			return last, err
		}
	}
	return last, nil
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

// Repair makes history, labels and decisions agree again, as decide.Repair does, and runs and scores too. It calls
// report for each change. First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair
// removes unreadable runs, and all scores, suggestions and confidences if some are of missing runs; Clean makes them
// again. After an error or a kill, run it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	sound := true
	err := s.View(func(tx *kv.Tx) error {
		return checkRuns(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	var done []kv.Correction
	err = s.Update(func(tx *kv.Tx) error {
		done, err = removeBroken(ctx, tx)
		return err
	})
	if err == nil {
		for _, c := range done {
			report(c)
		}
		err = removeScores(ctx, s, report)
	}
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	return nil
}

// removeBroken removes the runs, and the kept classifier, that cannot be read.
func removeBroken(ctx context.Context, tx *kv.Tx) (done []kv.Correction, err error) {
	_, err = eachBrokenRun(ctx, tx, func(key string, isLast bool, why error) error {
		done = append(done, kv.Correction{
			Where: "runs", What: fmt.Sprintf("run %q: %v", key, why), Done: "removed", Lost: kv.Losses{{Kind: "run", Count: 1}},
		})
		if isLast {
			if err := forgetModel(tx); err != nil {
				return err
			}
		}
		return tx.Documents(runsSpace).Delete(key)
	})
	if err != nil {
		return nil, err
	}
	if why := checkClassifier(tx); why != nil && !errors.Is(why, kv.ErrNotFound) {
		done = append(done, kv.Correction{
			Where: "predictions", What: why.Error(),
			Done: "removed; nodes that are added have no predictions until one is trained again", Lost: kv.Losses{{Kind: "classifier", Count: 1}},
		})
		err = tx.Documents(predictionsSpace).Delete(classifierKey)
	}
	return done, err
}

// forgetModel removes the data kept of the last run only, so that it is not taken for that of the run before.
func forgetModel(tx *kv.Tx) error {
	return errors.Join(tx.Documents(fitSpace).Put(fitKey, fitRecord{}), dropMixture(tx))
}

// dropMixture removes the predictions that combine made for an earlier run.
func dropMixture(tx *kv.Tx) error {
	m, err := tx.Matrix(CombinedMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = m.Drop()
	}
	return err
}

// removeScores removes all scores if nodes have those of another run than the last: Clean makes them again.
func removeScores(ctx context.Context, s *kv.Store, report func(kv.Correction)) (err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	runs, err := Runs(b.Tx())
	if err != nil {
		return err
	}
	last, there := int64(0), map[int64]bool{}
	for _, run := range runs {
		last, there[run.ID] = run.ID, true
	}
	others, _, err := scoredByOthers(ctx, b.Tx(), last)
	if err != nil || len(others) == 0 {
		return err
	}
	var scores, nodes, newest, missing int64
	for run, count := range others {
		nodes, newest = nodes+count, max(newest, run)
		if !there[run] {
			missing++
		}
	}
	if err := eachStored(ctx, b.Tx(), func(kv.NodeID, kv.Class, float64) error { scores++; return nil }); err != nil {
		return err
	}
	w, err := newRunWriter(b, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.finish(); err != nil {
		return err
	}
	var losses kv.Losses
	losses.AddAll(kv.Losses{{Kind: "score", Count: scores}})
	if newest > last {
		losses.AddAll(kv.Losses{{Kind: "run", Count: missing}})
	}
	err = b.Commit(func(tx *kv.Tx) error {
		if newest > last { // what is kept of the last run is of one that is not there
			return errors.Join(w.mark(ctx, tx), forgetModel(tx))
		}
		return w.mark(ctx, tx)
	})
	if err == nil {
		report(kv.Correction{
			Where: "runs", What: fmt.Sprintf("%d nodes have the scores of another run than the last, %d", nodes, last),
			Done: "all scores, suggestions and confidences are removed", Lost: losses,
		})
	}
	return err
}

// Undo is decide.Undo in a store whose scores are those of the last run.
func Undo(ctx context.Context, s *kv.Store, opt decide.Options) (decide.Entries, error) {
	return decide.Undo(ctx, s, opt, seenByLastRun)
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
