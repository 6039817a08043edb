package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/graphcleaner/graphcleaner/kv"
)

// SeenByScores returns Seq of the newest entry at the time when the last run read the labels; 0 for none. Use nil for a
// store without scores.
type SeenByScores func(tx *kv.Tx) (seq int64, err error)

// Undo takes back the last step of opt.Who that was not taken back yet: the nodes get the labels and decisions from
// before it. If opt.Who is empty, the step is that of anybody. Undo adds a step to the history, as WriteSteps does. It
// deletes nothing. A later Undo skips the steps of Undo. If no step is left, it returns ErrNothingToUndo. If somebody
// else has decided on a node of the step later, it returns a *LaterDecisionError and changes nothing.
//
// A label that was changed since without a decision is set back too; From has the changed label. Of a removed node only
// the history changes. If a run after the decision has scored the label that is taken back, Undo removes this score
// (see SeenByScores): the node is no suspect until it is scored again.
func Undo(ctx context.Context, s *kv.Store, opt Options, seenBy SeenByScores) ([]Decision, error) {
	return WriteSteps(ctx, s, func(w *StepWriter) error {
		last, err := lastStep(ctx, w.tx, opt.Who, math.MaxInt64)
		switch {
		case err != nil:
			return err
		case last.Step == 0 && opt.Who != "":
			return fmt.Errorf("%s has %w", strconv.Quote(opt.Who), ErrNothingToUndo)
		case last.Step == 0:
			return fmt.Errorf("there is %w", ErrNothingToUndo)
		case opt.Last != 0 && last.Step != opt.Last:
			return fmt.Errorf("undo step %d: step %d is the last one: %w", opt.Last, last.Step, ErrChanged)
		}
		newest := int64(0)
		if seenBy != nil {
			if newest, err = seenBy(w.tx); err != nil {
				return err
			}
		}
		if err := w.Begin(opt); err != nil {
			return err
		}
		for seq := last.Seq; seq >= last.Seq-last.place; seq-- {
			undone, err := readDecision(w.tx, seq)
			if errors.Is(err, errLost) {
				continue
			}
			if err == nil {
				err = w.takeBack(undone, newest)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// takeBack adds the entry that takes one back. The scores have seen the labels up to entry newest.
func (w *StepWriter) takeBack(undone historyRecord, newest int64) error {
	d := &draft{unscored: undone.Seq <= newest && undone.From != undone.Label}
	d.Decision = Decision{
		Node: undone.Node, Kind: undone.Kind, To: undone.From, Label: undone.From, After: undone.Before,
		Disputed: undone.WasDisputed, Undoes: undone.Seq,
		// If the node was removed since, nothing else says what the entry is about.
		ID: undone.ID, From: undone.Label, Before: undone.After, WasDisputed: undone.Disputed, Score: math.NaN(),
	}
	return w.add(d)
}

// A LaterDecisionError says that a step cannot be taken back, because somebody else has decided on one of its nodes
// later. It is an ErrChanged.
type LaterDecisionError struct {
	ID string // of the node
}

func (e *LaterDecisionError) Error() string {
	return fmt.Sprintf("undo: somebody else has decided on node %q later, and has to take that back first", e.ID)
}

// Is reports that it is an ErrChanged.
func (e *LaterDecisionError) Is(target error) bool { return target == ErrChanged }

// LastOwnStep returns the last step of a person that was not taken back, 0 if there is none among the last most
// entries.
func LastOwnStep(ctx context.Context, tx *kv.Tx, who string, most int64) (int64, error) {
	last, err := lastStep(ctx, tx, who, most)
	return last.Step, err
}

// lastStep finds the last step of a person that was not taken back, of anybody if who is empty, among the last most
// entries. It returns its last entry, zero if there is none. Memory holds a number for each stretch of steps that were
// taken back.
func lastStep(ctx context.Context, tx *kv.Tx, who string, most int64) (last historyRecord, err error) {
	newest, err := Newest(tx)
	if err != nil {
		return last, err
	}
	back := roaring64.New() // steps that were taken back
	for seq := newest; seq > 0 && newest-seq < most; {
		if err := ctx.Err(); err != nil {
			return last, err
		}
		d, err := readDecision(tx, seq)
		var undone historyRecord
		if err == nil && d.Undoes != 0 {
			undone, err = readDecision(tx, d.Undoes)
		}
		switch {
		case errors.Is(err, errLost): // the entry before it may be of the same step
			seq--
			continue
		case err != nil:
			return last, err
		case d.Undoes != 0:
			back.Add(uint64(undone.Step))
		case !back.Contains(uint64(d.Step)) && (who == "" || d.Who == who):
			return d, nil
		}
		seq -= d.place + 1
	}
	return last, nil
}
