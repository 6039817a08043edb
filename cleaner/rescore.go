package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// RescoreOptions tunes Rescore. The zero value is ready to use.
type RescoreOptions struct {
	// Full scores all nodes again in one pass over the graph, whatever has changed.
	Full bool

	// Workers, MemoryBudget, Progress, OnStage and Notice are those of Options.
	Workers      int
	MemoryBudget int64
	Progress     kv.Progress
	OnStage      func(ops.Stage)
	Notice       func(string)

	decided bool // a person waits: see RescoreDecided
}

func (o RescoreOptions) options() Options {
	return Options{
		Workers: o.Workers, MemoryBudget: o.MemoryBudget, Progress: o.Progress, OnStage: o.OnStage, Notice: o.Notice,
	}
}

// mostQuickArcs is the most arcs of a graph that a pass takes no longer over than a person waits.
const mostQuickArcs = 5e6

// A Rescoring is the result of Rescore.
type Rescoring struct {
	// Changed is the number of nodes that may have another score because of changes around them, and were scored
	// again. Pass says that they are all nodes, scored in one pass over the graph.
	Changed int64
	Pass    bool

	// Unpredicted is the number of nodes without predictions, for which no classifier is kept. They have no score.
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
// It is one commit. Unless it made a pass, Run.Scored, Run.Suspects and Run.Contradicted are as they were: see
// Run.Recount. If nothing has changed, Rescore writes nothing. If another run or Rescore finishes meanwhile,
// Rescore begins again. A node that was changed while Rescore was at work keeps counting as changed.
//
// If the run was made elsewhere (Run.Elsewhere), nothing is done, and Full is an ErrElsewhere.
//
// It returns ErrNotCleaned if the store was never cleaned, and ErrNoModel if the last run cannot score.
func Rescore(ctx context.Context, s *kv.Store, opt RescoreOptions) (*Rescoring, error) {
	if problems := checkResources(opt.Workers, &opt.MemoryBudget); len(problems) > 0 {
		return nil, joinOptions(problems)
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("rescore: %w", kv.ErrReadOnly)
	}
	var run *Run
	err := s.View(func(tx *kv.Tx) (err error) {
		run, err = LastRun(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if run.Elsewhere != nil && !opt.Full {
		return &Rescoring{Before: run, Run: run}, nil
	}
	if err := run.checkHere(); err != nil { // before predictions are stored
		return nil, err
	}
	_, unfilled := fillPredictions(ctx, s, opt.options(), true)
	if unfilled != nil && !errors.Is(unfilled, errNoClassifier) {
		return nil, unfilled
	}
	for {
		done, err := rescore(ctx, s, opt)
		if errors.Is(err, errOvertaken) {
			continue
		}
		if err == nil && unfilled != nil && !opt.decided {
			err = s.View(func(tx *kv.Tx) (err error) {
				done.Unpredicted, err = countUnpredicted(ctx, tx)
				return err
			})
		}
		return done, err
	}
}

// RescoreDecided is Rescore for a person who waits after each decision. ok is false, and the scores are as they were,
// if the nodes around the changes are so many that a pass over a graph of more than 5 million arcs is due. Without a
// run, or a model of it, nothing is done.
func RescoreDecided(ctx context.Context, s *kv.Store, opt RescoreOptions) (ok bool, err error) {
	opt.decided = true
	_, err = Rescore(ctx, s, opt)
	switch {
	case isPassDue(err):
		return false, nil
	case errors.Is(err, kv.ErrNotFound), errors.Is(err, ErrNoModel):
		return true, nil
	}
	return err == nil, err
}

// isPassDue says whether an error of scoring around the changes asks for a pass over the graph: it costs less, and its
// commit has no limit.
func isPassDue(err error) bool { return errors.Is(err, ops.ErrReach) || errors.Is(err, kv.ErrTxTooBig) }

// rescore is Rescore that fails with errOvertaken.
func rescore(ctx context.Context, s *kv.Store, opt RescoreOptions) (*Rescoring, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tx := s.Begin()
	defer tx.Close()
	before, err := lastFit(tx)
	if err != nil {
		return nil, err
	}
	now, pass := *before, opt.Full
	noPass := opt.decided && tx.Shape().Arcs > mostQuickArcs
	if !pass && !noPass {
		if _, pass, err = ReadLook(ctx, tx); err != nil {
			return nil, err
		}
	}
	done := &Rescoring{Before: before, Run: &now, Pass: pass}
	if !pass {
		done.Changed, err = now.rescoreAround(ctx, s, tx, opt.Workers, noPass)
		if !isPassDue(err) || noPass {
			return done, err
		}
	}
	now, done.Pass = *before, true
	err = now.rescoreAll(ctx, s, tx, opt.options())
	done.Changed = now.Nodes
	return done, err
}

// rescoreAround scores the nodes around the changes since the last run or Rescore, and counts them. If a pass is due,
// it says so by its error.
func (r *Run) rescoreAround(
	ctx context.Context, s *kv.Store, tx *kv.Tx, workers int, noPass bool,
) (changed int64, err error) {
	most, steps := max(tx.NumNodes()/mostAround, leastAround), max(tx.Shape().Arcs/eachStepsOfPass, leastEachSteps)
	if noPass {
		most, steps = leastAround, leastEachSteps
	}
	nodes, isChanged, err := r.staleNodes(ctx, tx, most)
	if err != nil || !isChanged {
		return 0, err
	}
	work := scoreWork{tx: tx, run: r, opt: ops.Options{Workers: workers}, shared: new(atomic.Int64)}
	work.shared.Store(steps)
	scores, err := work.each(ctx, nodes)
	if err == nil {
		err = r.bringUpTo(tx)
	}
	if err != nil {
		return 0, err
	}
	return int64(len(nodes)), s.Update(func(tx *kv.Tx) error {
		if err := r.mustBeLast(tx); err != nil {
			return err
		}
		for _, score := range scores {
			if err := score.write(tx); err != nil && !errors.Is(err, kv.ErrNotFound) { // it was removed
				return err
			}
		}
		r.Uncounted = true
		return r.put(tx)
	})
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

// leastDifference is the least by which a score changes, as a share of its distance from 0 and from 1: below it
// the score is as it was.
const leastDifference = 1e-6

// write stores the values that differ from the stored ones.
func (s *NodeScore) write(tx *kv.Tx) error {
	for _, cell := range []struct {
		column string
		value  kv.Value
	}{
		{ScoreColumn, kv.ValueOf(s.Score)}, {SuggestedColumn, s.suggestion()},
		{ConfidenceColumn, kv.ValueOf(s.Confidence)}, {RunColumn, kv.ValueOf(s.Run)},
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
