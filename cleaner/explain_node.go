package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A dossier is an Explanation in the making.
type dossier struct {
	*Explanation
	tx          *kv.Tx
	run         *Run       // nil: there is none
	predictions ops.Source // nil: there are none
	labels      nodeLabels
	class       kv.Class // the given label
	votes       []float64
	around      surroundings
}

// newDossier has the stored values of a node, and the votes of its neighbours.
func newDossier(ctx context.Context, tx *kv.Tx, v kv.NodeID) (*dossier, error) {
	d := &dossier{Explanation: &Explanation{Node: v}, tx: tx, labels: nodeLabels{tx: tx, classes: len(tx.Classes())}}
	err := cmp.Or(d.readNode(tx), d.readHistory(ctx, tx))
	if err == nil {
		d.class, err = tx.Label(v)
	}
	if err != nil {
		return nil, err
	}
	if d.run, err = LastRun(tx); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if d.run != nil {
		d.findScoredLabel(d.run)
	}
	if err := d.countVotes(ctx); err != nil {
		return nil, err
	}
	matrix, err := scoredFrom(tx, nil)
	if errors.Is(err, kv.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	// Not Predictions, which looks at every row: here only those of the ball matter, and one that is missing is NaN.
	d.predictions = inClassOrder(tx, matrix)
	return d, d.rankClasses()
}

// storedValues reads values of a node.
type storedValues struct {
	tx   *kv.Tx
	node kv.NodeID
	err  error // the first
}

// value is null if the store has no such column.
func (s *storedValues) value(column string) (value kv.Value) {
	if s.err == nil {
		if value, s.err = s.tx.Value(s.node, column); errors.Is(s.err, kv.ErrNoColumn) {
			s.err = nil
		}
	}
	return value
}

// readNode reads the stored values of the node itself.
func (e *Explanation) readNode(tx *kv.Tx) (err error) {
	if e.ID, err = tx.ID(e.Node); err != nil {
		return err
	}
	if e.Degree, err = tx.Degree(e.Node); err != nil {
		return err
	}
	decided, err := decide.NewReader(tx)
	if err == nil {
		e.View, err = decided.View(e.Node)
	}
	if err != nil {
		return err
	}
	stored := storedValues{tx: tx, node: e.Node}
	e.Split = stored.value(splitColumn).String()
	e.Score, e.Confidence = stored.value(ScoreColumn).Float(), stored.value(ConfidenceColumn).Float()
	return stored.err
}

// readHistory reads the decisions about the node.
func (e *Explanation) readHistory(ctx context.Context, tx *kv.Tx) (err error) {
	for d, err := range decide.History(ctx, tx, e.Node) {
		if err != nil {
			return err
		}
		e.History = append(e.History, d)
	}
	e.Words, e.Disputed = decide.Words(e.History)
	return nil
}

// findScoredLabel finds the label that the last run scored: the label before the first decision that this run had not
// seen.
func (e *Explanation) findScoredLabel(run *Run) {
	if math.IsNaN(e.Score) {
		return
	}
	e.ScoredAs = e.Label
	if i := slices.IndexFunc(e.History, func(d decide.Decision) bool { return d.Seq > run.seen() }); i >= 0 {
		e.ScoredAs = e.History[i].From
	}
}

// countVotes counts the given labels of the neighbours.
func (d *dossier) countVotes(ctx context.Context) error {
	votes, counts, err := d.labels.votes(ctx, d.Node)
	all := 0.0
	for _, weight := range votes {
		all += weight
	}
	for k, count := range counts {
		if count > 0 {
			d.Votes = append(d.Votes, ClassShare{Class: d.tx.Classes()[k], Share: votes[k] / all, Count: count})
		}
	}
	slices.SortFunc(d.Votes, func(a, b ClassShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Class, b.Class))
	})
	d.votes = votes
	return err
}

// rankClasses orders the predictions of the node.
func (d *dossier) rankClasses() error {
	row := make([]float32, d.predictions.Width())
	if err := d.predictions.Read(kv.Range{First: d.Node, End: d.Node + 1}, 0, len(row), row); err != nil {
		return err
	}
	d.around.own = row
	if hasNaN(row) {
		d.lacks(fmt.Sprintf("node %s has no predictions: what needs them is unknown", d.ID))
		return nil
	}
	for j, p := range row {
		d.TopClasses = append(d.TopClasses, ClassShare{Class: d.tx.Classes()[j], Share: float64(p)})
	}
	slices.SortStableFunc(d.TopClasses, func(a, b ClassShare) int { return cmp.Compare(b.Share, a.Share) })
	return nil
}

