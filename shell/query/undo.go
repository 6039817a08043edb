package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// undo answers undo with the decisions that were taken back.
func (q *query) undo(ctx context.Context, s *undoStatement) (*Result, error) {
	steps := 1
	if s.steps != nil {
		var err error
		if steps, err = q.whole(*s.steps, "steps", 0, 1<<31-1); err != nil {
			return nil, err
		}
		if steps == 0 {
			return nil, &ResolveError{Pos: s.steps.pos, Msg: "got 0 steps, want 1 or more"}
		}
	}
	opt, err := q.decideOptions(nil)
	if err != nil {
		return nil, err
	}
	if err := q.checkArguments(); err != nil {
		return nil, err
	}
	entries, err := cleaner.Undo(ctx, q.store, steps, opt)
	if later, ok := errors.AsType[*decide.LaterDecisionError](err); ok {
		return nil, fmt.Errorf("%w: history %s", err, quoteID(later.ID))
	}
	if err != nil {
		return nil, err
	}
	q.unscored = entries.RemovedScores
	if entries.RemovedNodes > 0 {
		q.notices = append(q.notices, wording.Count(entries.RemovedNodes, "decision is about a removed node",
			"decisions are about removed nodes")+": only the history changes")
	}
	q.notices = append(q.notices, "taken back: "+wording.Count(steps, "step", "steps")+", "+
		wording.Count(entries.Len(), "decision", "decisions"))
	r := q.entriesTable(ctx, entries, []string{"id", "decision", "from", "to", "undoes"})
	r.entries = entries
	return r, nil
}
