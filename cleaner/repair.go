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

// Repair makes history, labels and decisions agree again, as decide.Repair does, and runs and scores too. It calls
// report for each change. First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair
// removes unreadable runs, and all scores, suggestions and confidences if some are of missing runs; Clean makes them
// again. After an error or a kill, run it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	runs := runsRepair{store: s, report: report}
	return runs.run(ctx)
}

// A runsRepair takes out runs that cannot be read, and what nodes have of runs that are not there.
type runsRepair struct {
	store  *kv.Store
	report func(kv.Correction)
}

// run does nothing in a store of which checkRuns finds no problem.
func (r *runsRepair) run(ctx context.Context) error {
	sound := true
	err := r.store.View(func(tx *kv.Tx) error {
		return checkRuns(ctx, tx, func(kv.Problem) { sound = false })
	})
	if err != nil || sound {
		return err
	}
	if err := errors.Join(r.removeRuns(ctx), r.removeScores(ctx), r.removeClassifier()); err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	return nil
}

// removeRuns removes the runs that cannot be read, and the last one as long as what is kept of it beside its document
// cannot be.
func (r *runsRepair) removeRuns(ctx context.Context) error {
	for {
		key, why, last := "", error(nil), false
		err := r.store.View(func(tx *kv.Tx) (err error) {
			key, last, why, err = brokenRun(tx)
			return err
		})
		if err = errors.Join(err, ctx.Err()); err != nil || why == nil {
			return err
		}
		err = r.store.Update(func(tx *kv.Tx) error {
			if last {
				if err := forgetModel(tx); err != nil {
					return err
				}
			}
			return tx.Documents(runsSpace).Delete(key)
		})
		if err != nil {
			return err
		}
		r.report(kv.Correction{
			Where: "runs", What: fmt.Sprintf("run %q: %v", key, why), Done: "removed", Lost: kv.Losses{{Kind: "run", Count: 1}},
		})
	}
}

// removeClassifier removes a kept classifier that cannot be read.
func (r *runsRepair) removeClassifier() error {
	var why error
	err := r.store.View(func(tx *kv.Tx) error {
		why = checkClassifier(tx)
		return nil
	})
	if err != nil || why == nil || errors.Is(why, kv.ErrNotFound) {
		return err
	}
	err = r.store.Update(func(tx *kv.Tx) error { return tx.Documents(predictionsSpace).Delete(classifierKey) })
	if err == nil {
		r.report(kv.Correction{
			Where: "predictions", What: why.Error(),
			Done: "removed; nodes that are added have no predictions until one is trained again", Lost: kv.Losses{{Kind: "classifier", Count: 1}},
		})
	}
	return err
}

// brokenRun finds a run that cannot be read, and why; no reason if there is none. It says whether it is the last.
func brokenRun(tx *kv.Tx) (key string, last bool, why, err error) {
	end, err := lastRunKey(tx)
	if errors.Is(err, kv.ErrNotFound) {
		return "", false, nil, nil
	}
	if err != nil {
		return "", false, nil, err
	}
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return "", false, nil, err
		}
		run, err := readRun(tx, key)
		if err == nil && runKey(run.ID) != key {
			err = fmt.Errorf("it is run %d", run.ID)
		}
		if err != nil {
			return key, key == end, err, nil
		}
	}
	_, why = LastRun(tx)
	return end, true, why, nil
}

// forgetModel removes what is kept of the last run only, so that it is not taken for that of the run before.
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
func (r *runsRepair) removeScores(ctx context.Context) (err error) {
	b, err := r.store.Bulk(ctx)
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
	losses := kv.Losses{}
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
		r.report(kv.Correction{
			Where: "runs", What: fmt.Sprintf("%d nodes have the scores of another run than the last, %d", nodes, last),
			Done: "all scores, suggestions and confidences are removed", Lost: losses,
		})
	}
	return err
}

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
