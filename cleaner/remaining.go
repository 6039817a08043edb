package cleaner

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Remaining is how many wrong labels are still to be found among those that nobody has decided on.
type Remaining struct {
	Nodes     int64   // nodes with a score
	Mislabels float64 // the sum of their scores

	// Low and High follow from Run.RateLow and Run.RateHigh, less the wrong labels that decisions have found since the run. They are
	// NaN where the store has only a part of the labels that a run scored elsewhere.
	Low, High float64
}

// CountRemaining computes Remaining from the scores of the last run, which must be of PresetDefault. Without a run it
// returns kv.ErrNotFound. Decisions since the last Rescore do not change the scores.
func CountRemaining(ctx context.Context, tx *kv.Tx) (r Remaining, err error) {
	run, err := lastRun(tx)
	if err != nil {
		return r, err
	}
	scores, err := tx.Reader(ScoreColumn)
	if err != nil {
		return r, err
	}
	decisions, err := tx.Reader(decide.Column)
	if err != nil && !errors.Is(err, kv.ErrNoColumn) {
		return r, err
	}
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return r, ctx.Err()
		}
		score, err := scores.At(v)
		if err != nil {
			return r, err
		}
		if score.IsNull() {
			continue
		}
		if decisions != nil {
			decision, err := decisions.At(v)
			if err != nil {
				return r, err
			}
			if !decision.IsNull() {
				continue
			}
		}
		r.Nodes++
		r.Mislabels += score.Float()
	}
	verdicts, _, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	var wrong float64
	for _, verdict := range verdicts {
		if verdict.Before != verdict.Now {
			wrong++
		}
	}
	if run.Elsewhere != nil && run.Elsewhere.Scored != run.Scored {
		r.Low, r.High = math.NaN(), math.NaN()
		return r, err
	}
	r.Low = min(max(0, float64(run.RateLow*float64(run.Scored))-wrong), r.Mislabels)
	r.High = min(max(float64(run.RateHigh*float64(run.Scored))-wrong, r.Mislabels), float64(r.Nodes))
	return r, err
}
