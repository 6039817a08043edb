package cleaner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
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

// Score scores nodes by the model of the last run, from the nodes around them as they are in the snapshot, and writes
// nothing: a suggestion of it can only be accepted after a Rescore has stored it. It looks as many hops far as labels
// have a weight in the model: up to K. A node without stored predictions is predicted by the kept classifier, if
// there is one, from the nodes around it. The scores are those of a full Rescore within 1e-5. The result has the order
// of nodes.
//
// Around a hub, or several nodes together, there may be so many nodes that a pass over the graph costs less than to
// walk around them, or that they do not fit opt.MemoryBudget. One pass then scores all nodes that are left, as in a
// Rescore, except nodes without stored predictions. It fails with an *ops.BudgetError if a pass does not fit either,
// kv.ErrNotFound without a run, and ErrNoModel or ErrElsewhere if the run cannot score, as one of a Method.
func Score(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID, opt ops.Options) ([]NodeScore, error) {
	if tx.InUpdate() {
		opt.Workers = 1 // the transaction is for one goroutine
	}
	run, err := lastFit(tx)
	if err != nil {
		return nil, err
	}
	if err := run.checkHere(); err != nil {
		return nil, err
	}
	s, err := newScorer(ctx, tx, run, opt)
	if err != nil {
		return nil, err
	}
	if err := s.findStale(); err != nil {
		return nil, err
	}
	return s.scoreAll(nodes)
}

// scoredAtOnce is how many nodes are scored before their scores are handed out: one pass may score all of them.
const scoredAtOnce = 1 << 16

// Scores is Score of any number of nodes, some at a time. It reports them as progress.
func Scores(ctx context.Context, tx *kv.Tx, nodes []kv.NodeID, opt ops.Options) iter.Seq2[NodeScore, error] {
	return func(yield func(NodeScore, error) bool) {
		for first := 0; first < len(nodes); first += scoredAtOnce {
			if opt.Progress != nil {
				opt.Progress("score labels", int64(first), int64(len(nodes)))
			}
			scores, err := Score(ctx, tx, nodes[first:min(first+scoredAtOnce, len(nodes))], opt)
			if err != nil {
				yield(NodeScore{}, err)
				return
			}
			for _, score := range scores {
				if !yield(score, nil) {
					return
				}
			}
		}
	}
}

// A scorer scores single nodes of a snapshot by the model of a run. It belongs to one goroutine.
type scorer struct {
	ctx         context.Context
	tx          *kv.Tx
	run         *Run
	model       *labelmodel.Scorer
	predictions ops.Source // with the classes of the run
	ranks       []int32
	opt         ops.Options
	steps       *atomic.Int64 // that may be walked around all nodes, before a pass costs less
	passed      *scoring      // of a pass; nil: nodes are walked around

	stale map[kv.NodeID]struct{} // nodes whose stored scores are older than changes around them
	known bool                   // all others have the stored scores

	labels  nodeLabels
	unknown *nodePredictor // of nodes without predictions; nil until there is one, or none can be predicted

	row  []float32 // of predictions
	sums []float64 // the labels around a node by hop [K][c], zero beyond the reach of the run
}

// newScorer returns a scorer by a run, which several scorers may share.
func newScorer(ctx context.Context, tx *kv.Tx, run *Run, opt ops.Options) (s *scorer, err error) {
	s = &scorer{ctx: ctx, tx: tx, run: run, opt: opt, steps: stepsAround(tx, opt), model: run.Model.Scorer(), labels: nodeLabels{tx: tx}}
	if s.predictions, err = run.predictions(tx); err != nil {
		return nil, err
	}
	c := len(run.Classes)
	s.ranks = labelmodel.RankClasses(run.kept.Counts, run.Classes)
	s.row, s.sums = make([]float32, c), make([]float64, run.Hops*c)
	return s, nil
}

// mostStale is the most nodes around changes that are looked for, before nodes are scored one by one: to find as many
// takes the time of scoring one.
const mostStale = 1 << 10

// findStale finds the nodes whose stored scores are older than changes around them.
func (s *scorer) findStale() error {
	nodes, all, err := staleNodes(s.ctx, s.tx, s.run, mostStale)
	if all || errors.Is(err, ops.ErrReach) {
		return nil
	}
	if err != nil {
		return err
	}
	s.stale, s.known = make(map[kv.NodeID]struct{}, len(nodes)), true
	for _, v := range nodes {
		s.stale[v] = struct{}{}
	}
	return nil
}

// isStored says whether the stored score of a node is up to date.
func (s *scorer) isStored(v kv.NodeID) bool {
	_, stale := s.stale[v]
	return s.known && !stale
}

// readStored reads the stored score of a node that has predictions.
func (s *scorer) readStored(of *NodeScore) error {
	score, err := s.tx.Value(of.Node, ScoreColumn)
	if err != nil {
		return err
	}
	suggestion, err := s.tx.Value(of.Node, SuggestedColumn)
	if err != nil {
		return err
	}
	confidence, err := s.tx.Value(of.Node, ConfidenceColumn)
	of.Score, of.Suggestion, of.Confidence = score.Float(), suggestion.Str(), confidence.Float()
	return err
}

// scoreAll walks around nodes as long as that costs less than a pass, which scores those that are left.
func (s *scorer) scoreAll(nodes []kv.NodeID) (scores []NodeScore, err error) {
	defer func() {
		if s.passed != nil {
			err = errors.Join(err, s.passed.Close())
		}
	}()
	for _, v := range nodes {
		score, err := s.score(v)
		if errors.Is(err, ops.ErrReach) && s.passed == nil {
			if err = s.passOver(); err == nil {
				score, err = s.score(v)
			}
		}
		if err != nil {
			return nil, err
		}
		scores = append(scores, score)
	}
	return scores, nil
}

