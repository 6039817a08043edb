package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// An Explanation says why a node has its score. The last run wrote Score, Suggestion and Confidence;
// everything else is computed from the store as it is. If the last run was made elsewhere, Votes, Supporters, Opponents
// and Degree are those of the part of its graph that the store has; what else depends on the graph is left out, and
// Incomplete says so.
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
	// Counterfactual are nil. If the node or a node within K hops has no predictions, the features that need them
	// and Predictions in Hops are NaN, and Counterfactual is nil.
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
	hops := defaultHops
	if run != nil {
		hops = run.Hops
	}
	isElsewhere := run != nil && run.Elsewhere != nil
	if isElsewhere { // nothing that would be taken for knowledge of the run
		hops = 1
		e.lacks(fmt.Sprintf("run %d was made elsewhere, on a graph of %d nodes: neighbors and degree are those of the part that is here, and the features behind the score are not here",
			run.ID, run.Elsewhere.Nodes))
	}
	label, features, err := e.surround(ctx, tx, predictions, hops, opt)
	if isElsewhere {
		e.Hops = nil
	}
	if err != nil || features == nil || isElsewhere {
		return e, err
	}
	if label != kv.NoClass {
		e.Features = nameFeatures(run.features(features[label]), hops)
	}
	switch {
	case slices.ContainsFunc(features, hasNaN):
		if e.TopClasses != nil { // else it has been said of the node itself
			e.lacks(fmt.Sprintf("some nodes within %d hops have no predictions: the features over walks to them are unknown", hops))
		}
	case run != nil && run.Model != nil:
		// Classes that were first used after the run are ones of which it has learned nothing.
		e.Counterfactual = counterfactuals(run, slices.Index(run.Classes, e.ScoredAs), features[:len(run.Classes)], e.Votes)
	}
	return e, nil
}

// mostGlanced is how many neighbours Glance asks what they say.
const mostGlanced = 10_000

// Glance is the part of Explain that takes no time to speak of: what is stored of the node, and what its neighbours say
// if they are not too many. It has no features and no other scores.
func Glance(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt ops.Options) (*Explanation, error) {
	e, _, predictions, err := newExplanation(ctx, tx, v)
	if err != nil || predictions == nil || e.Degree > mostGlanced || e.Label == "" {
		return e, err
	}
	_, _, err = e.surround(ctx, tx, predictions, 1, opt)
	e.Hops = nil
	return e, err
}

// newExplanation has the stored values of a node and its neighbours. The run and the predictions are nil if there are
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
	predictions = inClassOrder(tx, matrix)
	return e, run, predictions, e.rankClasses(tx, predictions)
}

// lacks adds the missing parts to the explanation.
func (e *Explanation) lacks(what string) {
	if e.Incomplete != "" {
		e.Incomplete += "; "
	}
	e.Incomplete += what
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