// A Voice is a neighbour that speaks for a label y, or against it. w is its weight in S_1, and p its predicted
// probability of y. For is w·p, plus w if its label is y. Against is w·(1−p), plus w if it has another label.
type Voice struct {
	Node       kv.NodeID
	ID         string
	Label      string  // "" if unlabelled
	Class      string  // the class of its largest prediction
	Confidence float64 // that prediction
	Prediction float64 // p
	Score      float64 // that its own label is wrong; NaN if there is none
	Weight     float64 // w
	For        float64
	Against    float64
}

// mostVoices is how many neighbours are listed on either side.
const mostVoices = 10

// hear takes a neighbour in among the supporters or the opponents of the label. p are its predictions.
func (d *dossier) hear(u kv.NodeID, weight float64, p []float32) error {
	if weight == 0 {
		return nil
	}
	label, err := d.tx.Label(u)
	names := d.tx.Classes()
	o := Voice{Node: u, Confidence: math.NaN(), Prediction: float64(p[d.class]), Weight: weight}
	if best, most, _ := largest(p); best != kv.NoClass { // NaN if the node has no predictions
		o.Class, o.Confidence = names[best], float64(most)
		o.For, o.Against = float64(weight*o.Prediction), float64(weight*(1-o.Prediction))
	}
	switch label {
	case kv.NoClass:
	case d.class:
		o.For += weight
	default:
		o.Against += weight
	}
	if label != kv.NoClass {
		o.Label = names[label]
	}
	switch {
	case o.For > o.Against:
		d.Supporters = addVoice(d.Supporters, o, func(o Voice) float64 { return o.For })
	case o.Against > o.For:
		d.Opponents = addVoice(d.Opponents, o, func(o Voice) float64 { return o.Against })
	}
	return err
}

// addVoice keeps the voices with the greatest numbers, the greatest first.
func addVoice(voices []Voice, o Voice, number func(Voice) float64) []Voice {
	at, _ := slices.BinarySearchFunc(voices, o, func(a, b Voice) int {
		return cmp.Or(cmp.Compare(number(b), number(a)), cmp.Compare(a.Node, b.Node))
	})
	if at < mostVoices {
		voices = slices.Insert(voices, at, o)
	}
	return voices[:min(len(voices), mostVoices)]
}

// nameVoices reads the ids and the scores of the neighbours that are listed.
func (e *Explanation) nameVoices(tx *kv.Tx) (err error) {
	for _, voices := range [][]Voice{e.Supporters, e.Opponents} {
		for i := range voices {
			o := &voices[i]
			if o.ID, err = tx.ID(o.Node); err != nil {
				return err
			}
			stored := storedValues{tx: tx, node: o.Node}
			if o.Score = stored.value(ScoreColumn).Float(); stored.err != nil {
				return stored.err
			}
		}
	}
	return nil
}

// lookAround finds the labels around the node, over some hops, and the neighbours that speak for its label or against
// it. If these nodes do not fit opt.MemoryBudget, the explanation is Incomplete, and nothing is found.
func (d *dossier) lookAround(ctx context.Context, hops int, opt ops.Options) error {
	steps := new(atomic.Int64)
	steps.Store(ballSteps(opt))
	rows, err := ops.OperatorRows(ctx, d.tx, d.Node, ops.Operator{Hops: hops}, steps)
	if errors.Is(err, ops.ErrReach) {
		d.lacks(err.Error())
		return nil
	}
	if err == nil {
		d.around.labels, err = d.labels.sums(rows)
	}
	if err != nil || d.class == kv.NoClass {
		return err
	}
	at := 0
	err = rowstore.EachOf(ctx, d.predictions, rows[0].Nodes, func(u kv.NodeID, p []float32) error {
		at++
		return d.hear(u, rows[0].Values[at-1], p)
	})
	if err != nil {
		return err
	}
	return d.nameVoices(d.tx)
}
