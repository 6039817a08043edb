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
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// checkScores says, where an export stands on scores, how many are older than changes around them. Where it stands on suspects, it also
// repeats what the last run said of its scores, and asks whether labels may be left out if that would be too many.
func (c *exportCommand) checkScores(ctx context.Context, store *kv.Store, s *streams) error {
	ofSuspects := c.What == "suspects" || c.WithoutSuspects
	if !ofSuspects && c.What != "scores" {
		return nil
	}
	tx := store.Begin()
	defer tx.Close()
	run, err := query.LastRun(tx)
	if err != nil {
		return err
	}
	stale, err := wording.StaleScores(ctx, tx, run)
	if err != nil {
		return err
	}
	if stale != "" {
		s.caution(stale)
	}
	if ofSuspects {
		sayWarnings(s, run.Warnings)
	}
	if !c.WithoutSuspects || c.Yes {
		return nil
	}
	threshold, err := c.threshold(tx)
	if err != nil {
		return err
	}
	loss, err := lostLabels(ctx, tx, threshold, c.Threads)
	if loss == "" || err != nil {
		return err
	}
	return s.agreeToLoss(ctx, fmt.Sprintf("without suspects above %.4g %s", threshold, loss),
		"Write the labels all the same?", "the labels were not written")
}

// shownLosses is how many classes are named at most.
const shownLosses = 5

// lostLabels says so, in the words of lostText, where the labels of suspects above a threshold are not to be left out
// unasked.
func lostLabels(ctx context.Context, tx *kv.Tx, threshold float64, workers int) (string, error) {
	losses, err := files.CountLabels(ctx, tx)
	if err != nil {
		return "", err
	}
	places := make(map[string]int, len(losses))
	for i, l := range losses {
		places[l.Class] = i
	}
	suspects, err := suspectsAbove(ctx, tx, threshold, nil, workers)
	if err != nil {
		return "", err
	}
	count := int64(0)
	for row, err := range suspects.Rows() {
		if err != nil {
			return "", err
		}
		losses[places[row.Values[1].Str()]].Lost++
		count++
	}
	return lostText(losses, count), nil
}

// lostText says so if too many labels would be lost: if a class would lose all of its labels, as nothing could learn
// that class from the rest; and if more than half of all labels would be removed, as a score tells wrong labels from
// right ones only where most are right. Empty where neither is so.
func lostText(losses []files.ClassLoss, count int64) string {
	var all int64
	var whole []files.ClassLoss
	for _, l := range losses {
		all += l.All
		if l.Lost == l.All && l.All > 0 {
			whole = append(whole, l)
		}
	}
	slices.SortStableFunc(whole, func(a, b files.ClassLoss) int { return cmp.Compare(b.All, a.All) })
	var parts []string
	for _, l := range whole[:min(len(whole), shownLosses)] {
		parts = append(parts, fmt.Sprintf("class %s would lose all of its labels, %d of %d", query.Quote(l.Class), l.Lost, l.All))
	}
	if more := len(whole) - len(parts); more > 0 {
		parts = append(parts, wording.Count(more, "more class", "more classes")+" all of theirs")
	}
	if 2*count > all {
		parts = append(parts, fmt.Sprintf("%d of all %d labels would go", count, all))
	}
	return strings.Join(parts, ", ")
}

// byScore is the order of suspects: the highest score first.
var byScore = []index.Order{{Property: cleaner.ScoreColumn, Descending: true}}

// suspectsAbove lists the suspects above a threshold in an order, that of the node file if there is none. Its columns
// are those of scoreColumnsOf.
func suspectsAbove(ctx context.Context, tx *kv.Tx, threshold float64, order []index.Order, workers int) (*query.Result, error) {
	plan, err := index.NewPlan(tx, index.Query{Where: cleaner.Suspects(threshold), Order: order, Limit: -1})
	if err != nil {
		return nil, err
	}
	f, err := query.NewFetcher(tx, scoreProperties, workers)
	if err != nil {
		return nil, err
	}
	return query.NewResult(scoreColumnsOf(tx), f.FetchPlan(ctx, plan)), nil
}

// suspicion is the flag of an export of suspects.
type suspicion struct {
	Threshold *float64 `placeholder:"T" help:"Score above which a node is a suspect. Default: the threshold of the last run."`
}

func (f suspicion) checkThreshold() error {
	if f.Threshold != nil && !(*f.Threshold >= 0 && *f.Threshold < 1) {
		return usagef("--threshold %v: want a number from 0 to less than 1", *f.Threshold)
	}
	return nil
}

// threshold returns --threshold, or else the threshold of the last run. Without a run it returns ErrNotCleaned in either case.
func (f suspicion) threshold(tx *kv.Tx) (float64, error) {
	run, err := query.LastRun(tx)
	if err != nil {
		return 0, err
	}
	if f.Threshold != nil {
		return query.Single(*f.Threshold), nil
	}
	return run.Threshold, nil
}
