package cleaner

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Remaining is how many wrong labels are still in the store, among the nodes that no decision has settled: nobody has decided on them,
// or somebody has put them aside as unsure, or people disagree.
type Remaining struct {
	Nodes     int64   // nodes with a score
	Mislabels float64 // the sum of their scores

	// Suspects are those that Suspects finds at the threshold of the run, and InSuspects is the sum of their scores.
	Suspects   int64
	InSuspects float64

	// Unsure and Disputed are the nodes that somebody has put aside and those that people disagree about, with a score or without. InOpen is
	// the sum of their scores.
	Unsure, Disputed int64
	InOpen           float64

	Settled int64 // nodes with any other decision: they are not among Nodes

	// Low and High follow from Run.RateLow and Run.RateHigh, less the wrong labels that decisions have found since the run. They are
	// NaN where the run has no interval, or the store only a part of the labels that a run scored elsewhere.
	Low, High float64
}

// CountRemaining computes Remaining from the scores of the last run. Without a run it returns kv.ErrNotFound. Decisions since the last
// Rescore do not change the scores. Sums of scores say something of labels only where the run is of PresetDefault.
func CountRemaining(ctx context.Context, tx *kv.Tx) (r Remaining, err error) {
	run, err := lastRun(tx)
	if err != nil {
		return r, err
	}
	scores, err := tx.Reader(ScoreColumn)
	if err != nil {
		return r, err
	}
	facts, err := readSuspectFacts(tx)
	if err != nil {
		return r, err
	}
	disputes, err := tx.Reader(decide.DisputedColumn)
	if err != nil && !errors.Is(err, kv.ErrNoColumn) {
		return r, err
	}
	decided := kv.Range{} // the block of decisions, with whether there are any
	some := false
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return r, ctx.Err()
		}
		if facts.decisions != nil && v >= decided.End {
			var least kv.Value
			if decided, least, _, err = facts.decisions.Block(v); err != nil {
				return r, err
			}
			some = !least.IsNull()
		}
		score, err := scores.At(v)
		if err != nil {
			return r, err
		}
		open := false
		if some {
			decision, err := facts.decisions.At(v)
			if err != nil {
				return r, err
			}
			if !decision.IsNull() {
				if open, err = r.countDecided(v, decision, disputes); err != nil {
					return r, err
				}
				if !open {
					continue
				}
			}
		}
		if score.IsNull() {
			continue
		}
		r.Nodes++
		r.Mislabels += score.Float()
		if open {
			r.InOpen += score.Float()
			continue
		}
		is, err := facts.isSuspect(run.Threshold, v, score)
		if err != nil {
			return r, err
		}
		if is {
			r.Suspects++
			r.InSuspects += score.Float()
		}
	}
	verdicts, _, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	var wrong float64
	for _, verdict := range verdicts {
		if verdict.Before != verdict.Now {
			wrong++
		}
	}
	if !run.HasInterval() || run.Elsewhere != nil && run.Elsewhere.Scored != run.Scored {
		r.Low, r.High = math.NaN(), math.NaN()
		return r, err
	}
	r.Low = min(max(0, float64(run.RateLow*float64(run.Scored))-wrong), r.Mislabels)
	r.High = min(max(float64(run.RateHigh*float64(run.Scored))-wrong, r.Mislabels), float64(r.Nodes))
	return r, err
}

// countDecided counts a node that has a decision. It is open if the decision settles nothing.
func (r *Remaining) countDecided(v kv.NodeID, decision kv.Value, disputes *kv.ColumnReader) (open bool, err error) {
	var disputed kv.Value
	if disputes != nil {
		if disputed, err = disputes.At(v); err != nil {
			return false, err
		}
	}
	switch {
	case disputed.Bool():
		r.Disputed++
	case decision.Str() == decide.Unsure.String():
		r.Unsure++
	default:
		r.Settled++
		return false, nil
	}
	return true, nil
}
