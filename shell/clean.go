package shell

import (
	"cmp"
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// cleanCommand scores a store.
type cleanCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	detection
	orientation
	Seed   uint64 `default:"${seed}" help:"The same seed gives the same scores, at any --memory and --threads."`
	Preset string `enum:"default,paper" default:"default" help:"default: scores are chances, and the threshold follows from them. paper: GraphCleaner as published."`
	importedUse
	stageFile
	resources
}

// importedUse is what imported predictions are.
type importedUse struct {
	OutOfFold bool `xor:"imported" help:"Imported predictions have not seen the label of the node that they predict: join them with those of the built-in classifier. Without a flag, clean leaves them out where they may have."`
	InSample  bool `xor:"imported" help:"Imported predictions have seen these labels: leave them out, and use those of the built-in classifier."`
	AsGiven   bool `xor:"imported" help:"Take imported predictions as they are, and train nothing. It is for predictions that have not seen the labels of the validation and test splits, or any label if there are no splits. A node without predictions gets no score."`
}

func (u importedUse) imported() cleaner.Imported {
	switch {
	case u.OutOfFold:
		return cleaner.OutOfFold
	case u.InSample:
		return cleaner.InSample
	case u.AsGiven:
		return cleaner.AsGiven
	}
	return ""
}

// detection are the flags of commands that look for mislabels.
type detection struct {
	Hops      int      `default:"3" placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Default: 3."`
	Threshold *float64 `placeholder:"T" help:"Score above which a node is a suspect. Default: the threshold with the greatest expected F1; 0.97 with preset paper."`
	Expect    *float64 `placeholder:"R" help:"Share of labels that you believe to be wrong, before any decision, such as 0.1. Without it, the model estimates the share, and may be far off: see audit."`
}

func (d *detection) check() error {
	if d.Threshold != nil && !(*d.Threshold > 0 && *d.Threshold < 1) {
		return usagef("--threshold %v: want a number between 0 and 1", *d.Threshold)
	}
	if d.Expect != nil && !(*d.Expect > 0 && *d.Expect <= cleaner.MostExpected) {
		return usagef("--expect %v: want a number above 0 and up to %v", *d.Expect, cleaner.MostExpected)
	}
	return checkHops(d.Hops)
}

// orZero is the value of a flag, zero if it is not given.
func orZero(flag *float64) float64 {
	if flag == nil {
		return 0
	}
	return *flag
}

// checkHops refuses hops over which there are no agreement features.
func checkHops(hops int) error {
	if hops < 1 || hops > ops.MaxHops {
		return usagef("--hops %d: want 1 to %d", hops, ops.MaxHops)
	}
	return nil
}

func (*cleanCommand) Help() string {
	return `Learns to judge a label from the predictions and labels around its node. It learns from nodes that the base classifier was not ` +
		`trained on. Then every labelled node gets a score: the chance that its label is wrong. The store gets scores, suggested labels and confidence, all at once. ` +
		`Labels never change. If the store has no predictions, predict runs first.

How many labels are wrong is not known from graph and predictions: audit tells it, by a look at 50 labels or more. Of the suspects, clean counts those that are ` +
		`contradicted: the predictions and the neighbours both put another label first.

Run an interrupted or killed clean again with the same flags on the same store, and it continues. --memory and --threads may differ.

    graphcleaner clean my.graph
    graphcleaner clean my.graph --hops 2 --memory 2GiB --threads 2 --seed 7
    graphcleaner clean my.graph --direction in
    graphcleaner clean my.graph --expect 0.1
    graphcleaner clean my.graph --out-of-fold
    graphcleaner clean my.graph --preset paper --stats stages.json`
}

func (c *cleanCommand) Run(ctx context.Context, s *streams) error {
	if c.Expect != nil && c.Preset != string(cleaner.PresetDefault) {
		return usagef("--expect with --preset %s: want preset default, whose scores are chances", c.Preset)
	}
	if err := cmp.Or(c.apply(s), c.check()); err != nil {
		return err
	}
	var run *cleaner.Run
	var audit *cleaner.Audit
	err := c.useStore(s, c.DB, c.store(), func(store *kv.Store) (err error) {
		if err := c.checkDirection(store); err != nil {
			return err
		}
		if run, err = cleaner.Clean(ctx, store, c.options(s)); err != nil {
			return err
		}
		return store.View(func(tx *kv.Tx) (err error) {
			audit, err = query.LastAudit(ctx, tx)
			return err
		})
	})
	if err != nil && run != nil {
		return unreported(err, "%s is cleaned", c.DB)
	}
	if err != nil {
		return leaving(wording.Advise(c.inFlags(err)), "%s has the scores it had before; the same command goes on from here", c.DB)
	}
	s.progress.clear()
	if err := printRun(s, c.DB, run, audit); err != nil {
		return unreported(err, "%s is cleaned", c.DB)
	}
	if audit == nil || audit.Look == 0 {
		s.sayNext("audit", c.DB)
	} else {
		s.sayNext("review", c.DB)
	}
	return nil
}

func (c *cleanCommand) options(s *streams) cleaner.Options {
	return cleaner.Options{
		Preset:       cleaner.Preset(c.Preset),
		Hops:         c.Hops,
		Direction:    c.Direction,
		Threshold:    orZero(c.Threshold),
		Expect:       orZero(c.Expect),
		Seed:         c.Seed,
		Imported:     c.imported(),
		Workers:      c.Threads,
		MemoryBudget: c.work(),
		Progress:     s.progress.report(),
		OnStage:      s.stages.add,
		Notice:       s.notice,
		Warn:         s.caution,
	}
}

// printRun says what a run found, and how many labels are wrong by an audit, which may be nil.
func printRun(s *streams, db string, run *cleaner.Run, audit *cleaner.Audit) error {
	_, err := s.printf("%s: %d of %d nodes scored, %s, %.1f s\n%s: %s\n",
		db, run.Scored, run.Nodes, wording.Suspects(run), run.Seconds, db, wording.HowMany(audit))
	return err
}
