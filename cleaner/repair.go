package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair makes history, labels and decisions agree again, as decide.Repair does, and the runs with the scores, and calls
// report for what it did. It is for a store that kv.Repair has repaired, opened by index.Open, that nobody else writes to.
// A run that cannot be read is removed, and so are the scores, suggestions and confidences of a run that is not there; Clean
// makes them again. After an error, or a kill, it can be run again, and ends with the same as if it had not been stopped.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Mend)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	runs := runsRepair{store: s, report: report}
	return runs.run(ctx)
}
