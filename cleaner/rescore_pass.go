package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// rescoreAll scores all nodes by the model of the last run, as they are now, in one pass over the graph.
func rescoreAll(ctx context.Context, s *kv.Store, opt RescoreOptions) (run *Run, err error) {
	tx := s.Begin()
	defer tx.Close()
	place, err := workplace.Open(ctx, s, tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	if run, err = lastFit(tx); err != nil {
		return nil, err
	}
	p, err := run.problem(tx)
	if err != nil {
		return nil, err
	}
	p.place = place
	work := run.options(opt)
	if p.tested, err = testedLabels(ctx, &p, opt.Workers); err != nil {
		return nil, err
	}
	if err := p.takeLook(ctx, tx, run); err != nil {
		return nil, err
	}
	result, err := p.rescore(ctx, run, work)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	if err := writeRescored(ctx, s, tx, run, &p, result); err != nil {
		return nil, err
	}
	return run, nil
}

// takeLook has the scores of a run follow the newest look of the audit, unless they do, or none if there is none any
// more.
func (p *problem) takeLook(ctx context.Context, tx *kv.Tx, run *Run) error {
	newest, err := lastLook(ctx, tx, run.Classes)
	if err != nil || run.follows(newest.nameOf()) {
		return err
	}
	run.takeLook(newest)
	if p.look = newest; newest == nil {
		run.Model.Scale = run.Model.Fitted
		return nil
	}
	p.verdicts, err = decide.Verdicts(ctx, tx, p.labels)
	return err
}

// options are those of the run, with the means of a rescore.
func (r *Run) options(opt RescoreOptions) Options {
	return Options{
		Hops: r.Hops, Seed: r.Seed, Workers: opt.Workers,
		MemoryBudget: opt.MemoryBudget, Progress: opt.Progress, OnStage: opt.OnStage, Notice: opt.Notice,
	}
}

// testedLabels are the labels of the nodes that have predictions.
func testedLabels(ctx context.Context, p *problem, workers int) ([]kv.Class, error) {
	tested := slices.Clone(p.labels)
	err := rowstore.Each(ctx, p.predictions, len(tested), workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if hasNaN(values[int(v-rows.First)*p.classes:][:p.classes]) {
				tested[v] = kv.NoClass
			}
		}
		return nil
	})
	return tested, err
}

// rescore is score with the model of a run.
func (p problem) rescore(ctx context.Context, run *Run, opt Options) (_ *scoring, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
	if p.sizes, err = ops.Measure(ctx, p.graph, opt.ops(0)); err != nil {
		return nil, err
	}
	s := stages{problem: p, opt: opt, only: run.Model}
	if s.operators, err = p.requireForScore(opt, len(p.labels), 0); err != nil {
		return nil, err
	}
	return s.run(ctx, 0)
}

// errOvertaken says that the last run is another one, or was rescored, since it was read.
var errOvertaken = errors.New("overtaken by another run or rescore")

// isLast returns errOvertaken unless the run is the last one of the store, rescored so many times.
func (r *Run) isLast(tx *kv.Tx, rescorings int64) error {
	last, err := lastRun(tx)
	if err != nil {
		return err
	}
	if last.ID != r.ID || last.Rescorings != rescorings {
		return fmt.Errorf("run %d: %w", r.ID, errOvertaken)
	}
	return nil
}

// writeRescored makes the scores of a pass visible in one commit. From is the snapshot that it began with.
func writeRescored(
	ctx context.Context, s *kv.Store, from *kv.Tx, run *Run, p *problem, result *scoring,
) (err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return err
	}
	defer b.Abort()
	if err := run.isLast(b.Tx(), run.Rescorings); err != nil {
		return err
	}
	run.Uncounted = false
	run.MislabelRate, run.Threshold = run.Model.Told, run.Model.Threshold
	w, err := writeScores(ctx, b, from, run, p, result)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	run.Scored = int64(countLabelled(p.tested))
	run.meanScores, run.labelCounts = meanScoresByLabel(p.tested, result.scores.Data, p.classes)
	if err := run.upToDate(from); err != nil {
		return err
	}
	return b.Commit(func(tx *kv.Tx) error { return errors.Join(w.mark(tx), run.put(tx)) })
}

// upToDate notes that the scores are those of a snapshot.
func (r *Run) upToDate(tx *kv.Tx) (err error) {
	if r.Seen, err = decide.Newest(tx); err != nil {
		return err
	}
	if r.Commit, err = tx.LastCommit(); err != nil {
		return err
	}
	r.Nodes, r.Edges = int64(tx.Shape().Present), tx.Shape().Edges
	r.Rescorings++
	return nil
}

// seen is the newest entry of the history whose label the scores have seen.
func (r *Run) seen() int64 { return max(r.Seen, r.Decisions) }
