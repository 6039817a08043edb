package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// ErrNoCalibration says that the last run does not know how its scores were calibrated: it was made by an earlier version,
// or with PresetPaper.
var ErrNoCalibration = errors.New("the last run keeps no calibration")

// A Rescoring is the result of Rescore.
type Rescoring struct {
	Right, Wrong int64 // numbers of labels that decisions since the run found right, and wrong
	Reversals    int   // number of decisions that the run used as truth and that no longer hold; only Clean scores their labels again
	Before, Run  *Run  // the last run as it was, and as it is now
}

// Rescore moves rate, scores and threshold of the last run to fit the decisions since it began, without a new fit of the
// model: see Calibration. The order of the scores stays, except for rounding to single precision. Score column, its index
// and the Run change in one commit, which holds the write lock. If there are no new decisions, Rescore writes nothing.
//
// A decided node keeps the score of the label that the run saw. The next Clean scores it again, with the decision as
// truth.
//
// It returns kv.ErrNotFound if the store was never cleaned, and ErrNoCalibration if the last run cannot be rescored.
func Rescore(ctx context.Context, s *kv.Store) (done *Rescoring, err error) {
	if s.ReadOnly() {
		return nil, fmt.Errorf("rescore: %w", kv.ErrReadOnly)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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

	labels map[kv.NodeID]string // of the nodes decided on since: the label that the run saw
}

// isDone says that there is no decision that was not taken in.
func (c *recalibration) isDone() bool { return c.last <= max(c.Before.Decisions, c.Before.Rescored) }

// calibrateLast takes the decisions since the last run in. The calibration of the run stays that of its fit.
func calibrateLast(ctx context.Context, tx *kv.Tx) (*recalibration, error) {
	run, err := LastRun(tx)
	if err != nil {
		return nil, err
	}
	if run.Model == nil || run.Model.Calibration == nil || !run.Model.Calibration.IsWhole() {
		return nil, fmt.Errorf("run %d: %w", run.ID, ErrNoCalibration)
	}
	newest, err := decide.Newest(tx)
	if err != nil {
		return nil, err
	}
	before := *run
	c := &recalibration{Rescoring: Rescoring{Before: &before, Run: run}, last: newest, labels: make(map[kv.NodeID]string)}
	c.was = calibration.Estimate{Shift: run.Model.Shift, Lapse: run.Model.Lapse}
	verdicts, reversals, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	if err != nil {
		return nil, err
	}
	c.Reversals = reversals
	scores, err := tx.Reader(ScoreColumn)
	if err != nil {
		return nil, err
	}
	knows := run.Model.Calibration.Clone()
	for _, verdict := range verdicts {
		score, err := scores.At(verdict.Node)
		if err != nil {
			return nil, err
		}
		if score.IsNull() {
			continue
		}
		c.labels[verdict.Node] = tx.Classes()[verdict.Before]
		wrong := verdict.Before != verdict.Now
		if wrong {
			c.Wrong++
		} else {
			c.Right++
		}
		l := c.was.LogOdds(score.Float())
		knows.Observe(l, l, wrong)
	}
	c.is = knows.Estimate()
	model := *run.Model
	run.Model, run.Rescored = &model, c.last
	model.Shift, model.Lapse = c.is.Shift, c.is.Lapse
	run.setEstimate(c.is)
	return c, nil
}

// A scoreWriter writes the scores of a store anew.
type scoreWriter struct {
	*recalibration
	scores  *kv.ColumnReader
	facts   suspectFacts
	classes map[string]kv.Class
	nodes   int
	into    *kv.ColumnWriter
	byScore *index.Builder
}

func (c *recalibration) newWriter(b *kv.Bulk) (w *scoreWriter, err error) {
	tx := b.Tx()
	w = &scoreWriter{recalibration: c, classes: make(map[string]kv.Class), nodes: tx.NumNodes()}
	for k, name := range c.Run.Classes {
		w.classes[name] = kv.Class(k)
	}
	if w.scores, err = tx.Reader(ScoreColumn); err != nil {
		return nil, err
	}
	if w.facts, err = readSuspectFacts(tx); err != nil {
		return nil, err
	}
	if w.into, err = b.Column(ScoreColumn, kv.KindSingle); err != nil {
		return nil, err
	}
	w.byScore, err = index.NewBuilder(b, ScoreColumn)
	return w, err
}

// rewrite writes all scores, and counts suspects and grey zone anew.
func (w *scoreWriter) rewrite(ctx context.Context) error {
	sums := newLabelMeans(len(w.Run.Classes))
	w.Run.Suspects, w.Run.Grey = 0, 0
	for node := range kv.NodeID(w.nodes) {
		if node%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		old, err := w.scores.At(node)
		if err != nil {
			return err
		}
		if old.IsNull() {
			continue
		}
		score := float64(float32(w.is.Score(w.was.LogOdds(old.Float()))))
		if w.is.Shift == w.was.Shift && w.is.Lapse == w.was.Lapse {
			score = old.Float()
		}
		if err := errors.Join(w.into.Put(node, kv.FloatValue(score)), w.byScore.Add(node, kv.FloatValue(score))); err != nil {
			return err
		}
		label, err := w.facts.labels.At(node)
		if err != nil {
			return err
		}
		name, decided := w.labels[node]
		if !decided {
			name = label.Str()
		}
		if class, ok := w.classes[name]; ok && (decided || !label.IsNull()) { // the run may not know the class
			sums.add(class, score)
		}
		if err := w.facts.count(w.Run, node, score); err != nil {
			return err
		}
	}
	w.Run.meanScores, w.Run.labelCounts = sums.means()
	return w.byScore.Finish()
}
