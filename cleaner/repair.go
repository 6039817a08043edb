package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Repair makes history, labels and decisions agree again, and the runs with the scores, and calls report for what it did. It
// is for a store that kv.Repair has repaired, opened by index.Open, that nobody else writes to. An entry that is missing is
// made up from those before and after it about the same node, so that no other loses its number; label and decision of a node that was decided
// on become what the last entry about it says. A run that cannot be read is removed, and so are the scores, suggestions and
// confidences of a run that is not there; Clean makes them again.
//
// It writes a thousand entries or nodes in a transaction, and reports what is in one once it is on disk. After an error,
// or a kill, it can be run again, and ends with the same as if it had not been stopped. The work is that of reading the
// history a few times, and it holds some 200 bytes a missing entry.
func Repair(ctx context.Context, s *kv.Store, report func(kv.Mend)) error {
	if err := decide.Repair(ctx, s, report); err != nil {
		return err
	}
	runs := runsRepair{store: s, report: report}
	return runs.run(ctx)
}
