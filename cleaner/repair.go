package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair makes history, labels and decisions agree again, as decide.Repair does, and runs and scores too. It calls
// report for each change. First run kv.Repair, then open the store with index.Open; nobody else may write to it. Repair
// removes unreadable runs, and the scores, suggestions and confidences of missing runs; Clean makes them again. After
// an error or a kill, run it again: the result is the same as without the interruption.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Correction)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	runs := runsRepair{store: s, report: report}
	return runs.run(ctx)
}
