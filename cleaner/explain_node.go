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
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// readNode reads the stored values of the node itself.
func (e *Explanation) readNode(tx *kv.Tx) error {
	var err error
	if e.ID, err = tx.ID(e.Node); err != nil {
		return err
	}
	if e.Degree, err = tx.Degree(e.Node); err != nil {
		return err
	}
	// value is null if the store has no such column.
	value := func(column string) (value kv.Value) {
		if err != nil {
			return value
		}
		if value, err = tx.Value(e.Node, column); errors.Is(err, kv.ErrNoColumn) {
			err = nil
		}
		return value
	}
	text := func(v kv.Value) string {
		if v.IsNull() {
			return ""
		}
		return v.String()
	}
	number := func(v kv.Value) float64 {
		if v.IsNull() {
			return math.NaN()
		}
		return v.Float()
	}
	e.Label = text(value(kv.LabelColumn))
	e.Suggestion = text(value(SuggestedColumn))
	e.Split = text(value(splitColumn))
	e.Score = number(value(ScoreColumn))
	e.Confidence = number(value(ConfidenceColumn))
	if id := value(RunColumn); !id.IsNull() {
		e.Run = id.Int()
	}
	word := value(decide.Column)
	if err != nil {
		return err
	}
	e.Decision, err = decide.ParseColumn(word)
	e.View = decide.View{Label: e.Label, Suggestion: e.Suggestion, Decision: e.Decision, Run: e.Run}
	return err
}

// readHistory reads the decisions about the node.
func (e *Explanation) readHistory(ctx context.Context, tx *kv.Tx) (err error) {
	for d, err := range decide.History(ctx, tx, e.Node) {
		if err != nil {
			return err
		}
		e.History = append(e.History, d)
	}
	e.Words, e.Disputed, err = decide.Words(ctx, tx, e.Node)
	e.View.Disputed = e.Disputed
	return err
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

// lookEvery is how many neighbours are counted between two looks at the context.
const lookEvery = 512

// countVotes counts the given labels of the neighbours.
func (e *Explanation) countVotes(ctx context.Context, tx *kv.Tx) error {
	labels, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return err
	}
	votes := make(map[string]ClassShare)
	var all float64
	var steps int64
	graph := tx.Undirected()
	for a, err := range graph.Arcs(e.Node) {
		if err != nil {
			return err
		}
		if steps++; steps%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		weight := float64(graph.Weight(a))
		if weight == 0 {
			continue
		}
		label, err := labels.At(a.Neighbor)
		if err != nil {
			return err
		}
		if !label.IsNull() {
			vote := votes[label.String()]
			vote.Share += weight
			vote.Count++
			votes[label.String()] = vote
			all += weight
		}
	}
	for class, vote := range votes {
		e.Votes = append(e.Votes, ClassShare{Class: class, Share: vote.Share / all, Count: vote.Count})
	}
	slices.SortFunc(e.Votes, func(a, b ClassShare) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Class, b.Class))
	})
	return nil
}

// rankClasses orders the predictions of the node.
func (e *Explanation) rankClasses(tx *kv.Tx, predictions ops.Source) error {
	row := make([]float32, predictions.Width())
	if err := predictions.Read(kv.Range{First: e.Node, End: e.Node + 1}, 0, len(row), row); err != nil {
		return err
	}
	if hasNaN(row) {
		e.lacks(fmt.Sprintf("node %s has no predictions: what needs them is unknown", e.ID))
		return nil
	}
	for j, p := range row {
		e.TopClasses = append(e.TopClasses, ClassShare{Class: tx.Classes()[j], Share: float64(p)})
	}
	slices.SortStableFunc(e.TopClasses, func(a, b ClassShare) int { return cmp.Compare(b.Share, a.Share) })
	return nil
}

