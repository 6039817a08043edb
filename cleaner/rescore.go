package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// RescoreOptions tunes Rescore. The zero value is ready to use.
type RescoreOptions struct {
	// Full scores all nodes again in one pass over the graph, whatever has changed.
	Full bool

	// KeepRate leaves the counts as they are, so that the time does not grow with the graph. The next Rescore without
	// it counts Run.Scored, Run.Suspects and Run.Contradicted anew. A program that rescores after every decision
	// wants it.
	KeepRate bool

	// Workers, MemoryBudget, Progress, OnStage and Notice are those of Options.
	Workers      int
	MemoryBudget int64
	Progress     kv.Progress
	OnStage      func(ops.Stage)
	Notice       func(string)

	noPass bool // a pass over the graph takes longer than a person waits
}

// mostQuickArcs is the most arcs of a graph that a pass takes no longer over than a person waits.
const mostQuickArcs = 5e6

// errTooLong says that a pass would take longer than a person waits.
var errTooLong = errors.New("a pass over the graph takes too long")

// A Rescoring is the result of Rescore.
type Rescoring struct {
	// Changed is the number of nodes that may have another score because of changes around them, and were scored
	// again. Pass says that they are all nodes, scored in one pass over the graph.
	Changed int64
	Pass    bool

	// Unpredicted is the number of nodes without predictions, for which no classifier is kept. They have no score.
	// With KeepRate they are not counted.
	Unpredicted int64

	Before, Run *Run // the last run as it was, and as it is now
}

