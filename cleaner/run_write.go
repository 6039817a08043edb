package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// writeRows is how many rows are handed to the store at once.
const writeRows = 1 << 13

// A runWriter writes the results of a run for nodes.
type runWriter struct {
	run                                    *Run
	scores, suggestions, confidences, runs runColumn
}

// A runColumn is a column that a run writes, and its index; nil if it has none.
type runColumn struct {
	*kv.ColumnWriter
	index *index.Builder
}

// add writes the value of a node.
func (c *runColumn) add(v kv.NodeID, value kv.Value) error {
	err := c.Put(v, value)
	if err == nil && c.index != nil {
		err = c.index.Add(v, value)
	}
	return err
}

// newRunWriter begins the columns, the index on score, and those on other columns that had one, which is lost with what
// they held. The caller closes it.
func newRunWriter(b *kv.Bulk, run *Run) (w *runWriter, err error) {
	w = &runWriter{run: run}
	for _, column := range []struct {
		name string
		kind kv.Kind
		into *runColumn
	}{
		{ScoreColumn, kv.KindSingle, &w.scores}, {SuggestedColumn, kv.KindClass, &w.suggestions},
		{ConfidenceColumn, kv.KindSingle, &w.confidences}, {RunColumn, kv.KindInt, &w.runs},
	} {
		column.into.ColumnWriter, err = b.Column(column.name, column.kind)
		if before, _ := b.Tx().Column(column.name); err == nil && (before.Indexed || column.name == ScoreColumn) {
			column.into.index, err = index.NewBuilder(b, column.name)
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

// eachIndex calls do for the indexes that are written.
func (w *runWriter) eachIndex(do func(*index.Builder) error) (err error) {
	for _, column := range []*runColumn{&w.scores, &w.suggestions, &w.confidences, &w.runs} {
		if column.index != nil {
			err = errors.Join(err, do(column.index))
		}
	}
	return err
}

func (w *runWriter) close() error { return w.eachIndex((*index.Builder).Close) }

// finish ends the nodes.
func (w *runWriter) finish() error { return w.eachIndex((*index.Builder).Finish) }

// mark makes the indexes visible with the commit, and the run, which counts its scores.
func (w *runWriter) mark(ctx context.Context, tx *kv.Tx) error {
	if err := w.eachIndex(func(b *index.Builder) error { return b.Mark(tx) }); err != nil || w.run == nil {
		return err
	}
	w.run.Uncounted = true
	return errors.Join(w.run.Recount(ctx, tx), w.run.put(tx))
}

// put writes the results of a run for the nodes first ≤ v < end.
func (w *runWriter) put(first, end kv.NodeID, result *scoring) error {
	for v := first; v < end; v++ {
		score, suggestion := result.scores.Data[v], result.suggested.Data[v]
		if err := w.runs.add(v, kv.ValueOf(w.run.ID)); err != nil {
			return err
		}
		if err := w.scores.add(v, kv.ValueOf(float64(score))); err != nil {
			return err
		}
		if err := w.confidences.add(v, kv.ValueOf(float64(result.confidence.Data[v]))); err != nil {
			return err
		}
		if w.suggestions.index != nil && suggestion != kv.NoClass {
			if err := w.suggestions.index.Add(v, kv.ValueOf(w.run.Classes[suggestion])); err != nil {
				return err
			}
		}
	}
	return w.suggestions.PutClasses(first, result.suggested.Data[first:end])
}

// writeRun gives the run its ID and makes it and all it found visible in one commit.
func writeRun(ctx context.Context, s *kv.Store, run *Run, start time.Time, p *problem, result *scoring) (err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	if run.ID, err = nextRunID(b.Tx()); err != nil {
		return err
	}
	w, err := writeScores(ctx, b, run, result)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := writeMixture(ctx, b, p); err != nil {
		return err
	}
	return b.Commit(func(tx *kv.Tx) error {
		if err := p.markJoined(tx, run); err != nil {
			return err
		}
		run.Seconds = time.Since(start).Seconds()
		return w.mark(ctx, tx)
	})
}

// writeScores writes all that a run says of the nodes. The caller closes the writer after the commit, in which it marks
// it.
func writeScores(ctx context.Context, b *kv.Bulk, run *Run, result *scoring) (*runWriter, error) {
	w, err := newRunWriter(b, run)
	if err != nil {
		return nil, err
	}
	n := len(result.scores.Data)
	for first := 0; first < n && err == nil; first += writeRows {
		if err = ctx.Err(); err == nil {
			err = w.put(kv.NodeID(first), kv.NodeID(min(first+writeRows, n)), result)
		}
	}
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// writeMixture writes the predictions of combine.
func writeMixture(ctx context.Context, b *kv.Bulk, p *problem) error {
	if p.joined == nil {
		return nil
	}
	if err := p.joined.write(b); err != nil {
		return err
	}
	w, err := b.Matrix(CombinedMatrix, p.names)
	if err != nil {
		return err
	}
	return rowstore.EachRow(ctx, p.predictions, len(p.labels), 1, w.Put)
}

// markJoined makes the classifier that was joined that of the store, or removes that of an earlier run, with what it
// was joined to.
func (p *problem) markJoined(tx *kv.Tx, run *Run) error {
	if p.joined != nil {
		return p.joined.mark(tx)
	}
	if err := dropMixture(tx); err != nil || run.PredictionSource == SourceBuiltIn {
		return err
	}
	return tx.Documents(predictionsSpace).Delete(classifierKey)
}

// rescoreAll scores all nodes of a snapshot by the model of the run, the last, in one pass over the graph. The scores
// follow the newest look of the audit, if there is one.
func (r *Run) rescoreAll(ctx context.Context, s *kv.Store, tx *kv.Tx, opt Options) (err error) {
	place, err := workplace.Open(ctx, s, tx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	newest, err := lastLook(ctx, tx, r.Classes)
	if err != nil {
		return err
	}
	if r.follows(newest.nameOf()) {
		newest = nil
	} else if r.takeLook(newest); newest == nil {
		r.Model.Scale = r.Model.Fitted
	}
	result, err := r.scoreByPass(ctx, tx, place, newest, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	if err := cmp.Or(r.bringUpTo(tx), r.mustBeLast(b.Tx())); err != nil {
		return err
	}
	r.MislabelRate, r.Threshold = r.Model.Told, r.Model.Threshold
	w, err := writeScores(ctx, b, r, result)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return b.Commit(func(tx *kv.Tx) error { return w.mark(ctx, tx) })
}

// scoreByPass scores all nodes of a snapshot that have predictions by the model of the run, the last, in one pass over
// the graph. The model is made to follow a look, if it is not nil.
func (r *Run) scoreByPass(
	ctx context.Context, tx *kv.Tx, place *workplace.Place, newest *look, opt Options,
) (_ *scoring, err error) {
	p, err := r.problem(tx)
	if err != nil {
		return nil, err
	}
	matrix, err := scoredFrom(tx, r)
	if err != nil {
		return nil, err
	}
	unpredicted, err := nodesWithoutRow(ctx, tx, matrix)
	if err != nil {
		return nil, err
	}
	p.leaveOut(unpredicted)
	if p.place, p.look = place, newest; newest != nil {
		if p.verdicts, err = decide.Verdicts(ctx, tx, p.labels); err != nil {
			return nil, err
		}
	}
	opt.Hops, opt.Seed = r.Hops, r.Seed
	return p.score(ctx, opt, r.Model)
}

// errOvertaken says that the last run is another one, or was rescored, since it was read.
var errOvertaken = errors.New("overtaken by another run or rescore")

// mustBeLast returns errOvertaken unless the run, which is up to date, was the last one of the store until then.
func (r *Run) mustBeLast(tx *kv.Tx) error {
	last, err := lastRun(tx)
	if err != nil {
		return err
	}
	if last.ID != r.ID || last.Rescorings != r.Rescorings-1 {
		return fmt.Errorf("run %d: %w", r.ID, errOvertaken)
	}
	return nil
}

// bringUpTo notes that the scores are brought up to date with a snapshot.
func (r *Run) bringUpTo(tx *kv.Tx) error {
	r.Rescorings++
	return r.takeSnapshot(tx)
}

// takeSnapshot notes that the scores are those of a snapshot.
func (r *Run) takeSnapshot(tx *kv.Tx) (err error) {
	if r.Seen, err = decide.Newest(tx); err != nil {
		return err
	}
	r.Nodes, r.Edges = int64(tx.Shape().Present), tx.Shape().Edges
	r.Commit, err = tx.LastCommit()
	return err
}

// seen is the newest entry of the history whose label the scores have seen.
func (r *Run) seen() int64 { return max(r.Seen, r.Decisions) }
