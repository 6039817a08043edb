package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// An Elsewhere has the sizes of the graph that a run was made on, where a store has only a part of it.
type Elsewhere struct {
	Nodes, Edges int64
	Scored       int64 // nodes with a score
	Suspects     int64 // of them, when the run was made
}

// checkHere returns ErrElsewhere for a run whose scores the store cannot compute.
func (r *Run) checkHere() error {
	if r.Elsewhere == nil {
		return nil
	}
	return &refusal{ErrElsewhere,
		fmt.Sprintf("run %d was made elsewhere, on a larger graph, of %d nodes: the part that is here does not say how "+
			"nodes score there", r.ID, r.Elsewhere.Nodes)}
}

// A refusal is an error of a kind that is told in words of its own.
type refusal struct {
	kind error
	text string
}

func (e *refusal) Error() string { return e.text }
func (e *refusal) Unwrap() error { return e.kind }

// unfit is an ErrShape of a run that was made elsewhere.
func unfit(format string, args ...any) error { return &refusal{ErrShape, fmt.Sprintf(format, args...)} }

// A ForeignRun is a run that was made elsewhere, with PresetDefault and AsGiven, as a RunWriter takes it. It can be
// kept as JSON.
type ForeignRun struct {
	Model   *PieceModel
	Started time.Time
	Seconds float64
	Seed    uint64
	Elsewhere
}

// check returns ErrShape for a run whose parts do not fit together, or are out of their range.
func (r *ForeignRun) check() error {
	if r.Model == nil {
		return unfit("has no model")
	}
	if err := r.Model.check(); err != nil {
		return err
	}
	m := r.Model
	isShare := func(x float64) bool { return x >= 0 && x <= 1 }
	switch {
	case !isShare(m.Model.Told):
		return unfit("mislabel rate %v: want a share", m.Model.Told)
	case !isShare(m.Model.Threshold):
		return unfit("threshold %v: want a score", m.Model.Threshold)
	case r.Started.IsZero() || r.Started.Year() > 9999:
		return unfit("it was started at %v: want a time", r.Started)
	case !(r.Seconds >= 0) || math.IsInf(r.Seconds, 0):
		return unfit("it took %v seconds, want 0 or more", r.Seconds)
	case r.Edges < 0 || r.Suspects < 0 || r.Suspects > r.Scored || r.Scored > r.Nodes:
		return unfit("%d nodes, %d edges, %d scored, %d suspects: want no more of these than of those",
			r.Nodes, r.Edges, r.Scored, r.Suspects)
	}
	return nil
}

// A RunWriter writes a run that was made elsewhere, on a graph of which the store has all or a part. It belongs to one
// goroutine: Put every node once, in any order, then Finish, call Mark in the final function of Commit, and Close.
//
// Everything that Clean leaves of the nodes is there then, except the agreement features. The run gets Run.Elsewhere:
// it scores nothing.
type RunWriter struct {
	ctx  context.Context
	from *ForeignRun
	to   *runWriter
}

// NewRunWriter begins a run in a store that was never cleaned, beside the predictions that it was made with, if the
// same bulk write has them. The store has the classes of the run, in their order. A run that does not fit the store, or
// of which a part is missing or out of its range, is an ErrShape.
func NewRunWriter(b *kv.Bulk, from *ForeignRun) (w *RunWriter, err error) {
	if err := from.check(); err != nil {
		return nil, err
	}
	tx := b.Tx()
	if _, err := lastRun(tx); !errors.Is(err, kv.ErrNotFound) {
		if err == nil {
			err = fmt.Errorf("the store has runs of its own: %w", kv.ErrExists)
		}
		return nil, err
	}
	names, m := tx.Classes(), from.Model
	for i, name := range names {
		if i >= len(m.Census.Names) || name != m.Census.Names[i] {
			return nil, unfit("class %q of the store is number %d, and not that of the run", name, i)
		}
	}
	if len(names) != len(m.Census.Names) {
		return nil, unfit("class %q of the run: the store does not have it", m.Census.Names[len(names)])
	}
	if int64(tx.Shape().Present) > from.Nodes || tx.Shape().Edges > from.Edges {
		return nil, unfit("the store has %d nodes and %d edges, and the run saw %d and %d", tx.Shape().Present,
			tx.Shape().Edges, from.Nodes, from.Edges)
	}
	w = &RunWriter{ctx: b.Context(), from: from}
	if w.to, err = newRunWriter(b, from.begin(tx)); err != nil {
		return nil, err
	}
	for _, column := range []*runColumn{&w.to.scores, &w.to.suggestions, &w.to.confidences, &w.to.runs} {
		column.Sort()
	}
	return w, nil
}

