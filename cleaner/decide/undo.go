package decide

import (
	"context"
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/graphcleaner/graphcleaner/kv"
)

// undo takes back the steps that find names, given the snapshot and its newest entry.
func undo(
	ctx context.Context, s *kv.Store, opt Options, seenBy SeenByScores,
	find func(tx *kv.Tx, last int64) ([]stepRange, error),
) (Entries, error) {
	return WriteSteps(ctx, s, func(w *StepWriter) error {
		ranges, err := find(w.tx, w.seq)
		if err != nil {
			return err
		}
		newest := int64(0)
		if seenBy != nil {
			if newest, err = seenBy(w.tx); err != nil {
				return err
			}
		}
		step := int64(0)
		for _, r := range ranges {
			for undone, err := range historyBackwards(ctx, w.tx, r.last) {
				if err != nil {
					return err
				}
				if undone.Step != step {
					if step == 0 && opt.Last != 0 && undone.Step != opt.Last {
						return fmt.Errorf("undo step %d: step %d is the last one: %w", opt.Last, undone.Step, ErrChanged)
					}
					if err := w.Begin(opt); err != nil {
						return err
					}
					step = undone.Step
				}
				if err := w.takeBack(undone, newest); err != nil {
					return err
				}
				if undone.Seq == r.first {
					break
				}
			}
		}
		return nil
	})
}

// takeBack adds the entry that takes one back. The scores have seen the labels up to entry newest.
func (w *StepWriter) takeBack(undone historyRecord, newest int64) error {
	return w.add(draft{
		historyRecord: historyRecord{
			Decision: Decision{
				Node: undone.Node, Kind: undone.Kind, To: undone.From, Label: undone.From, After: undone.Before, Disputed: undone.WasDisputed,
				Undoes: undone.Seq,
				// If the node was removed since, nothing else says what the entry is about.
				ID: undone.ID, From: undone.Label, Before: undone.After, WasDisputed: undone.Disputed, Score: math.NaN(),
			},
		},
		unscored: undone.Seq <= newest && undone.From != undone.Label,
	})
}

// A stepRange is the entries of neighbouring steps.
type stepRange struct{ first, last int64 }

// A LaterDecisionError says that a step cannot be taken back, because somebody else has decided on one of its nodes
// later. It is an ErrChanged.
type LaterDecisionError struct {
	Step int64  // that was to be taken back
	ID   string // of the node
}

func (e *LaterDecisionError) Error() string {
	return fmt.Sprintf("undo step %d: somebody else has decided on node %q later, and has to take that back first", e.Step, e.ID)
}

// Is reports that it is an ErrChanged.
func (e *LaterDecisionError) Is(target error) bool { return target == ErrChanged }

// An undoSearch finds the steps of a person that can be taken back, from the last entry back. Memory holds a number for
// each stretch of steps that were, or were not, taken back, and a bit for each node that was decided on since.
type undoSearch struct {
	tx  *kv.Tx
	who string // "": anybody

	back   *roaring64.Bitmap // steps that were taken back
	others *roaring.Bitmap   // nodes of later steps, which were not taken back, of others
}

func newUndoSearch(tx *kv.Tx, who string) undoSearch {
	return undoSearch{tx: tx, who: who, back: roaring64.New(), others: roaring.New()}
}

// undoable finds up to limit steps of the person that can be taken back, the latest first, of a history of last
// entries, and counts them. It returns a *LaterDecisionError if somebody else has decided on a node of such a step
// later.
func undoable(ctx context.Context, tx *kv.Tx, last int64, limit int, who string) (ranges []stepRange, count int, err error) {
	u := newUndoSearch(tx, who)
	for seq := last; seq > 0 && count < limit; {
		d, step, isStanding, err := u.look(ctx, seq)
		if err != nil {
			return nil, 0, err
		}
		switch {
		case !isStanding:
		case who != "" && d.Who != who:
			err = u.addNodes(ctx, step)
		default:
			if err = u.checkNodes(ctx, step); err != nil {
				break
			}
			count++
			if end := len(ranges) - 1; end >= 0 && ranges[end].first == seq+1 {
				ranges[end].first = step.first
			} else {
				ranges = append(ranges, step)
			}
		}
		if err != nil {
			return nil, 0, err
		}
		seq = step.first - 1
	}
	return ranges, count, nil
}

// look reads the step whose last entry has a number. Standing says that it was made by a person and not taken back.
func (u *undoSearch) look(ctx context.Context, seq int64) (d historyRecord, step stepRange, isStanding bool, err error) {
	if err := ctx.Err(); err != nil {
		return d, step, false, err
	}
	if d, err = readDecision(u.tx, seq); err != nil {
		return d, step, false, err
	}
	isStanding, err = u.isStanding(d)
	return d, stepRange{seq - d.place, seq}, isStanding, err
}

// isStanding reports whether the step of an entry was made by a person and not taken back. Later steps were looked at
// before.
func (u *undoSearch) isStanding(d historyRecord) (bool, error) {
	if d.Undoes == 0 {
		return !u.back.Contains(uint64(d.Step)), nil
	}
	undone, err := readDecision(u.tx, d.Undoes)
	if err == nil {
		u.back.Add(uint64(undone.Step))
	}
	return false, err
}

// addNodes notes that the nodes of a step were decided on later than what is looked at next.
func (u *undoSearch) addNodes(ctx context.Context, step stepRange) error {
	return u.eachEntry(ctx, step, func(d *Decision) error {
		u.others.Add(uint32(d.Node))
		return nil
	})
}

// checkNodes returns a *LaterDecisionError if one of the nodes of a step was decided on later.
func (u *undoSearch) checkNodes(ctx context.Context, step stepRange) error {
	if u.others.IsEmpty() {
		return nil
	}
	return u.eachEntry(ctx, step, func(d *Decision) error {
		if u.others.Contains(uint32(d.Node)) {
			return &LaterDecisionError{d.Step, d.ID}
		}
		return nil
	})
}

// eachEntry hands the entries of a step to fn.
func (u *undoSearch) eachEntry(ctx context.Context, step stepRange, fn func(d *Decision) error) error {
	for d, err := range historyRecords(ctx, u.tx, step.first) {
		if err == nil {
			err = fn(&d.Decision)
		}
		if err != nil || d.Seq == step.last {
			return err
		}
	}
	return nil
}
