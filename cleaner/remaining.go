package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Remaining is what people have left to review, and what they have reviewed.
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
			block, err := facts.decisions.Block(v)
			if err != nil {
				return r, err
			}
			least, _ := block.Bounds()
			decided, some = block.Nodes, !least.IsNull()
		}
		if some {
			decision, err := facts.decisions.At(v)
			if err != nil {
				return r, err
			}
			if !decision.IsNull() {
				disputed, err := valueAt(disputes, v)
				if err != nil {
					return r, err
				}
				r.countDecided(decision, disputed.Bool())
				continue
			}
		}
		score, err := scores.At(v)
		if err != nil {
			return r, err
		}
		is, err := facts.isSuspect(run.Threshold, v, score)
		if err != nil {
			return r, err
		}
		if is {
			r.Suspects++
		}
	}
	return r, nil
}

// countDecided counts a node that has a decision.
func (r *Remaining) countDecided(decision kv.Value, disputed bool) {
	switch {
	case disputed:
		r.Disputed++
	case decision.Str() == decide.Unsure.String():
		r.Unsure++
	default:
		r.Settled++
	}
}
