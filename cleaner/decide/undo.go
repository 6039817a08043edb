package decide

import (
	"context"
	"fmt"
	"math"
	"strconv"

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
		tx := s.Begin() // entries that are there do not change, and are read in order
		defer tx.Close()
		step := int64(0)
		for _, r := range ranges {
			for undone, err := range historyBackwards(ctx, tx, r.last) {
				if err != nil {
					return err
				}
				if undone.Step != step {
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

// A LaterDecisionError says that a step cannot be taken back, because somebody else has decided on one of its nodes later. It is an
// ErrChanged.
type LaterDecisionError struct {
	Step int64  // that was to be taken back
	ID   string // of the node
	Who  string // decided later
}

func (e *LaterDecisionError) Error() string {
	who := "somebody without a name"
	if e.Who != "" {
		who = strconv.Quote(e.Who)
	}
	return fmt.Sprintf("undo step %d: %s has decided on node %q later, and has to take that back first", e.Step, who, e.ID)
}

// Is reports that it is an ErrChanged.
func (e *LaterDecisionError) Is(target error) bool { return target == ErrChanged }

// An undoSearch finds the steps of a person that can be taken back, from the last entry back. Memory holds a number for each stretch
// of steps that were, or were not, taken back, and a bit for each node that others have decided on since.
type undoSearch struct {
	tx  *kv.Tx
	who string // "": anybody

	back   *roaring64.Bitmap // steps that were taken back
	others *roaring.Bitmap   // nodes of later steps of others, which were not taken back
}

// undoable finds up to limit steps of the person that can be taken back, the latest first, of a history of last entries, and counts
// them. It returns a *LaterDecisionError if somebody else has decided on a node of such a step later.
func undoable(ctx context.Context, tx *kv.Tx, last int64, limit int, who string) (ranges []stepRange, count int, err error) {
	u := undoSearch{tx: tx, who: who, back: roaring64.New(), others: roaring.New()}
	for seq := last; seq > 0 && count < limit; {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return nil, 0, err
		}
		step := stepRange{seq - d.place, seq}
		isFound, err := u.look(ctx, d, step)
		if err != nil {
			return nil, 0, err
		}
		if isFound {
			count++
			if end := len(ranges) - 1; end >= 0 && ranges[end].first == seq+1 {
				ranges[end].first = step.first
			} else {
				ranges = append(ranges, step)
			}
		}
		seq = step.first - 1
	}
	return ranges, count, nil
}

// look reports whether a step, whose last entry is d, is one to be taken back.
func (u *undoSearch) look(ctx context.Context, d historyRecord, step stepRange) (isFound bool, err error) {
	switch {
	case d.Undoes != 0:
		undone, err := readDecision(u.tx, d.Undoes)
		if err == nil {
			u.back.Add(uint64(undone.Step))
		}
		return false, err
	case u.back.Contains(uint64(d.Step)):
		return false, nil
	case u.who != "" && d.Who != u.who:
		return false, u.eachNode(ctx, step, func(v kv.NodeID) error {
			u.others.Add(uint32(v))
			return nil
		})
	case u.others.IsEmpty():
		return true, nil
	}
	return true, u.eachNode(ctx, step, func(v kv.NodeID) error {
		if u.others.Contains(uint32(v)) {
			return u.later(d.Step, v)
		}
		return nil
	})
}

// eachNode hands the nodes of a step to fn.
func (u *undoSearch) eachNode(ctx context.Context, step stepRange, fn func(v kv.NodeID) error) error {
	for d, err := range historyBackwards(ctx, u.tx, step.last) {
		if err == nil {
			err = fn(d.Node)
		}
		if err != nil || d.Seq == step.first {
			return err
		}
	}
	return nil
}

// later is the error that names who else has decided on a node after a step.
func (u *undoSearch) later(step int64, v kv.NodeID) error {
	refusal := &LaterDecisionError{Step: step}
	for seq, err := range entriesOf(u.tx, v) {
		if err != nil {
			return err
		}
		d, err := readDecision(u.tx, seq)
		if err != nil {
			return err
		}
		if d.Step > step && d.Undoes == 0 && d.Who != u.who && !u.back.Contains(uint64(d.Step)) {
			refusal.ID, refusal.Who = d.ID, d.Who
		}
	}
	return refusal
}
