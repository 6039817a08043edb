package shell

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// checkScores says, where an export stands on scores, how many are older than changes around them. Where it stands on
// suspects, it also repeats what the last run said of its scores.
func (c *exportCommand) checkScores(ctx context.Context, store *kv.Store, s *streams) error {
	if c.What != "suspects" && c.What != "scores" {
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
	if c.What == "suspects" {
		sayWarnings(s, run.Warnings)
	}
	return nil
}

// suspectsAbove lists the suspects above a threshold, the highest score first. Its columns are those of scoreColumnsOf.
func suspectsAbove(ctx context.Context, tx *kv.Tx, threshold float64, workers int) (*query.Result, error) {
	nodes := index.Query{Where: cleaner.Suspects(threshold), Order: []index.Order{{Property: cleaner.ScoreColumn, Descending: true}}}
	return nodeTable(ctx, tx, nodes, scoreColumnsOf(tx), scoreProperties, workers, func(values []kv.Value) []kv.Value { return values })
}

// verdictTable has the verdicts that clean takes from the decisions.
func verdictTable(ctx context.Context, tx *kv.Tx) (*query.Result, error) {
	verdicts, err := cleaner.Verdicts(ctx, tx)
	if err != nil {
		return nil, err
	}
	all, err := tx.Places()
	if err != nil {
		return nil, err
	}
	places := make(map[kv.NodeID]int, len(verdicts))
	for _, verdict := range verdicts {
		if places[verdict.Node], err = all.Of(verdict.Node); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(verdicts, func(a, b cleaner.Verdict) int { return cmp.Compare(places[a.Node], places[b.Node]) })
	rows := make([][]kv.Value, len(verdicts))
	for i, verdict := range verdicts {
		id, err := tx.ID(verdict.Node)
		if err != nil {
			return nil, err
		}
		now := kv.Value{}
		if verdict.Now != kv.NoClass {
			now = kv.ValueOf(tx.Classes()[verdict.Now])
		}
		rows[i] = []kv.Value{kv.ValueOf(id), kv.ValueOf(tx.Classes()[verdict.Before]), now}
	}
	return query.NewTable([]query.ColumnInfo{
		idColumn(tx), {Name: "label_before", Kind: kv.KindClass}, {Name: "label_now", Kind: kv.KindClass},
	}, rows), nil
}
