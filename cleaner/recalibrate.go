package cleaner

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// recalibrate is the second step of Rescore. A run of PresetPaper keeps no calibration, and stays as it is.
func recalibrate(ctx context.Context, s *kv.Store) (done *Rescoring, err error) {
	var last *recalibration
	err = s.View(func(tx *kv.Tx) (err error) {
		last, err = calibrateLast(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if last.isDone() {
		return &last.Rescoring, nil
	}
	b, err := s.Bulk()
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	if last, err = calibrateLast(ctx, b.Tx()); err != nil { // as it is now that nobody else writes
		return nil, err
	}
	if last.isDone() {
		return &last.Rescoring, nil
	}
	w, err := last.newWriter(b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.byScore.Close()) }()
	if err := w.rewrite(ctx); err != nil {
		return nil, err
	}
	err = b.Commit(func(tx *kv.Tx) error { return errors.Join(w.byScore.Mark(tx), last.Run.put(tx)) })
	if err != nil {
		return nil, err
	}
	return &last.Rescoring, nil
}

// A recalibration is that of the last run, with the decisions since.
type recalibration struct {
	Rescoring
	last    int64 // newest entry of the history
	was, is calibration.Estimate
}

// isDone says that there is no decision that was not taken in, or nothing to take it into.
func (c *recalibration) isDone() bool {
	return !c.Before.isCalibrated() || c.last <= max(c.Before.Decisions, c.Before.Rescored)
}

// isCalibrated says that the run keeps a calibration: one of PresetPaper does not.
func (r *Run) isCalibrated() bool {
	return r.Model != nil && r.Model.Calibration != nil && r.Model.Calibration.IsWhole()
}

// A PastEstimate is what the calibration of a run came to, in force for the decisions after Seq of the history until the next.
type PastEstimate struct {
	Seq          int64
	Shift, Lapse float64
}

// logOddsOf is the log-odds, before any shift, of the score that a person has seen at a decision; false if the run did not give it.
func (r *Run) logOddsOf(verdict decide.Verdict, now calibration.Estimate) (l float64, ok bool) {
	if verdict.Run != r.ID || math.IsNaN(verdict.Score) {
		return 0, false
	}
	for _, past := range r.Estimates {
		if past.Seq < verdict.Seq {
			now.Shift, now.Lapse = past.Shift, past.Lapse
		}
	}
	return now.LogOdds(verdict.Score), true
}

// calibrateLast takes the decisions since the last run in. The calibration of the run stays that of its fit.
func calibrateLast(ctx context.Context, tx *kv.Tx) (*recalibration, error) {
	run, err := LastRun(tx)
	if err != nil {
		return nil, err
	}
	newest, err := decide.Newest(tx)
	if err != nil {
		return nil, err
	}
	before := *run
	c := &recalibration{Rescoring: Rescoring{Before: &before, Run: run}, last: newest}
	if c.isDone() {
		return c, nil
	}
	c.was = calibration.Estimate{Shift: run.Model.Shift, Lapse: run.Model.Lapse}
	if run.Estimates == nil {
		run.Estimates = []PastEstimate{{run.Decisions, c.was.Shift, c.was.Lapse}}
	}
	verdicts, reversals, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	if err != nil {
		return nil, err
	}
	c.Reversals = reversals
	knows := run.Model.Calibration.Clone()
	for _, verdict := range verdicts {
		l, ok := run.logOddsOf(verdict, c.was)
		if !ok {
			continue
		}
		wrong := verdict.Before != verdict.Now
		if wrong {
			c.Wrong++
		} else {
			c.Right++
		}
		knows.Observe(l, l, wrong)
	}
	c.is = knows.Estimate()
	model := *run.Model
	run.Model, run.Rescored = &model, c.last
	model.Shift, model.Lapse = c.is.Shift, c.is.Lapse
	run.Estimates = append(run.Estimates, PastEstimate{c.last, c.is.Shift, c.is.Lapse})
	run.setEstimate(c.is)
	return c, nil
}

// A scoreWriter writes the scores of a store anew.
type scoreWriter struct {
	*recalibration
	tx      *kv.Tx
	count   *runCounter
	into    *kv.ColumnWriter
	byScore *index.Builder
}

func (c *recalibration) newWriter(b *kv.Bulk) (w *scoreWriter, err error) {
	w = &scoreWriter{recalibration: c, tx: b.Tx()}
	if w.count, err = newRunCounter(w.tx, c.Run); err != nil {
		return nil, err
	}
	if w.into, err = b.Column(ScoreColumn, kv.KindSingle); err != nil {
		return nil, err
	}
	w.byScore, err = index.NewBuilder(b, ScoreColumn)
	return w, err
}

// rewrite writes all scores, and counts anew what the run says of them.
func (w *scoreWriter) rewrite(ctx context.Context) error {
	err := eachStored(ctx, w.tx, func(v kv.NodeID, label kv.Class, old float64) error {
		score := float64(float32(w.is.Score(w.was.LogOdds(old))))
		if w.is.Shift == w.was.Shift && w.is.Lapse == w.was.Lapse {
			score = old
		}
		return errors.Join(w.into.Put(v, kv.FloatValue(score)), w.byScore.Add(v, kv.FloatValue(score)),
			w.count.add(v, label, score))
	})
	if err != nil {
		return err
	}
	w.count.finish()
	return w.byScore.Finish()
}
