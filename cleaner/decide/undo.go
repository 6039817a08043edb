package decide

import (
	"context"
	"math"

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

// undoable finds up to limit steps that can be taken back, the latest first, of a history of last entries, and counts
// them. Memory holds a number for each stretch of steps that were, or were not, taken back.
func undoable(ctx context.Context, tx *kv.Tx, last int64, limit int) (ranges []stepRange, count int, err error) {
	back := roaring64.New() // steps that were taken back
	for seq := last; seq > 0 && count < limit; {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return nil, 0, err
		}
		first := seq - d.place
		switch end := len(ranges) - 1; {
		case d.Undoes != 0:
			undone, err := readDecision(tx, d.Undoes)
			if err != nil {
				return nil, 0, err
			}
			back.Add(uint64(undone.Step))
		case back.Contains(uint64(d.Step)):
		case end >= 0 && ranges[end].first == seq+1:
			ranges[end].first = first
			count++
		default:
			ranges = append(ranges, stepRange{first, seq})
			count++
		}
		seq = first - 1
	}
	return ranges, count, nil
}
