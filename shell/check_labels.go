package shell

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A checkedLabel is a row of the answer of --check.
type checkedLabel struct {
	score float64
	row   []kv.Value
}

// checkLabels lists the labels of the files of --append that score above the threshold, and writes nothing.
func (c *importCommand) checkLabels(ctx context.Context, s *streams) error {
	if c.Stats != "" {
		return usagef("import: --check goes without --stats")
	}
	if err := c.checkThreshold(); err != nil {
		return err
	}
	var columns []query.ColumnInfo
	var suspects []checkedLabel
	var threshold float64
	labels, lacks := int64(0), &lacks{s: s}
	err := c.useStore(s, c.DB, int64(c.Memory), func(store *kv.Store) (err error) {
		if err := store.View(func(tx *kv.Tx) (err error) {
			columns = nowColumns(tx)
			threshold, err = c.threshold(tx)
			return err
		}); err != nil {
			return err
		}
		decided, err := c.graph().CheckLabels(ctx, store, c.of(s.job(c.Threads, c.work())), func(tx *kv.Tx, score cleaner.NodeScore) error {
			labels++
			lacks.add(score)
			if !score.IsSuspect(threshold) {
				return nil
			}
			row, err := scoreRow(tx, score)
			suspects = append(suspects, checkedLabel{score.Score, row})
			return err
		})
		s.progress.clear()
		s.sayLeftOut(decided, "labels of nodes that somebody has decided about")
		return c.advise(err)
	})
	if err != nil {
		return leaving(c.inFlags(err), "nothing is written")
	}
	slices.SortStableFunc(suspects, func(a, b checkedLabel) int { return cmp.Compare(b.score, a.score) })
	rows := make([][]kv.Value, 0, len(suspects))
	for _, suspect := range suspects {
		rows = append(rows, suspect.row)
	}
	if len(rows) > 0 || c.Format != print.FormatTable {
		if _, err := print.Render(s.out, query.NewTable(columns, rows), c.Format); err != nil {
			return err
		}
	}
	lacks.tell()
	verdict := fmt.Sprintf("%d of %s that would come in score above %.4g", len(rows), wording.Count(labels, "label", "labels"), threshold)
	if lacks.count > 0 {
		verdict += fmt.Sprintf("; %d without a score", lacks.count)
	}
	if len(rows) > 0 || lacks.count > 0 {
		return &verdictError{verdict}
	}
	s.say("%s: %s: passed", c.DB, verdict)
	return nil
}
