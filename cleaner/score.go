package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A NodeScore is the score of one node by the model of the last run, as the graph is in a snapshot.
type NodeScore struct {
	Node       kv.NodeID
	ID         string
	Label      string  // the given label; "" if there is none
	Score      float64 // the chance that the label is wrong; NaN without a label, or where there is a Lack
	Suggestion string  // the label that fits best; "" if the node has no predictions
	Confidence float64 // its chance; NaN if the node has no predictions
	Run        int64   // the run whose model it is

	// Predicted says that no prediction of the node is stored, and that the kept classifier has made one for the
	// score. Rescore stores it.
	Predicted bool

	// Lack says why a labelled node has no score; "" if it has one, or no label.
	Lack string
}

// IsSuspect reports whether the score speaks against the label at a threshold: it is above it, and another label is
// suggested.
func (s NodeScore) IsSuspect(threshold float64) bool {
	return s.Score > threshold && s.Suggestion != "" && s.Suggestion != s.Label
}

// suggestion is null if there is none.
func (s NodeScore) suggestion() kv.Value {
	if s.Suggestion == "" {
		return kv.Value{}
	}
	return kv.ValueOf(s.Suggestion)
}

// Score scores nodes by the model of the last run, from the nodes around them as they are in the snapshot, and writes
// nothing: a suggestion of it can only be accepted after a Rescore has stored it. It looks as many hops far as labels
// have a weight in the model: up to K. A node without stored predictions is predicted by the kept classifier, if
// there is one, from the nodes around it. The scores are those of a full Rescore within 1e-5. The result has the order
// of nodes.
//
// Around a hub, or several nodes together, there may be so many nodes that a pass over the graph costs less than to
// walk around them, or that they do not fit opt.MemoryBudget. One pass then scores all nodes, as in a Rescore, except
// nodes without stored predictions. It fails with an *ops.BudgetError if a pass does not fit either,
// kv.ErrNotFound without a run, and ErrNoModel or ErrElsewhere if the run cannot score, as one of a Method.
func Score(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID, opt ops.Options) (scores []NodeScore, err error) {
	if tx.InUpdate() {
		opt.Workers = 1 // the transaction is for one goroutine
	}
	run, err := lastFit(tx)
	if err != nil {
		return nil, err
	}
	s := &scoreWork{tx: tx, run: run, opt: opt, steps: ballSteps(opt)}
	s.steps.Store(min(s.steps.Load(), max(tx.Shape().Arcs/stepsOfPass, leastSteps)))
	s.stale, _, err = run.staleNodes(ctx, tx, mostStale)
	if s.readsStored = err == nil; err != nil && !errors.Is(err, ops.ErrReach) {
		return nil, err
	}
	scores, err = s.each(ctx, nodes)
	if !errors.Is(err, ops.ErrReach) {
		return scores, err
	}
	if err := s.passOver(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.passed.Close()) }()
	return s.each(ctx, nodes)
}

// mostStale is the most nodes around changes that are looked for, before nodes are scored one by one: to find as many
// takes the time of scoring one.
const mostStale = 1 << 10

// To walk around one node, and look up all that is found, costs as much a step as a pass over the graph costs for some
// of its arcs. A pass costs as much as some steps before it begins.
const (
	stepsOfPass = 4
	leastSteps  = 1 << 18
)

// ballNodeBytes bounds the memory of a node of the ball in ops.OperatorRows and in the list of the ball.
const ballNodeBytes = 128

// ballSteps is how many arcs may be walked around a node, within the memory for the entries that come of them.
func ballSteps(opt ops.Options) *atomic.Int64 {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = machine.MemoryBudget()
	}
	steps := new(atomic.Int64)
	steps.Store(budget / ballNodeBytes)
	return steps
}

// A scoreWork scores nodes of a snapshot by the model of a run.
type scoreWork struct {
	tx    *kv.Tx
	run   *Run
	opt   ops.Options
	steps *atomic.Int64 // that may be walked around all nodes, before a pass costs less

	readsStored bool        // of nodes that are not stale
	stale       []kv.NodeID // nodes whose stored scores are older than changes around them, ascending
	passed      *scoring    // of a pass; nil: nodes are walked around
}

// each scores nodes on all workers. It returns ErrReach if together they take more steps than there are.
func (w *scoreWork) each(ctx context.Context, nodes []kv.NodeID) ([]NodeScore, error) {
	scores, scorers := make([]NodeScore, len(nodes)), make([]*scorer, parallel.Workers(w.opt.Workers))
	score := func(ctx context.Context, worker, i int) (err error) {
		if scorers[worker] == nil {
			if scorers[worker], err = w.newScorer(ctx); err != nil {
				return err
			}
		}
		scores[i], err = scorers[worker].score(nodes[i])
		return err
	}
	if len(nodes) == 1 { // no goroutine: that takes a tenth of the time to read a stored score
		return scores, score(ctx, 0, 0)
	}
	return scores, parallel.Do(ctx, len(scorers), len(nodes), score)
}