// begin is the run without the numbers that come from its nodes.
func (r *ForeignRun) begin(tx *kv.Tx) *Run {
	m := r.Model
	return &Run{
		ID:               1,
		Started:          r.Started.UTC().Truncate(time.Second),
		Seconds:          r.Seconds,
		Preset:           PresetDefault,
		Hops:             m.Hops,
		Seed:             r.Seed,
		Nodes:            int64(tx.Shape().Present),
		Edges:            tx.Shape().Edges,
		FittingNodes:     m.Census.Fitting,
		PredictionSource: SourceImported,
		PredictionUse:    asGivenUse,
		Warnings:         slices.Clone(m.Warnings),
		Classes:          slices.Clone(m.Census.Names),
		MislabelRate:     m.Model.Told,
		Threshold:        m.Model.Threshold,
		Model:            m.Model,
		Elsewhere:        &r.Elsewhere,
		kept:             keptFit{Counts: slices.Clone(m.Census.Counts)},
	}
}

// Put writes the results of the run for a node: its Node, Score, Suggestion and Confidence. Score is NaN for none, and
// Suggestion "" and Confidence NaN. A score or a confidence out of [0,1], or a suggestion without a confidence is an
// ErrShape.
func (w *RunWriter) Put(s NodeScore) error {
	isChance := func(x float64) bool { return math.IsNaN(x) || x >= 0 && x <= 1 }
	switch {
	case !isChance(s.Score):
		return unfit("score %v, want one from 0 to 1", s.Score)
	case !isChance(s.Confidence):
		return unfit("confidence %v, want one from 0 to 1", s.Confidence)
	case math.IsNaN(s.Confidence) != (s.Suggestion == ""):
		return unfit("suggestion %q with confidence %v, want both or none", s.Suggestion, s.Confidence)
	}
	to, single := w.to, func(x float64) kv.Value { return kv.ValueOf(float64(float32(x))) }
	return errors.Join(
		to.runs.add(s.Node, kv.ValueOf(to.run.ID)), to.scores.add(s.Node, single(s.Score)),
		to.suggestions.add(s.Node, s.suggestion()), to.confidences.add(s.Node, single(s.Confidence)),
	)
}

// Finish ends the nodes.
func (w *RunWriter) Finish() error { return w.to.finish() }

// Mark makes the run that of the store, with the transaction that makes its columns visible. If the bulk write has
// predictions, mark them before. It returns ErrShape if more nodes have a score or are suspects than the run has found.
func (w *RunWriter) Mark(tx *kv.Tx) (err error) {
	run, of := w.to.run, w.from.Elsewhere
	if run.PredictionWrites, err = predictionWrites(tx); err != nil {
		return err
	}
	if err := w.to.mark(w.ctx, tx); err != nil {
		return err
	}
	if run.Scored > of.Scored || run.Suspects > of.Suspects {
		return unfit("%d nodes have a score and %d are suspects, and the run found %d and %d in the whole graph",
			run.Scored, run.Suspects, of.Scored, of.Suspects)
	}
	run.meanScores, run.labelCounts = nil, slices.Clone(w.from.Model.Census.Counts) // of the whole graph
	return run.put(tx)
}

// Close releases the writer's memory beside the bulk write.
func (w *RunWriter) Close() error { return w.to.close() }

// Run is the run as far as it was written.
func (w *RunWriter) Run() *Run { return w.to.run }
