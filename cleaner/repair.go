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
	mends, _, err := findRunDamage(ctx, tx)
	for _, m := range mends {
		report(kv.Problem{Where: m.Where, What: m.What})
	}
	if err != nil && ctx.Err() == nil {
		report(kv.Problem{Where: "runs", What: err.Error()})
	}
	return ctx.Err()
}

// A mend is what Repair does about a damage.
type mend struct {
	kv.Correction
	do func(*kv.Tx) error
}

// findRunDamage reads all runs, and of every node the run that has scored it. It reports whether scores are of another
// run than the last that is whole, so that all of them have to go. After an error it has what was found so far.
func findRunDamage(ctx context.Context, tx *kv.Tx) (mends []mend, areOfOthers bool, err error) {
	var keys []string
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return nil, false, err
		}
		keys = append(keys, key)
	}
	last := int64(0) // that is whole
	for i, key := range keys {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return mends, false, ctx.Err()
		}
		run, why := readRun(tx, key)
		if why == nil && i == len(keys)-1 {
			_, why = LastRun(tx)
		}
		if why == nil && runKey(run.ID) != key {
			why = fmt.Errorf("it is run %d", run.ID)
		}
		if why == nil {
			last = run.ID
			continue
		}
		mends = append(mends, mend{kv.Correction{
			Where: "runs", What: fmt.Sprintf("run %q: %v", key, why), Done: "removed", Lost: kv.Losses{{Kind: "run", Count: 1}},
		}, func(tx *kv.Tx) error { return tx.Documents(runsSpace).Delete(key) }})
	}
	if why := checkClassifier(tx); why != nil && !errors.Is(why, kv.ErrNotFound) {
		mends = append(mends, mend{kv.Correction{
			Where: "predictions", What: why.Error(),
			Done: "removed; nodes that are added have no predictions until one is trained again",
			Lost: kv.Losses{{Kind: "classifier", Count: 1}},
		}, func(tx *kv.Tx) error { return tx.Documents(predictionsSpace).Delete(classifierKey) }})
	}
	runs, err := tx.Reader(RunColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		return mends, false, nil
	}
	var scored, others int64 // nodes that a run has scored, and those of them that another has
	var example kv.NodeID    // of others
	for v := kv.NodeID(0); err == nil && int(v) < tx.NumNodes(); v++ {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return mends, false, ctx.Err()
		}
		var run kv.Value
		if run, err = runs.At(v); err != nil {
			err = fmt.Errorf("node number %d: %w", v, err)
		} else if !run.IsNull() {
			if scored++; run.Int() != last {
				others++
				example = v
			}
		}
	}
	if others > 0 {
		what := "%d nodes, such as node number %d, have the scores of another run than the last, %d"
		mends = append(mends, mend{kv.Correction{
			Where: "runs", What: fmt.Sprintf(what, others, example, last),
			Done: "all scores, suggestions and confidences are removed",
			Lost: kv.Losses{{Kind: "score", Count: scored, AtMost: true}},
		}, forgetModel})
	}
	return mends, others > 0, err
}

// Repair makes history, labels and decisions agree again, as decide.Repair does, and runs and scores too. It calls
// report for each change. First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair
// removes unreadable runs, and all scores, suggestions and confidences if some are not of the last run; Clean makes
// them again. After an error or a kill, run it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	mends, err := repairRuns(ctx, s)
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	for _, m := range mends {
		report(m.Correction)
	}
	return nil
}

// repairRuns takes out what is wrong, and what was fitted with it.
func repairRuns(ctx context.Context, s *kv.Store) (mends []mend, err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	mends, areOfOthers, err := findRunDamage(ctx, b.Tx())
	if err != nil || len(mends) == 0 {
		return nil, err
	}
	none := &runWriter{} // writes no scores over those that are there
	if areOfOthers {
		if none, err = newRunWriter(b, nil); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, none.close()) }()
		if err := none.finish(); err != nil {
			return nil, err
		}
	}
	return mends, b.Commit(func(tx *kv.Tx) error {
		for _, m := range mends {
			if err := m.do(tx); err != nil {
				return err
			}
		}
		return none.mark(ctx, tx)
	})
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

// Undo is decide.Undo in a store whose scores are those of the last run.
func Undo(ctx context.Context, s *kv.Store, opt decide.Options) ([]decide.Decision, error) {
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