// passOver scores all nodes that have predictions in one pass over the graph. Others are walked around, one after the
// other, whatever that costs. Arrays of its own are temporary ones, since a transaction that writes cannot wait for the
// workplace of the store: whoever has that may wait for it.
func (w *scoreWork) passOver(ctx context.Context) error {
	place, err := workplace.Reading(w.tx)
	if err != nil {
		return err
	}
	w.passed, err = w.run.scoreByPass(ctx, w.tx, place, nil, Options{
		Workers: w.opt.Workers, MemoryBudget: w.opt.MemoryBudget, Progress: w.opt.Progress, OnStage: w.opt.OnStage,
	})
	w.opt.Workers = 1
	return err
}

// A scorer scores single nodes. It belongs to one goroutine.
type scorer struct {
	*scoreWork
	ctx         context.Context
	predictions ops.Source // with the classes of the run
	labels      nodeLabels
	unknown     *nodePredictor // of nodes without predictions; nil until there is one, or none can be predicted

	around surroundings
	judge  *nodeScorer
	ranks  []int32
}

// newScorer returns a scorer, several of which may share the work.
func (w *scoreWork) newScorer(ctx context.Context) (s *scorer, err error) {
	c := len(w.run.Classes)
	s = &scorer{
		scoreWork: w, ctx: ctx, labels: nodeLabels{tx: w.tx, classes: c}, judge: w.run.judge(), ranks: w.run.ranks(),
		around: surroundings{own: make([]float32, c), labels: make([][]float64, w.run.Hops)},
	}
	s.predictions, err = w.run.predictions(w.tx)
	return s, err
}

// score computes the score and the suggestion of a node.
func (s *scorer) score(v kv.NodeID) (result NodeScore, err error) {
	result = NodeScore{Node: v, Score: math.NaN(), Confidence: math.NaN(), Run: s.run.ID}
	if result.ID, err = s.tx.ID(v); err != nil {
		return result, err
	}
	class, err := s.tx.Label(v)
	if err != nil {
		return result, err
	}
	label, row := s.run.class(class), s.around.own
	if class != kv.NoClass {
		result.Label = s.tx.Classes()[class]
		if label == kv.NoClass {
			result.Lack = fmt.Sprintf("its label was first used after run %d", s.run.ID)
		}
	}
	if err := s.predictions.Read(kv.Range{First: v, End: v + 1}, 0, len(row), row); err != nil {
		return result, err
	}
	_, isStale := slices.BinarySearch(s.stale, v)
	switch {
	case hasNaN(row):
		if s.passed != nil { // a walk around the node is all there is left
			s.steps.Store(ballSteps(s.opt).Load())
		}
		err := s.predict(v)
		if errors.Is(err, errNoClassifier) {
			result.Lack = "it has no predictions, and no classifier is kept that could make them"
			return result, nil
		}
		if result.Predicted = err == nil; err != nil {
			return result, err
		}
	case s.readsStored && !isStale:
		stored := storedValues{tx: s.tx, node: v}
		result.Score, result.Confidence = stored.number(ScoreColumn), stored.number(ConfidenceColumn)
		result.Suggestion = stored.text(SuggestedColumn)
		return result, stored.err
	case s.passed != nil:
		result.take(s.run, s.passed.scores.Data[v], s.passed.suggested.Data[v], s.passed.confidence.Data[v])
		return result, nil
	}
	if err := s.lookAround(v); err != nil {
		return result, err
	}
	votes, _, err := s.labels.votes(s.ctx, v)
	if err != nil {
		return result, err
	}
	by := labelmodel.Evidence{Predictions: row, Votes: votes, Ranks: s.ranks}
	suggestion := by.Suggest(label)
	result.take(s.run, float32(math.NaN()), suggestion, row[suggestion])
	if label != kv.NoClass {
		score, class, confidence := s.judge.judgeAs(label, by, &s.around, s.run.kept.isUntaught(v, label))
		if score == score {
			result.take(s.run, score, class, confidence)
		}
	}
	return result, nil
}

// take takes the numbers that a run finds for a node with predictions.
func (s *NodeScore) take(run *Run, score float32, suggestion kv.Class, confidence float32) {
	s.Score, s.Suggestion, s.Confidence = float64(score), run.Classes[suggestion], float64(confidence)
}

// predict makes the kept classifier's prediction of a node its own; errNoClassifier if it cannot.
func (s *scorer) predict(v kv.NodeID) error {
	if s.unknown == nil {
		f, err := openFiller(s.tx)
		if err == nil {
			err = f.open()
		}
		if err == nil {
			s.unknown, err = newNodePredictor(s.ctx, f, s.steps)
		}
		if err != nil {
			return err
		}
	}
	row, err := s.unknown.row(v)
	if err != nil {
		return err
	}
	inClasses(s.run.Classes, s.unknown.Columns())(row, s.around.own)
	return nil
}

// lookAround adds up the labels around a node by hop, as far as the run reaches.
func (s *scorer) lookAround(v kv.NodeID) (err error) {
	var rows []ops.Row
	reach := s.run.reach()
	if p := s.unknown; p != nil && p.from == v && len(p.walked) >= reach { // its prediction came from them
		rows = p.walked[:reach]
	} else if rows, err = ops.OperatorRows(s.ctx, s.tx, v, ops.Operator{Hops: reach}, s.steps); err != nil {
		return err
	}
	for k, row := range rows {
		if s.around.labels[k], _, err = s.labels.sum(row); err != nil {
			return err
		}
	}
	return nil
}