// score computes the score and the suggestion of a node.
func (s *scorer) score(v kv.NodeID) (NodeScore, error) {
	result := NodeScore{Node: v, Score: math.NaN(), Confidence: math.NaN(), Run: s.run.ID}
	if int(v) >= s.tx.NumNodes() {
		return result, fmt.Errorf("node number %d: %w", v, kv.ErrNotFound)
	}
	var err error
	if result.ID, err = s.tx.ID(v); err != nil {
		return result, err
	}
	class, err := s.tx.Label(v)
	if err != nil {
		return result, err
	}
	label := s.run.class(class)
	if class != kv.NoClass {
		result.Label = s.tx.Classes()[class]
		if label == kv.NoClass {
			result.Lack = fmt.Sprintf("its label was first used after run %d", s.run.ID)
		}
	}
	if err := s.predictions.Read(kv.Range{First: v, End: v + 1}, 0, len(s.row), s.row); err != nil {
		return result, err
	}
	switch hasRow := !hasNaN(s.row); {
	case hasRow && s.isStored(v):
		return result, s.readStored(&result)
	case hasRow && s.passed != nil:
		result.Score, result.Confidence = float64(s.passed.scores.Data[v]), float64(s.passed.confidence.Data[v])
		result.Suggestion = s.run.Classes[s.passed.suggested.Data[v]]
		return result, nil
	case !hasRow:
		if s.passed != nil { // a walk around the node is all there is left
			s.steps.Store(ballSteps(s.opt).Load())
		}
		if result.Predicted, err = s.predict(v); err != nil {
			return result, err
		}
		if !result.Predicted {
			result.Lack = "it has no predictions, and no classifier is kept that could make them"
			return result, nil
		}
	}
	if err := s.sumAround(v); err != nil {
		return result, err
	}
	by, err := s.evidence(v)
	if err != nil {
		return result, err
	}
	suggestion := by.Suggest(label)
	result.Suggestion, result.Confidence = s.run.Classes[suggestion], float64(s.row[suggestion])
	if label != kv.NoClass {
		score, class, confidence := s.byModel(v, label, by)
		if result.Score = float64(score); score == score {
			result.Suggestion, result.Confidence = s.run.Classes[class], float64(confidence)
		}
	}
	return result, nil
}

// predict puts the kept classifier's prediction of a node into row, and returns false if it cannot.
func (s *scorer) predict(v kv.NodeID) (ok bool, err error) {
	if s.unknown == nil {
		f, err := openFiller(s.tx)
		if err == nil {
			err = f.open()
		}
		if err != nil {
			return false, ignoreNoClassifier(err)
		}
		s.unknown = newNodePredictor(s.ctx, f, s.steps)
	}
	row, err := s.unknown.row(v)
	if err != nil {
		return false, ignoreNoClassifier(err)
	}
	inClasses(s.run.Classes, s.unknown.Columns())(row, s.row)
	return true, nil
}

func ignoreNoClassifier(err error) error {
	if errors.Is(err, errNoClassifier) {
		return nil
	}
	return err
}

// rows are those of a node in S_1, S_2 … as far as the run reaches.
func (s *scorer) rows(v kv.NodeID) ([]ops.Row, error) {
	reach := s.run.reach()
	p := s.unknown
	if p != nil && p.from == v && len(p.walked) >= reach {
		return p.walked[:reach], nil // its prediction came from them
	}
	return ops.OperatorRows(s.ctx, s.tx, v, ops.Operator{Hops: reach}, s.steps)
}

// sumAround adds up the labels around a node by hop.
func (s *scorer) sumAround(v kv.NodeID) error {
	rows, err := s.rows(v)
	if err != nil {
		return err
	}
	c := len(s.run.Classes)
	clear(s.sums)
	for k, row := range rows {
		for i, u := range row.Nodes {
			label, err := s.labelOf(u, len(row.Nodes))
			if err != nil {
				return err
			}
			if label != kv.NoClass {
				s.sums[k*c+int(label)] += row.Values[i]
			}
		}
	}
	return nil
}

// evidence collects the predictions and the votes of the neighbours of a node, borrowed.
func (s *scorer) evidence(v kv.NodeID) (labelmodel.Evidence, error) {
	by := labelmodel.Evidence{Predictions: s.row, Votes: make([]float64, len(s.run.Classes)), Ranks: s.ranks}
	graph := s.tx.Undirected()
	for arc, err := range graph.Arcs(v) {
		if err != nil {
			return by, err
		}
		weight := float64(graph.Weight(arc))
		if weight == 0 {
			continue
		}
		label, err := s.labelOf(arc.Neighbor, 1)
		if err != nil {
			return by, err
		}
		if label != kv.NoClass {
			by.Votes[label] += weight
		}
	}
	return by, nil
}

// labelOf is the run's number of the label of a node, one of so many that are asked for.
func (s *scorer) labelOf(u kv.NodeID, asked int) (kv.Class, error) {
	label, err := s.labels.of(u, asked)
	return s.run.class(label), err
}

// byModel is the score, with the suggestion and its confidence.
func (s *scorer) byModel(
	v kv.NodeID, label kv.Class, by labelmodel.Evidence,
) (score float32, class kv.Class, confidence float32) {
	hops, c := s.run.Hops, len(s.run.Classes)
	stride := width(nil, hops)
	of := newNodeScorer(s.model, 1+labelmodel.CountRivals(c), stride)
	of.classes[0] = label
	by.ChooseRivals(label, of.classes[1:])
	for i, class := range of.classes {
		of.z[i*stride] = s.row[class]
		for k := range hops {
			of.z[i*stride+1+k] = float32(s.sums[k*c+int(class)])
		}
	}
	return of.score(s.run.kept.isUntaught(v, label))
}
