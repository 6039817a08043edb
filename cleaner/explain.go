package cleaner

import (
	"cmp"
	"context"
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
	Node        kv.NodeID
	ID          string
	decide.View        // the node as it is stored, for a decision that must find it so
	Split       string // as stored, "" if there is none
	Score       float64
	Confidence  float64 // NaN, as Score, if there is none
	Degree      int
	ScoredAs    string // the label that Score is of, which decisions may have changed since; "" without a score

	Words   []decide.Decision // the last word of each person about the label: see decide.Words
	History []decide.Decision // of the node, oldest first

	TopClasses []ClassShare // predictions of the node, greatest first; Count is 0; nil if it has none
	// Features are the agreement features P0 and L1 … LK of the given label; nil if unlabelled or the store has no
	// predictions.
	Features []NamedFeature
	Votes    []ClassShare // given labels of the neighbours, greatest share of weight first; unlabelled ones have no vote

	// Supporters are the ten neighbours that speak most for the given label, of those that speak more for it than
	// against it. Opponents are the same for the other side. Both are nil without predictions, and if too many nodes
	// are within K hops.
	Supporters []Voice
	Opponents  []Voice

	// Counterfactual has the score that each other class than ScoredAs would have as the label, the least first: these
	// labels fit best. It comes from the label model of the last run; nil without one.
	Counterfactual []ClassShare

	// Incomplete says what could not be computed, and why. If too many nodes are within K hops, Features and
	// Counterfactual are nil. If the node has no predictions, P0 is NaN, and Counterfactual is nil.
	Incomplete string
}

// A ClassShare is a class with a probability, a score, or its share of a count.
type ClassShare struct {
	Class string
	Share float64
	Count int64
}

// A NamedFeature is one agreement feature: P0, or one of L1 … LK.
type NamedFeature struct {
	Name  string
	Value float64
}

// Explain explains one node. It reads the nodes within K hops. If they do not fit opt.MemoryBudget, the explanation is
// Incomplete. If there is no such node, it returns kv.ErrNotFound.
func Explain(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt ops.Options) (*Explanation, error) {
	d, err := newDossier(ctx, tx, v)
	if err != nil {
		return nil, err
	}
	if d.predictions == nil {
		return d.Explanation, nil
	}
	run, hops := d.run, defaultHops
	if run != nil {
		hops = run.Hops
	}
	if run != nil && run.Elsewhere != nil { // nothing that would be taken for knowledge of the run
		d.lacks(fmt.Sprintf("run %d was made elsewhere, on a graph of %d nodes: neighbors and degree are those of the "+
			"part that is here, and the features behind the score are not here",
			run.ID, run.Elsewhere.Nodes))
		return d.Explanation, d.lookAround(ctx, 1, opt)
	}
	if err := d.lookAround(ctx, hops, opt); err != nil || d.around.labels == nil {
		return d.Explanation, err
	}
	if d.class != kv.NoClass {
		for f, value := range d.around.features(d.class, make([]float32, 1+hops)) {
			name := "P0"
			if f > 0 {
				name = fmt.Sprintf("L%d", f)
			}
			d.Features = append(d.Features, NamedFeature{name, float64(value)})
		}
	}
	if d.TopClasses != nil && run != nil && run.Model != nil {
		d.supposeLabels()
	}
	return d.Explanation, nil
}

// mostGlanced is how many neighbours Glance asks what they say.
const mostGlanced = 10_000

// Glance is the part of Explain that takes no time to speak of: what is stored of the node, and what its neighbours say
// if they are not too many. It has no features and no other scores.
func Glance(ctx context.Context, tx *kv.Tx, v kv.NodeID, opt ops.Options) (*Explanation, error) {
	d, err := newDossier(ctx, tx, v)
	if err != nil {
		return nil, err
	}
	if d.predictions == nil || d.Degree > mostGlanced || d.Label == "" {
		return d.Explanation, nil
	}
	return d.Explanation, d.lookAround(ctx, 1, opt)
}

// lacks adds the missing parts to the explanation.
func (e *Explanation) lacks(what string) {
	if e.Incomplete != "" {
		e.Incomplete += "; "
	}
	e.Incomplete += what
}

// supposeLabels scores every class of the run but the one that has a score. Classes that were first used after the run
// are ones of which it has learned nothing. A damaged run scores none.
func (d *dossier) supposeLabels() {
	if err := d.run.checkModel(d.tx); err != nil {
		d.lacks(err.Error())
		return
	}
	judge, c := d.run.judge(), len(d.run.Classes)
	by := labelmodel.Evidence{Predictions: d.around.own[:c], Votes: d.votes[:c], Ranks: d.run.ranks()}
	for k, class := range d.run.Classes {
		if class != d.ScoredAs {
			_, isUntaught := slices.BinarySearch(d.run.Model.Untaught, kv.Class(k))
			score, _, _ := judge.judgeAs(kv.Class(k), by, &d.around, isUntaught)
			d.Counterfactual = append(d.Counterfactual, ClassShare{Class: class, Share: float64(score)})
		}
	}
	slices.SortStableFunc(d.Counterfactual, func(a, b ClassShare) int { return cmp.Compare(a.Share, b.Share) })
}