// A HopVote is the support of the nodes at the end of walks of one length for one class. Weights are the entries of
// S_k. Labels and Predictions are the agreement features with this class as the label under test.
type HopVote struct {
	Hop         int // k, the length of the walks
	Class       string
	Nodes       int64   // given the class
	Labels      float64 // (S_k Y)[v][class]: the weight of these nodes
	Predictions float64 // (S_k P)[v][class]: the weight of all nodes, times what they are predicted to be of the class
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

// hear takes a neighbour in among the supporters or the opponents of a label. p are its predictions.
func (e *Explanation) hear(tx *kv.Tx, u kv.NodeID, weight float64, class kv.Class, label kv.Value, p []float32) {
	names := tx.Classes()
	o := Voice{Node: u, Label: label.Str(), Confidence: math.NaN(), Prediction: float64(p[class]), Weight: weight}
	if best, most, _ := largest(p); best != kv.NoClass { // NaN if the node has no predictions
		o.Class, o.Confidence = names[best], float64(most)
		o.For, o.Against = float64(weight*o.Prediction), float64(weight*(1-o.Prediction))
	}
	switch {
	case label.IsNull():
	case label.Str() == names[class]:
		o.For += weight
	default:
		o.Against += weight
	}
	switch {
	case o.For > o.Against:
		e.Supporters = addVoice(e.Supporters, o, func(o Voice) float64 { return o.For })
	case o.Against > o.For:
		e.Opponents = addVoice(e.Opponents, o, func(o Voice) float64 { return o.Against })
	}
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
			score, err := tx.Value(o.Node, ScoreColumn)
			if err != nil && !errors.Is(err, kv.ErrNoColumn) {
				return err
			}
			o.Score = score.Float()
		}
	}
	return nil
}

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

// surround adds Hops, and the neighbours that speak for the label or against it. It returns the label, and the agreement features
// with each class as the label [c][2K+1], from the rows of the node in S_1 … S_K alone: no propagation of the whole
// graph. If the nodes within K hops do not fit opt.MemoryBudget, the explanation is Incomplete, and there are no
// features.
func (e *Explanation) surround(
	ctx context.Context, tx *kv.Tx, predictions ops.Source, hops int, opt ops.Options,
) (class kv.Class, features [][]float32, err error) {
	if class, err = tx.Label(e.Node); err != nil {
		return class, nil, err
	}
	rows, err := ops.OperatorRows(ctx, tx, e.Node, ops.Operator{Hops: hops}, ballSteps(opt))
	if errors.Is(err, ops.ErrReach) {
		e.lacks(err.Error())
		return class, nil, nil
	}
	if err != nil {
		return class, nil, err
	}
	ball := []kv.NodeID{e.Node}
	for _, row := range rows {
		ball = append(ball, row.Nodes...)
	}
	slices.Sort(ball)
	places := make([]int, len(rows)) // of the next entry of each row
	labels, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return class, nil, err
	}
	c, width := predictions.Width(), featureWidth(hops)
	sums, nodes := make([][]float64, c), make([][]int64, c) // nodes by the class that they are given, and by hop
	for x := range sums {
		sums[x], nodes[x] = make([]float64, width), make([]int64, hops)
	}
	err = rowstore.EachOf(ctx, predictions, slices.Compact(ball), func(u kv.NodeID, p []float32) error {
		if u == e.Node {
			for x := range c {
				sums[x][0] = float64(p[x])
			}
		}
		label, err := labels.At(u)
		if err != nil {
			return err
		}
		y := slices.Index(tx.Classes(), label.Str())
		for k, row := range rows {
			at := places[k]
			if at == len(row.Nodes) || row.Nodes[at] != u {
				continue
			}
			places[k]++
			weight := row.Values[at]
			for x := range c {
				sums[x][k+1] += float64(weight * float64(p[x]))
			}
			if !label.IsNull() {
				sums[y][hops+k+1] += weight
				nodes[y][k]++
			}
			if k == 0 && weight != 0 && class != kv.NoClass {
				e.hear(tx, u, weight, class, label, p)
			}
		}
		return nil
	})
	if err != nil {
		return class, nil, err
	}
	features = make([][]float32, c)
	for x := range features {
		for _, sum := range sums[x] {
			features[x] = append(features[x], float32(sum))
		}
	}
	for k := range hops {
		first := len(e.Hops)
		for x, name := range tx.Classes() {
			vote := HopVote{k + 1, name, nodes[x][k], float64(features[x][hops+k+1]), float64(features[x][k+1])}
			if vote.Nodes > 0 || vote.Predictions > 0 {
				e.Hops = append(e.Hops, vote)
			}
		}
		slices.SortStableFunc(e.Hops[first:], func(a, b HopVote) int {
			return cmp.Or(cmp.Compare(b.Labels, a.Labels), cmp.Compare(b.Predictions, a.Predictions))
		})
	}
	return class, features, e.nameVoices(tx)
}
