package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
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
// It walks around each node: for many nodes around changes, a Rescore takes less time. It fails with ops.ErrReach if
// the nodes around one do not fit opt.MemoryBudget, kv.ErrNotFound without a run, and ErrNoModel or ErrElsewhere if the
// run cannot score, as one of a Method.
func Score(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID, opt ops.Options) ([]NodeScore, error) {
	if tx.InUpdate() {
		opt.Workers = 1 // the transaction is for one goroutine
	}
	run, err := lastFit(tx)
	if err != nil {
		return nil, err
	}
	w := &scoreWork{tx: tx, run: run, opt: opt}
	w.stale, _, err = run.staleNodes(ctx, tx, mostStale)
	if w.readsStored = err == nil; err != nil && !errors.Is(err, ops.ErrReach) {
		return nil, err
	}
	return w.each(ctx, nodes)
}

// mostStale is the most nodes around changes that are looked for, before nodes are scored one by one: to find as many
// takes the time of scoring one.
const mostStale = 1 << 10

// ballNodeBytes bounds the memory of a node of the ball in ops.OperatorRows and in the list of the ball.
const ballNodeBytes = 128

// ballSteps is how many arcs may be walked around nodes at once, within the memory for the entries that come of them.
func ballSteps(opt ops.Options) int64 {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = machine.MemoryBudget()
	}
	return budget / ballNodeBytes
}

// A scoreWork scores nodes of a snapshot by the model of a run.
type scoreWork struct {
	tx     *kv.Tx
	run    *Run
	opt    ops.Options
	shared *atomic.Int64 // steps that may be walked around all nodes; nil: those around each are bounded by its memory

	readsStored bool        // of nodes that are not stale
	stale       []kv.NodeID // nodes whose stored scores are older than changes around them, ascending
}

// each scores nodes on all workers. It returns ErrReach if they take more steps than there are.
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

// A scorer scores single nodes. It belongs to one goroutine.
type scorer struct {
	*scoreWork
	ctx         context.Context
	steps       *atomic.Int64 // that are left
	predictions ops.Source    // with the classes of the run
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
		scoreWork: w, ctx: ctx, steps: cmp.Or(w.shared, new(atomic.Int64)), labels: nodeLabels{tx: w.tx, classes: c},
		around: surroundings{own: make([]float32, c), labels: make([][]float64, w.run.Hops)},
		judge:  w.run.judge(), ranks: w.run.ranks(),
	}
	s.predictions, err = w.run.predictions(w.tx)
	return s, err
}

// score computes the score and the suggestion of a node.
func (s *scorer) score(v kv.NodeID) (result NodeScore, err error) {
	if s.shared == nil {
		s.steps.Store(ballSteps(s.opt) / int64(parallel.Workers(s.opt.Workers)))
	}
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
		result.Score, result.Confidence = stored.value(ScoreColumn).Float(), stored.value(ConfidenceColumn).Float()
		result.Suggestion = stored.value(SuggestedColumn).Str()
		return result, stored.err
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
	confidence := row[suggestion]
	if label != kv.NoClass {
		score, class, chance := s.judge.judgeAs(label, by, &s.around, s.run.kept.isUntaught(v, label))
		if result.Score = float64(score); score == score {
			suggestion, confidence = class, chance
		}
	}
	result.Suggestion, result.Confidence = s.run.Classes[suggestion], float64(confidence)
	return result, nil
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
	clear(s.around.own[copy(s.around.own, row):])
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
	labels, err := s.labels.sums(rows)
	copy(s.around.labels, labels)
	return err
}
