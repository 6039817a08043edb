package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/batch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// scoredColumns are what a run writes by node.
var scoredColumns = []string{ScoreColumn, SuggestedColumn, ConfidenceColumn, RunColumn}

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
	err := tx.Documents(fitSpace).Put(fitKey, fitRecord{})
	if m, missing := tx.Matrix(CombinedMatrix); !errors.Is(missing, kv.ErrNotFound) {
		err = errors.Join(err, missing, m.Drop())
	}
	return err
}

// removeScores removes what nodes have of another run than the last, a range of nodes in a transaction.
func (r *runsRepair) removeScores(ctx context.Context) error {
	last, newest, nodes := int64(0), int64(0), 0
	missing := int64(0) // runs that nodes name, and that are not there
	err := r.store.View(func(tx *kv.Tx) error {
		all, err := Runs(tx)
		if err != nil {
			return err
		}
		there := map[int64]bool{}
		for _, run := range all {
			last, there[run.ID] = run.ID, true
		}
		others, _, err := scoredByOthers(ctx, tx, last)
		for run := range others {
			if newest = max(newest, run); !there[run] {
				missing++
			}
		}
		nodes = tx.NumNodes()
		return err
	})
	if err != nil || newest == 0 {
		return err
	}
	if newest > last { // what is kept of the last run is of one that is not there
		if err := r.store.Update(forgetModel); err != nil {
			return err
		}
	}
	var removals, scores, inBatch, scoresInBatch int64
	err = batch.Each(ctx, r.store, batch.Size, nodes, func(tx *kv.Tx, first, end int) (err error) {
		inBatch, scoresInBatch, err = removeScoresOf(tx, kv.NodeID(first), kv.NodeID(end), last)
		return err
	}, func(int, int) { removals, scores = removals+inBatch, scores+scoresInBatch })
	if removals == 0 {
		return err
	}
	losses := kv.Losses{}
	losses.AddAll(kv.Losses{{Kind: "score", Count: scores}})
	if newest > last {
		losses.AddAll(kv.Losses{{Kind: "run", Count: missing}})
	}
	r.report(kv.Correction{
		Where: "runs", What: fmt.Sprintf("%d nodes have the scores of another run than the last, %d", removals, last),
		Done: "their scores, suggestions and confidences are removed", Lost: losses,
	})
	return err
}

// removeScoresOf is removeScores for the nodes first ≤ v < end. It counts the nodes, and their scores.
func removeScoresOf(tx *kv.Tx, first, end kv.NodeID, last int64) (removals, scores int64, err error) {
	for v := first; v < end; v++ {
		run, err := tx.Value(v, RunColumn)
		if errors.Is(err, kv.ErrNotFound) { // it was removed
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		if run.IsNull() || run.Int() == last {
			continue
		}
		removals++
		for _, name := range scoredColumns {
			value, err := tx.Value(v, name)
			if errors.Is(err, kv.ErrNoColumn) || err == nil && value.IsNull() {
				continue
			}
			if err != nil {
				return 0, 0, err
			}
			if name == ScoreColumn {
				scores++
			}
			if err := tx.SetValue(v, name, kv.Value{}); err != nil {
				return 0, 0, err
			}
		}
	}
	return removals, scores, nil
}
