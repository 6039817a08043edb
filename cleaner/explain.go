package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// An Explanation says why a node has its score. Score, Suggestion and Confidence are what the last run wrote;
// everything else is computed from the store as it is. If the last run was made elsewhere, Votes, Supporters, Opponents
// and Degree are those of the part of its graph that the store has; what else depends on the graph is left out, and
// Incomplete says so. Of a node without stored predictions that the kept classifier can predict, these are those of
// Score.
type Explanation struct {
	Node       kv.NodeID
	ID         string
	Label      string // "" if unlabelled
	Suggestion string // "" before the first run
	Split      string // as stored, "" if there is none
	Score      float64
	Confidence float64 // NaN, as Score, if there is none
	Degree     int
	Run        int64  // 0: never scored
	ScoredAs   string // the label that Score is of, which decisions may have changed since; "" without a score

	View     decide.View       // the node as it is stored, for a decision that must find it so
	Decision decide.Kind       // in force; decide.None: nobody has decided
	Disputed bool              // people disagree about the label
	Words    []decide.Decision // the last word of each person about the label: see decide.Words
	History  []decide.Decision // of the node, oldest first

	TopClasses []ClassShare   // predictions of the node, greatest first; Count is 0; nil if it has none
	Features   []NamedFeature // agreement features of the given label that the last run looked at; nil if unlabelled or the store has no predictions
	Votes      []ClassShare   // given labels of the neighbours, greatest share of weight first; unlabelled ones have no vote

	// Hops are the votes of the nodes that walks of length 1 … K end at, by hop, greatest weight of labels first;
	// classes that nobody speaks for are left out. Supporters are the ten neighbours that speak most for the given
	// label, of those that speak more for it than against it. Opponents are the same for the other side. All are nil
	// without predictions, and where the explanation is Incomplete.
	Hops       []HopVote
	Supporters []Voice
	Opponents  []Voice

	// Counterfactual has the score that each other class than ScoredAs would have as the label, the least first: these
	// labels fit best. It comes from the label model of the last run; nil without one.
	Counterfactual []ClassShare

	// Incomplete says what could not be computed, and why. If too many nodes are within K hops, Features and
	// Counterfactual are nil. If the node or a node within K hops has no predictions, the
	// features that need them and Predictions in Hops are NaN, and Counterfactual is nil.
	Incomplete string
}

// A ClassShare is a class with a probability, a score, or its share of a count.
type ClassShare struct {
	Class string
	Share float64
	Count int64
}

// A NamedFeature is one agreement feature: P0, P1 … PK (of a run without a label model), L1 … LK.
type NamedFeature struct {
	Name  string
	Value float64
}

// Explain explains one node. It reads the nodes within K hops. If they do not fit opt.MemoryBudget, the explanation is
// Incomplete. If there is no such node, it returns kv.ErrNotFound.
func Explain(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt ops.Options) (*Explanation, error) {
	e, run, predictions, err := newExplanation(ctx, tx, v)
	if err != nil || predictions == nil {
		return e, err
	}
	label, err := tx.Label(v)
	if err != nil {
		return nil, err
	}
	if run != nil && run.Elsewhere != nil {
		return e, e.explainPart(ctx, tx, run, label, predictions, opt)
	}
	predictions, err = e.predict(ctx, tx, predictions, opt)
	if err != nil {
		return nil, err
	}
	if err := e.rankClasses(tx, predictions); err != nil {
		return nil, err
	}

	hops := defaultHops
	if run != nil {
		hops = run.Hops
	}
	around, err := surround(ctx, tx, v, label, predictions, hops, opt)
	if errors.Is(err, ops.ErrReach) {
		e.lacks(err.Error())
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	if err := e.addNeighbors(tx, around, hops); err != nil {
		return nil, err
	}
	if label != kv.NoClass {
		e.Features = nameFeatures(run.features(around.features[label]), hops)
	}
	if run != nil && run.Model != nil {
		// Classes that were first used after the run are ones of which it has learned nothing.
		e.Counterfactual = counterfactuals(run, slices.Index(run.Classes, e.ScoredAs), around.features[:len(run.Classes)], e.Votes)
	}
	e.leaveOutScores(around, hops)
	return e, nil
}

// mostGlanced is how many neighbours Glance asks what they say.
const mostGlanced = 10_000

// Glance is the part of Explain that takes no time to speak of: what is stored of the node, and what its neighbours say
// if they are not too many. It has no features and no other scores.
func Glance(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt ops.Options) (*Explanation, error) {
	e, _, predictions, err := newExplanation(ctx, tx, v)
	if err != nil || predictions == nil {
		return e, err
	}
	if err := e.rankClasses(tx, predictions); err != nil || e.Degree > mostGlanced || e.Label == "" {
		return e, err
	}
	label, err := tx.Label(v)
	if err != nil {
		return nil, err
	}
	return e, e.hearNeighbors(ctx, tx, label, predictions, opt)
}

// newExplanation has what is stored of a node and its neighbours. The run and the predictions are nil if there are
// none.
func newExplanation(ctx context.Context, tx *kv.Tx, v kv.NodeID) (e *Explanation, run *Run, predictions ops.Source, err error) {
	if int(v) >= tx.NumNodes() {
		return nil, nil, nil, cmp.Or(tx.Err(), fmt.Errorf("node number %d: %w", v, kv.ErrNotFound))
	}
	e = &Explanation{Node: v}
	if err := errors.Join(e.readNode(tx), e.readHistory(ctx, tx)); err != nil {
		return nil, nil, nil, err
	}
	run, err = LastRun(tx)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, nil, nil, err
	}
	if run != nil {
		e.findScoredLabel(run)
	}
	if err := e.countVotes(ctx, tx); err != nil {
		return nil, nil, nil, err
	}
	matrix, err := scoredFrom(tx)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return e, run, nil, nil
	case err != nil:
		return nil, nil, nil, err
	}
	// Not Predictions, which looks at every row: here only those of the ball matter, and one that is missing is NaN.
	return e, run, inClassOrder(tx, matrix), nil
}

