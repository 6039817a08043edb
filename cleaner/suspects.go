package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Suspects is the condition that a node is a suspect at a threshold: [Disputes] is true of it, and nobody has decided
// on it. Every decision in force takes a node out, [decide.Unsure] too; Undo brings it back. This is the one definition
// of a suspect, for queries, counts, reports, the gate and exports.
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

// contradicted reports whether all that is near a label speaks against it: another class has a larger prediction
// [classes], and other labels have more votes of neighbours [classes], by weight. Labels without either are not
// contradicted. It says nothing of how many labels are wrong: most others may be wrong too, and a contradicted one
// right.
func contradicted(label kv.Class, predictions []float32, votes []float64) bool {
	return predictions[label] < slices.Max(predictions) && votes[label] < slices.Max(votes)
}

// nodesWhere are the nodes that a condition is true of.
func nodesWhere(ctx context.Context, tx *kv.Tx, where index.Predicate) (kv.NodeSet, error) {
	plan, err := index.NewPlan(tx, index.Query{Where: where, Limit: -1})
	if err != nil {
		return nil, err
	}
	nodes := bitset.New[kv.NodeID](tx.NumNodes())
	for v, err := range plan.Unordered(ctx) {
		if err != nil {
			return nil, err
		}
		nodes.Add(v)
	}
	return nodes, nil
}

// eachStored goes through the nodes that have a score, with their labels.
func eachStored(ctx context.Context, tx *kv.Tx, do func(v kv.NodeID, label kv.Class, score float64) error) error {
	column, err := tx.Reader(ScoreColumn)
	if err != nil {
		return err
	}
	var labels []kv.Class
	for rows := (kv.Range{}); int(rows.End) < tx.NumNodes(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := column.Block(rows.End)
		if err != nil {
			return err
		}
		rows = block.Nodes
		labels = slices.Grow(labels[:0], rows.Len())[:rows.Len()]
		if err := tx.ReadClasses(kv.LabelColumn, rows, labels); err != nil {
			return err
		}
		for i, score := range block.Floats {
			if score != score { // NaN: it has none
				continue
			}
			if err := do(rows.First+kv.NodeID(i), labels[i], score); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recount counts anew what the last run says of its scores, as they are stored, if it is Uncounted. It reads all
// scores.
func (r *Run) Recount(ctx context.Context, tx *kv.Tx) error {
	if !r.Uncounted {
		return nil
	}
	r.Scored, r.meanScores, r.labelCounts = 0, make([]float64, len(r.Classes)), make([]float64, len(r.Classes))
	err := eachStored(ctx, tx, func(v kv.NodeID, label kv.Class, score float64) error {
		if label = r.class(label); label != kv.NoClass {
			r.meanScores[label] += score
			r.labelCounts[label]++
		}
		r.Scored++
		return nil
	})
	if err != nil {
		return err
	}
	found, err := nodesWhere(ctx, tx, Suspects(r.Threshold))
	if err != nil {
		return err
	}
	suspects := slices.Collect(found.All())
	for k, count := range r.labelCounts {
		r.meanScores[k] /= count // 0/0 is NaN
	}
	r.Suspects, r.Contradicted, r.Uncounted = int64(len(suspects)), 0, false
	p, err := r.problem(tx)
	if errors.Is(err, kv.ErrNotFound) { // a run that was made elsewhere, without predictions
		return nil
	}
	if err != nil {
		return err
	}
	around, err := newPoll(&p)
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

// Remaining counts the labels left to review, and the reviewed ones.
type Remaining struct {
	Suspects         int64 // that Suspects finds at the threshold of the last run
	Unsure, Disputed int64 // nodes that somebody has put aside, and those that people disagree about
	Settled          int64 // nodes with any other decision
}

// CountRemaining counts nodes by decisions and by the scores of the last run. Without a run it returns kv.ErrNotFound.
func CountRemaining(ctx context.Context, tx *kv.Tx) (r Remaining, err error) {
	run, err := lastRun(tx)
	if err != nil {
		return r, err
	}
	count := func(where ...index.Predicate) (n int64) {
		if err != nil {
			return 0
		}
		var plan *index.Plan
		if plan, err = index.NewPlan(tx, index.Query{Where: index.And{Terms: where}, Limit: -1}); err == nil {
			n, err = plan.Count(ctx)
		}
		return n
	}
	isDisputed := index.Not{Term: index.IsNull{Property: decide.DisputedColumn}}
	isUnsure := index.Compare{Property: decide.Column, Op: index.Eq, Value: kv.ValueOf(decide.Unsure.String())}
	r.Suspects = count(Suspects(run.Threshold))
	r.Disputed = count(isDisputed)
	r.Unsure = count(isUnsure, index.Not{Term: isDisputed})
	r.Settled = count(index.Not{Term: index.IsNull{Property: decide.Column}}) - r.Disputed - r.Unsure
	return r, err
}

// ClassMislabelRates estimates the share r_k of wrong labels among those of each class k, in the order of Classes; NaN
// for a class without nodes. Their mean, weighted by the sizes of the classes, is MislabelRate p, unless one of them is
// 1:
//
//	Σ_k n_k r_k / Σ_k n_k = p
//
// With the label model n_k is the number of nodes with this label, and r_k = min(1, λ m_k), with m_k the mean of their
// scores. The mean of all scores is not exactly p; one factor λ for all classes makes it p. With preset paper the
// fitting nodes alone count: n_k = Σ_j Q[k][j] and r_k = 1 − Q[k][k] / n_k of the joint distribution. Of a run that was
// made elsewhere all are NaN: the store does not have all scores; so are those of a run whose model was lost. Use it
// for a run of LastRun.
func (r *Run) ClassMislabelRates() []float64 {
	if r.Elsewhere != nil || r.labelCounts == nil {
		return slices.Repeat([]float64{math.NaN()}, len(r.Classes))
	}
	if r.joint == nil {
		return ratesOfMean(r.meanScores, r.labelCounts, r.MislabelRate)
	}
	rates, masses := make([]float64, r.joint.Classes), make([]float64, r.joint.Classes)
	for _, cell := range r.joint.Cells {
		masses[cell.Row] += cell.Value
	}
	for i, mass := range masses {
		rates[i] = 1 - r.joint.At(i, i)/mass // 0/0 is NaN
	}
	return rates
}

// leastMean replaces a smaller mean of scores in ratesOfMean, so that there is a factor for every rate.
const leastMean = 1e-12

// ratesOfMean are min(1, λ means_k), NaN if counts_k is zero, with the λ for which the mean of λ means by counts is
// rate.
func ratesOfMean(means, counts []float64, rate float64) []float64 {
	rates := make([]float64, len(means))
	var mass, wrong float64
	for k, n := range counts {
		rates[k] = max(means[k], leastMean) // NaN of none
		if n > 0 {
			mass += float64(rates[k] * n)
			wrong += float64(rate * n)
		}
	}
	for k := range rates {
		rates[k] = min(1, rates[k]*(wrong/mass))
	}
	return rates
}
