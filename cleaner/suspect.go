package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Suspects is the condition that a node is a suspect at a threshold: [Disputes] is true of it, and nobody has decided
// on it. Every decision in force takes a node out, [decide.Unsure] too; Undo brings it back. This is the one definition
// of a suspect, for queries, counts, reports, the gate and exports. [IsSuspect] tests the same condition on given
// values.
//
// With the threshold math.Inf(-1) any score will do, but there must be one.
func Suspects(threshold float64) index.Predicate {
	return index.And{Terms: []index.Predicate{Disputes(threshold), index.IsNull{Property: decide.Column}}}
}

// Disputes is the condition that the last run speaks against the label of a node, whatever people have decided: the
// node has a score above the threshold, and its suggested label is another one than its label.
//
// A node without a label has no label that could be wrong. A node without a suggestion, or with its own label as
// suggestion, has nothing to correct. A node without a score was not judged. None of these is disputed.
func Disputes(threshold float64) index.Predicate {
	return index.And{Terms: []index.Predicate{
		ScoreAbove(threshold),
		index.CompareProperties{Property: kv.LabelColumn, Op: index.Ne, Other: SuggestedColumn},
	}}
}

// ScoreAbove is the condition that a node has a score above a threshold, any score where that is math.Inf(-1).
func ScoreAbove(threshold float64) index.Predicate {
	if math.IsInf(threshold, -1) {
		return index.Not{Term: index.IsNull{Property: ScoreColumn}}
	}
	return index.Compare{Property: ScoreColumn, Op: index.Gt, Value: kv.ValueOf(threshold)}
}

// IsSuspect reports whether Suspects is true of a node with these values, any of which may be null.
func IsSuspect(threshold float64, score, label, suggestion, decision kv.Value) bool {
	return !score.IsNull() && score.Float() > threshold &&
		!label.IsNull() && !suggestion.IsNull() && label != suggestion && decision.IsNull()
}

// contradicted reports whether all that is near a label speaks against it: another class has a larger prediction
// [classes], and other labels have more votes of neighbours [classes], by weight. Labels without either are not
// contradicted. It says nothing of how many labels are wrong: most others may be wrong too, and a contradicted one
// right.
func contradicted(label kv.Class, predictions []float32, votes []float64) bool {
	return predictions[label] < slices.Max(predictions) && votes[label] < slices.Max(votes)
}

// countSuspects notes the suspects of a run, ascending, and how many of them are contradicted.
func (r *Run) countSuspects(ctx context.Context, p *problem, suspects []kv.NodeID) error {
	r.Suspects, r.Contradicted = int64(len(suspects)), 0
	around, err := newPoll(p)
	if err != nil {
		return err
	}
	return rowstore.EachOf(ctx, p.predictions, suspects, func(v kv.NodeID, row []float32) error {
		votes, err := around.of(v)
		if err == nil && contradicted(p.labels[v], row, votes) {
			r.Contradicted++
		}
		return err
	})
}

// suspectFacts reads what beside the score makes a node a suspect.
type suspectFacts struct{ labels, suggestions, decisions *kv.ColumnReader }

func readSuspectFacts(tx *kv.Tx) (f suspectFacts, err error) {
	for _, column := range []struct {
		name string
		into **kv.ColumnReader
	}{{kv.LabelColumn, &f.labels}, {SuggestedColumn, &f.suggestions}, {decide.Column, &f.decisions}} {
		if *column.into, err = tx.Reader(column.name); errors.Is(err, kv.ErrNoColumn) {
			err = nil
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// isSuspect reports whether Suspects is true of a node with a score. It reads no more columns than it needs, and
// allocates nothing.
func (f suspectFacts) isSuspect(threshold float64, v kv.NodeID, score kv.Value) (bool, error) {
	if !(score.Float() > threshold) {
		return false, nil
	}
	label, err := valueAt(f.labels, v)
	if err != nil {
		return false, err
	}
	suggestion, err := valueAt(f.suggestions, v)
	if err != nil || !IsSuspect(threshold, score, label, suggestion, kv.Value{}) {
		return false, err
	}
	decision, err := valueAt(f.decisions, v)
	return decision.IsNull() && err == nil, err
}

// valueAt is the value of a node, null if the column is not there.
func valueAt(column *kv.ColumnReader, v kv.NodeID) (kv.Value, error) {
	if column == nil {
		return kv.Value{}, nil
	}
	return column.At(v)
}
