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
	d, err := findRunDamage(ctx, tx)
	for _, c := range d.corrections() {
		report(kv.Problem{Where: c.Where, What: c.What})
	}
	if err != nil && ctx.Err() == nil {
		report(kv.Problem{Where: "runs", What: err.Error()})
	}
	return ctx.Err()
}

// A runDamage is what is wrong with the runs of a store.
type runDamage struct {
	broken     []brokenRun
	classifier error // why the kept classifier cannot be read; nil if it can, or none is kept
	last       int64 // the last run that is whole
	scored     int64 // nodes that a run has scored
	others     int64 // of them, those with the scores of another run, such as example
	example    kv.NodeID
}

// A brokenRun cannot be read, or is the last run and has no fit that can be.
type brokenRun struct {
	key string
	why error
}

// corrections are what Repair does about it.
func (d *runDamage) corrections() (all []kv.Correction) {
	for _, run := range d.broken {
		all = append(all, kv.Correction{
			Where: "runs", What: fmt.Sprintf("run %q: %v", run.key, run.why),
			Done: "removed", Lost: kv.Losses{{Kind: "run", Count: 1}},
		})
	}
	if d.classifier != nil {
		all = append(all, kv.Correction{
			Where: "predictions", What: d.classifier.Error(),
			Done: "removed; nodes that are added have no predictions until one is trained again",
			Lost: kv.Losses{{Kind: "classifier", Count: 1}},
		})
	}
	if d.others > 0 {
		what := "%d nodes, such as node number %d, have the scores of another run than the last, %d"
		all = append(all, kv.Correction{
			Where: "runs", What: fmt.Sprintf(what, d.others, d.example, d.last),
			Done: "all scores, suggestions and confidences are removed",
			Lost: kv.Losses{{Kind: "score", Count: d.scored, AtMost: true}},
		})
	}
	return all
}

// findRunDamage reads all runs, and of every node the run that has scored it. After an error it has what was found so
// far.
func findRunDamage(ctx context.Context, tx *kv.Tx) (d *runDamage, err error) {
	d = &runDamage{}
	var keys []string
	for key, err := range tx.Documents(runsSpace).Keys() {
		if err != nil {
			return d, err
		}
		keys = append(keys, key)
	}
	for i, key := range keys {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return d, ctx.Err()
		}
		run, why := readRun(tx, key)
		if why == nil && i == len(keys)-1 {
			_, why = LastRun(tx)
		}
		if why == nil && runKey(run.ID) != key {
			why = fmt.Errorf("it is run %d", run.ID)
		}
		if why != nil {
			d.broken = append(d.broken, brokenRun{key, why})
		} else {
			d.last = run.ID
		}
	}
	if err := checkClassifier(tx); !errors.Is(err, kv.ErrNotFound) {
		d.classifier = err
	}
	runs, err := tx.Reader(RunColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		return d, nil
	}
	for v := kv.NodeID(0); err == nil && int(v) < tx.NumNodes(); v++ {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return d, ctx.Err()
		}
		var run kv.Value
		if run, err = runs.At(v); err != nil {
			err = fmt.Errorf("node number %d: %w", v, err)
		} else if !run.IsNull() {
			if d.scored++; run.Int() != d.last {
				d.others++
				d.example = v
			}
		}
	}
	return d, err
}

// Repair makes history, labels and decisions agree again, as decide.Repair does, and runs and scores too. It calls
// report for each change. First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair
// removes unreadable runs, and all scores, suggestions and confidences if some are not of the last run; Clean makes
// them again. After an error or a kill, run it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	d, err := findRunDamage(ctx, b.Tx())
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	done := d.corrections()
	if len(done) == 0 {
		return nil
	}
	if err := d.repair(ctx, b); err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	for _, c := range done {
		report(c)
	}
	return nil
}

// repair takes out what is wrong, and what was fitted with it.
func (d *runDamage) repair(ctx context.Context, b *kv.Bulk) (err error) {
	scores := &runWriter{} // writes nothing
	if d.others > 0 {
		if scores, err = newRunWriter(b, nil); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, scores.close()) }()
		if err := scores.finish(); err != nil {
			return err
		}
	}
	return b.Commit(func(tx *kv.Tx) error {
		for _, run := range d.broken {
			if err := tx.Documents(runsSpace).Delete(run.key); err != nil {
				return err
			}
		}
		if d.classifier != nil {
			if err := tx.Documents(predictionsSpace).Delete(classifierKey); err != nil {
				return err
			}
		}
		if d.others == 0 {
			return nil
		}
		return errors.Join(scores.mark(ctx, tx), forgetModel(tx))
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