// Rescore brings the stored scores up to date by the model of the last run, which is not fitted again.
//
// If nodes without predictions were added, the kept classifier predicts them. Then Rescore scores the nodes around
// everything that has changed since the run or the last Rescore: labels, edges, predictions, and nodes that were
// added. Changes matter as many hops far as labels have a weight in the model: up to K. If the nodes within these
// hops are few, it scores each of them; the scores are then within 1e-5 of those of one pass over the graph, which it
// makes if they are many, or if Full is set. The pass gives, bit for bit, the scores that a copy of the graph as it
// is now gets by the same model.
//
// Decisions move no score but those of the nodes around them, whose labels they change: the next Clean takes them for
// true. Rate and threshold stay. At a look of the audit (Audit.Look) that tells a rate they move with all scores, in
// one pass: by
//
//	p = σ(a + b·L)    Σ_v p_v = Audit.Rate · labels, over the labels as they came
//
// with L the log-odds that the model gives a label to be wrong, b near 1 where the draws do not say otherwise, and
// the threshold of the greatest expected F1. So the order of scores stays. An undo that takes the look back takes
// this back too.
//
// It is one commit. If nothing has changed, Rescore writes nothing. If another run or Rescore finishes meanwhile,
// Rescore begins again. A node that was changed while Rescore was at work keeps counting as changed.
//
// If the run was made elsewhere (Run.Elsewhere), nothing is done, and Full is an ErrElsewhere.
//
// It returns kv.ErrNotFound if the store was never cleaned, and ErrNoModel if the last run cannot score.
func Rescore(ctx context.Context, s *kv.Store, opt RescoreOptions) (*Rescoring, error) {
	if problems := checkResources(opt.Workers, &opt.MemoryBudget); len(problems) > 0 {
		return nil, joinOptions(problems)
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("rescore: %w", kv.ErrReadOnly)
	}
	var elsewhere *Run
	err := s.View(func(tx *kv.Tx) (err error) {
		elsewhere, err = lastElsewhere(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var unfilled error
	if elsewhere == nil {
		_, unfilled = fillPredictions(ctx, s, Options{
			Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress, OnStage: opt.OnStage,
			Notice: opt.Notice,
		}, true)
		if unfilled != nil && !errors.Is(unfilled, errNoClassifier) {
			return nil, unfilled
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		done, err := rescore(ctx, s, opt)
		if errors.Is(err, errOvertaken) {
			continue
		}
		if err == nil && unfilled != nil && !opt.KeepRate {
			err = s.View(func(tx *kv.Tx) (err error) {
				done.Unpredicted, err = countUnpredicted(tx)
				return err
			})
		}
		return done, err
	}
}

// RescoreDecided is Rescore with KeepRate for a person who waits after each decision. ok is false, and the scores are as
// they were, if the nodes around the changes are so many that a pass over a graph of more than 5 million arcs is due.
// Without a run, or a model of it, nothing is done.
func RescoreDecided(ctx context.Context, s *kv.Store, opt RescoreOptions) (ok bool, err error) {
	opt.KeepRate = true
	err = s.View(func(tx *kv.Tx) error {
		opt.noPass = tx.Shape().Arcs > mostQuickArcs
		return nil
	})
	if err == nil {
		_, err = Rescore(ctx, s, opt)
	}
	switch {
	case errors.Is(err, errTooLong):
		return false, nil
	case errors.Is(err, kv.ErrNotFound), errors.Is(err, ErrNoModel):
		return true, nil
	}
	return err == nil, err
}

// rescore is Rescore that fails with errOvertaken.
func rescore(ctx context.Context, s *kv.Store, opt RescoreOptions) (*Rescoring, error) {
	done, scores, err := scoreChanges(ctx, s, opt)
	if err != nil || !done.Pass && done.Run.Commit == done.Before.Commit {
		return done, err
	}
	if !done.Pass {
		if err := writeChanges(ctx, s, done.Run, scores, opt.KeepRate); !errors.Is(err, kv.ErrTxTooBig) {
			return done, err
		}
		done.Pass = true // whose commit has no limit
	}
	if opt.noPass {
		return nil, errTooLong
	}
	if done.Run, err = rescoreAll(ctx, s, opt); err == nil {
		done.Changed = done.Run.Nodes
	}
	return done, err
}

// scoreChanges scores the nodes around the changes since the last run or Rescore. Of the result, Pass says that a
// pass is due.
func scoreChanges(
	ctx context.Context, s *kv.Store, opt RescoreOptions,
) (done *Rescoring, scores []NodeScore, err error) {
	tx := s.Begin()
	defer tx.Close()
	run, err := lastFit(tx)
	if err != nil {
		return nil, nil, err
	}
	before := *run
	if run.Elsewhere != nil {
		done = &Rescoring{Before: &before, Run: run}
		if opt.Full {
			return nil, nil, run.checkHere()
		}
		return done, nil, nil
	}
	done = &Rescoring{Before: &before, Run: run, Pass: opt.Full}
	if !done.Pass && !opt.noPass {
		if _, done.Pass, err = ReadLook(ctx, tx); err != nil {
			return nil, nil, err
		}
	}
	if done.Pass {
		return done, nil, nil
	}
	scores, err = done.scoreAround(ctx, tx, opt)
	if errors.Is(err, ops.ErrReach) { // one by one it would cost more than a pass
		done.Pass = true
		return done, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return done, scores, nil
}

// scoreAround is scoreChanges that returns ops.ErrReach if a pass is due.
func (r *Rescoring) scoreAround(ctx context.Context, tx *kv.Tx, opt RescoreOptions) ([]NodeScore, error) {
	most := max(tx.NumNodes()/mostAround, leastAround)
	changed, err := changesSince(tx, r.Run, most)
	if err != nil || changed.none() && (opt.KeepRate || !r.Run.Uncounted) {
		return nil, err
	}
	if changed.all {
		return nil, ops.ErrReach
	}
	if opt.noPass {
		most = leastAround
	}
	nodes, err := changed.around(ctx, tx, r.Run.reach(), most)
	if err != nil {
		return nil, err
	}
	r.Changed = int64(len(nodes))
	scores, err := scoreEach(ctx, tx, r.Run, nodes, opt)
	if err != nil {
		return nil, err
	}
	return scores, r.Run.upToDate(tx)
}

// Around the changes no more nodes are scored one by one than this share of all, as a divisor, or so many: for more,
// a pass over the graph costs less.
const (
	mostAround  = 64
	leastAround = 1 << 10
)

// Scoring one by one may walk this share of all arcs, as a divisor, or so many: for each, it looks up what a pass
// reads in order.
const (
	eachStepsOfPass = 16
	leastEachSteps  = 1 << 20
)

// scoreEach is Score on all workers, and ErrReach if together they walk so many arcs that a pass costs less.
func scoreEach(
	ctx context.Context, tx *kv.Tx, run *Run, nodes []kv.NodeID, opt RescoreOptions,
) ([]NodeScore, error) {
	scores := make([]NodeScore, len(nodes))
	workers := make([]*scorer, parallel.Workers(opt.Workers))
	steps := new(atomic.Int64)
	if steps.Store(leastEachSteps); !opt.noPass {
		steps.Store(max(tx.Shape().Arcs/eachStepsOfPass, leastEachSteps))
	}
	err := parallel.Do(ctx, len(workers), len(nodes), func(ctx context.Context, worker, i int) (err error) {
		if workers[worker] == nil {
			workers[worker], err = newScorer(ctx, tx, run, ops.Options{MemoryBudget: opt.MemoryBudget})
			if err != nil {
				return err
			}
			workers[worker].steps = steps
		}
		scores[i], err = workers[worker].score(nodes[i])
		return err
	})
	return scores, err
}

// leastDifference is the least by which a score changes, as a share of its distance from 0 and from 1: below it
// the score is as it was.
const leastDifference = 1e-6

// writeChanges writes the scores of some nodes, and the run, whose scores are up to date with them. Unless keepRate is
// set, it counts anew how many they are.
func writeChanges(ctx context.Context, s *kv.Store, run *Run, scores []NodeScore, keepRate bool) error {
	return s.Update(func(tx *kv.Tx) error {
		if err := run.isLast(tx, run.Rescorings-1); err != nil {
			return err
		}
		for _, score := range scores {
			if err := score.write(tx); err != nil && !errors.Is(err, kv.ErrNotFound) { // it was removed
				return err
			}
		}
		run.Uncounted = true
		if !keepRate {
			if err := run.Recount(ctx, tx); err != nil {
				return err
			}
		}
		return run.put(tx)
	})
}

// write stores the values that differ from the stored ones.
func (s *NodeScore) write(tx *kv.Tx) error {
	text := func(value string) kv.Value {
		if value == "" {
			return kv.Value{}
		}
		return kv.ValueOf(value)
	}
	number := func(value float64) kv.Value {
		if value != value {
			return kv.Value{}
		}
		return kv.ValueOf(value)
	}
	for _, cell := range []struct {
		column string
		value  kv.Value
	}{
		{ScoreColumn, number(s.Score)}, {SuggestedColumn, text(s.Suggestion)},
		{ConfidenceColumn, number(s.Confidence)}, {RunColumn, kv.ValueOf(s.Run)},
	} {
		is, err := tx.Value(s.Node, cell.column)
		if err != nil {
			return err
		}
		if is == cell.value {
			continue
		}
		if from, to := is.Float(), cell.value.Float(); math.Abs(from-to) <= leastDifference*min(from, 1-from) {
			continue // false of null and of texts, whose Float is NaN
		}
		if err := tx.SetValue(s.Node, cell.column, cell.value); err != nil {
			return err
		}
	}
	return nil
}