// explainPart explains a node of a part of the graph that a run was made on: what the neighbours say, and nothing that
// would be taken for what the run knew.
func (e *Explanation) explainPart(ctx context.Context, tx *kv.Tx, run *Run, label kv.Class, predictions ops.Source, opt ops.Options) error {
	e.lacks(fmt.Sprintf("run %d was made elsewhere, on a graph of %d nodes: neighbors and degree are those of the part that is here, and the features behind the score are not here",
		run.ID, run.Elsewhere.Nodes))
	if err := e.rankClasses(tx, predictions); err != nil {
		return err
	}
	return e.hearNeighbors(ctx, tx, label, predictions, opt)
}

// hearNeighbors adds what the neighbours of the node say.
func (e *Explanation) hearNeighbors(ctx context.Context, tx *kv.Tx, label kv.Class, predictions ops.Source, opt ops.Options) error {
	around, err := surround(ctx, tx, e.Node, label, predictions, 1, opt)
	if errors.Is(err, ops.ErrReach) {
		e.lacks(err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	err = e.addNeighbors(tx, around, 1)
	e.Hops = nil
	return err
}

// predict has the kept classifier predict the node if no prediction of it is stored, and score it by that, as Score
// does. Of others, what is stored stays.
func (e *Explanation) predict(ctx context.Context, tx *kv.Tx, stored ops.Source, opt ops.Options) (ops.Source, error) {
	row := make([]float32, stored.Width())
	if err := stored.Read(kv.Range{First: e.Node, End: e.Node + 1}, 0, len(row), row); err != nil || !hasNaN(row) {
		return stored, err
	}
	run, err := lastFit(tx)
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, ErrNoModel) {
		return stored, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := newScorer(ctx, tx, run, opt)
	if err != nil {
		return nil, err
	}
	scores, err := s.scoreAll([]kv.NodeID{e.Node})
	if err != nil || !scores[0].Predicted {
		return stored, err
	}
	score := scores[0]
	e.Score, e.Suggestion, e.Confidence, e.Run, e.ScoredAs = score.Score, score.Suggestion, score.Confidence, score.Run, ""
	if !math.IsNaN(e.Score) {
		e.ScoredAs = e.Label
	}
	clear(row) // of classes that were first used after the run
	copy(row, s.row)
	return withRow{stored, e.Node, row}, nil
}

// lacks adds what is missing in the explanation.
func (e *Explanation) lacks(what string) {
	if e.Incomplete != "" {
		e.Incomplete += "; "
	}
	e.Incomplete += what
}

// leaveOutScores says so where predictions of the ball are missing, and leaves out the scores that need them.
func (e *Explanation) leaveOutScores(around *surrounding, hops int) {
	if !slices.ContainsFunc(around.features, hasNaN) {
		return
	}
	e.Counterfactual = nil
	if e.TopClasses != nil { // else it has been said of the node itself
		e.lacks(fmt.Sprintf("some nodes within %d hops have no predictions: the features over walks to them are unknown", hops))
	}
}

// features are those of all that the preset of a run looks at; all without a run.
func (r *Run) features(all []float32) []float32 {
	if r == nil || r.Preset != PresetDefault {
		return all
	}
	return weighed(all)
}

func nameFeatures(row []float32, hops int) []NamedFeature {
	var features []NamedFeature
	for f, name := range featureNames(len(row), hops) {
		features = append(features, NamedFeature{name, float64(row[f])})
	}
	return features
}

// counterfactuals scores the features of every class of a run but the given one, z [c][2K+1], with what it has learned.
func counterfactuals(run *Run, label int, z [][]float32, votes []ClassShare) []ClassShare {
	var shares []ClassShare
	model, by := run.Model.Scorer(), run.evidence(votes)
	var rows [][]float32
	for _, all := range z {
		rows = append(rows, weighed(all))
	}
	for x := range z {
		if x != label {
			shares = append(shares, ClassShare{Class: run.Classes[x], Share: float64(float32(model.Hypothetical(kv.Class(x), rows, by)))})
		}
	}
	slices.SortStableFunc(shares, func(a, b ClassShare) int { return cmp.Compare(a.Share, b.Share) })
	return shares
}

// evidence is that of votes, by the classes of a run. It has no predictions.
func (r *Run) evidence(votes []ClassShare) labelmodel.Evidence {
	by := labelmodel.Evidence{
		Votes: make([]float64, len(r.Classes)), Ranks: labelmodel.RankClasses(r.labelCounts, r.Classes),
	}
	for _, vote := range votes {
		if k := slices.Index(r.Classes, vote.Class); k >= 0 {
			by.Votes[k] = vote.Share
		}
	}
	return by
}
