package shell

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// checkSuspects repeats what the last run said of its scores where an export stands on suspects, and asks whether labels
// may be left out where that would be too many.
func (c *exportCommand) checkSuspects(ctx context.Context, store *kv.Store, s *streams) error {
	if c.What != "suspects" && !c.WithoutSuspects && !c.MultiLabel {
		return nil
	}
	tx := store.Begin()
	defer tx.Close()
	run, err := lastRun(tx)
	if err != nil {
		return err
	}
	sayWarnings(s, run.Warnings)
	if !c.WithoutSuspects || c.Yes {
		return nil
	}
	threshold, err := c.threshold(tx)
	if err != nil {
		return err
	}
	lost, err := lostLabels(ctx, tx, threshold)
	if lost == "" || err != nil {
		return err
	}
	if !isTerminal(s.in) {
		return fmt.Errorf("without suspects above %.4g %s: %w: there is no terminal to ask at, and --yes was not given", threshold, lost, ErrNotConfirmed)
	}
	yes, err := s.confirm(fmt.Sprintf("Without suspects above %.4g %s. Write the labels all the same?", threshold, lost))
	if err == nil && !yes {
		err = fmt.Errorf("the labels were not written: %w", ErrNotConfirmed)
	}
	return err
}

// A classLoss is how many labels of a class would be left out.
type classLoss struct {
	class     string
	lost, all int64
}

// shownLosses is how many classes are named at most.
const shownLosses = 5

// lostLabels says so where the labels of suspects are not to be left out unasked: where a class would lose all of its
// labels, as nothing could learn that class from the rest; and where more than half of all labels would go, as a score
// tells wrong labels from right ones only where most are right. Empty where neither is so.
func lostLabels(ctx context.Context, tx *kv.Tx, threshold float64) (string, error) {
	losses, err := countLosses(ctx, tx, threshold)
	if err != nil {
		return "", err
	}
	var lost, all int64
	var whole []classLoss
	for _, l := range losses {
		lost, all = lost+l.lost, all+l.all
		if l.lost == l.all {
			whole = append(whole, l)
		}
	}
	var parts []string
	for _, l := range whole[:min(len(whole), shownLosses)] {
		parts = append(parts, fmt.Sprintf("class %s would lose all of its labels, %d of %d", quoteString(l.class), l.lost, l.all))
	}
	if more := len(whole) - len(parts); more > 0 {
		parts = append(parts, countText(more, "more class", "more classes")+" all of theirs")
	}
	if 2*lost > all {
		parts = append(parts, fmt.Sprintf("%d of all %d labels would go", lost, all))
	}
	return strings.Join(parts, ", "), nil
}

// countLosses counts the labels of the classes that have some, and those of their suspects above a threshold, the
// greatest class first.
func countLosses(ctx context.Context, tx *kv.Tx, threshold float64) ([]classLoss, error) {
	losses := make([]classLoss, len(tx.Classes()))
	places := make(map[string]int, len(losses))
	for i, class := range tx.Classes() {
		losses[i].class, places[class] = class, i
	}
	labels, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		label, err := labels.At(v)
		if err != nil {
			return nil, err
		}
		if !label.IsNull() {
			losses[places[label.Str()]].all++
		}
	}
	plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(threshold), Limit: -1})
	if err != nil {
		return nil, err
	}
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		label, err := labels.At(v)
		if err != nil {
			return nil, err
		}
		losses[places[label.Str()]].lost++
	}
	losses = slices.DeleteFunc(losses, func(l classLoss) bool { return l.all == 0 })
	slices.SortStableFunc(losses, func(a, b classLoss) int { return cmp.Compare(b.all, a.all) })
	return losses, nil
}
