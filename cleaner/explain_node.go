package cleaner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// readNode reads what is stored of the node itself.
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

// readHistory reads what was decided about the node.
func (e *Explanation) readHistory(ctx context.Context, tx *kv.Tx) error {
	for d, err := range decide.History(ctx, tx, e.Node) {
		if err != nil {
			return err
		}
		e.History = append(e.History, d)
	}
	isInForce, err := decide.InForce(ctx, tx, e.Node, 1)
	if err != nil {
		return err
	}
	for _, d := range e.History {
		e.InForce = append(e.InForce, isInForce(d.Seq))
	}
	e.Words, e.Disputed, err = decide.Words(ctx, tx, e.Node)
	e.View.Disputed = e.Disputed
	return err
}

// findScoredLabel finds the label that the score, which is the last run's, is of: that before the first decision which
// the run had not seen.
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
	graph := tx.Along(kv.Both)
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
