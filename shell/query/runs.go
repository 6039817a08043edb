package query

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// DefaultSeed is the seed of the statement clean and of a sample without a seed. The command clean has the same
// default, so both compute the same scores.
const DefaultSeed = 1

// DefaultDraws is how many labels an audit draws first, where the user does not say.
const DefaultDraws = 50

// clean answers clean: it scores the store anew and returns the run.
func (q *query) clean(ctx context.Context, s *Statement) (*Result, error) {
	opt := cleaner.Options{
		Method: paper.Preset(s.preset), Imported: s.imported,
		Workers: q.Workers, MemoryBudget: q.MemoryBudget, Progress: q.Progress, Notice: q.remark,
	}
	var err error
	if opt.Hops, err = q.hops(s.hops, 0); err != nil {
		return nil, err
	}
	seed, err := q.whole(s.seed, "a seed", 0, math.MaxInt, DefaultSeed)
	if err != nil {
		return nil, err
	}
	opt.Seed = uint64(seed)
	if s.expect != nil {
		if opt.Expect, err = q.share(*s.expect, "an expected share of wrong labels"); err != nil {
			return nil, err
		}
	}
	run, err := cleaner.Clean(ctx, q.store, opt)
	if err != nil {
		return nil, wording.Advise(err)
	}
	err = q.store.View(func(tx *kv.Tx) error {
		audit, err := cleaner.ReadAudit(ctx, tx)
		q.note(wording.HowMany(audit))
		return err
	})
	return recordOf(runFields(run)), err
}

// note adds remarks to the answer, those that are not empty.
func (q *query) note(remarks ...string) {
	for _, remark := range remarks {
		if remark != "" {
			q.notices = append(q.notices, remark)
		}
	}
}

// remark tells people at once if it can, and with the answer otherwise.
func (q *query) remark(remark string) {
	if q.Notice != nil {
		q.Notice(remark)
		return
	}
	q.note(remark)
}

// runs answers runs.
func (q *query) runs(ctx context.Context, _ *Statement) (*Result, error) {
	runs, err := countedRuns(ctx, q.tx)
	if err != nil {
		return nil, err
	}
	var rows [][]kv.Value
	for _, run := range runs {
		q.note(wording.Elsewhere(run))
		rows = append(rows, valuesOf(runFields(run)))
	}
	if len(runs) > 0 {
		audit, err := cleaner.ReadAudit(ctx, q.tx)
		if err != nil {
			return nil, err
		}
		q.note("estimated_rate is what the model estimates; " + wording.HowMany(audit))
	}
	return NewTable(columnsOf(runFields(&cleaner.Run{})), rows), nil
}

// runFields are the fields about a run.
func runFields(run *cleaner.Run) []field {
	return []field{
		{"run", kv.KindInt, kv.ValueOf(run.ID)},
		{"started", kv.KindString, kv.ValueOf(run.Started.UTC().Format(time.RFC3339))},
		{"seconds", kv.KindFloat, kv.ValueOf(run.Seconds)},
		{"preset", kv.KindString, kv.ValueOf(run.Preset)},
		{"hops", kv.KindInt, kv.ValueOf(int64(run.Hops))},
		{"seed", kv.KindInt, kv.ValueOf(int64(run.Seed))},
		{"threshold", kv.KindFloat, kv.ValueOf(run.Threshold)},
		{"predictions", kv.KindString, orNull(run.PredictionSource)},
		{"scored", kv.KindInt, kv.ValueOf(run.Scored)},
		{"suspects", kv.KindInt, kv.ValueOf(run.Suspects)},
		{"contradicted", kv.KindInt, kv.ValueOf(run.Contradicted)},
		{"estimated_rate", kv.KindFloat, kv.ValueOf(run.MislabelRate)},
		{"rescorings", kv.KindInt, kv.ValueOf(run.Rescorings)},
		{"prediction_use", kv.KindString, orNull(run.PredictionUse)},
	}
}

// rescore answers rescore.
func (q *query) rescore(ctx context.Context, s *Statement) (*Result, error) {
	done, err := cleaner.Rescore(ctx, q.store, cleaner.RescoreOptions{
		Full: s.full, Workers: q.Workers, MemoryBudget: q.MemoryBudget, Progress: q.Progress, Notice: q.remark,
	})
	if err != nil {
		return nil, err
	}
	if err := q.store.View(func(tx *kv.Tx) error { return done.Run.Recount(ctx, tx) }); err != nil {
		return nil, err
	}
	q.note(wording.Rescored(done)...)
	return recordOf(append([]field{
		{"changed", kv.KindInt, kv.ValueOf(done.Changed)},
		{"unpredicted", kv.KindInt, kv.ValueOf(done.Unpredicted)},
	}, runFields(done.Run)...)), nil
}

// RescoreDecided brings the scores around a decision up to date once it is made, if Options.Rescores asks for that.
// said is a notice if that takes too long, otherwise empty.
func RescoreDecided(ctx context.Context, store *kv.Store, opt Options) (said string, err error) {
	if !opt.Rescores {
		return "", nil
	}
	ok, err := cleaner.RescoreDecided(ctx, store,
		cleaner.RescoreOptions{Workers: opt.Workers, MemoryBudget: opt.MemoryBudget})
	if err != nil {
		return "", fmt.Errorf("the decision is made, but the scores around it are as before: %w", err)
	}
	if !ok {
		said = wording.ScoresWait
	}
	return said, nil
}

// countedRuns are all runs, of which the last one counts its scores as they are now.
func countedRuns(ctx context.Context, tx *kv.Tx) ([]*cleaner.Run, error) {
	runs, err := cleaner.Runs(tx)
	if err == nil && len(runs) > 0 {
		err = runs[len(runs)-1].Recount(ctx, tx)
	}
	return runs, err
}

// newestRun is cleaner.LastRun, read once.
func (q *query) newestRun() (run *cleaner.Run, err error) {
	if q.run == nil {
		q.run, err = cleaner.LastRun(q.tx)
	}
	return q.run, err
}
