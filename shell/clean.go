package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// predictCommand trains the built-in base classifier.
type predictCommand struct {
	DB   string `arg:"" name:"DB" help:"Directory of the store."`
	Seed uint64 `default:"${seed}" help:"Seed of the training."`
	resources
}

func (*predictCommand) Help() string {
	return `Trains a classifier on the labelled nodes outside the validation and test splits. Its input is the ` +
		`features, smoothed over the graph. Without features, the input is the labels around a node. If neighbours ` +
		`disagree, predict also tries features and labels together, and keeps the better input. The class probabilities ` +
		`of every node replace earlier ones. Each training node gets its prediction from a fit to all other nodes, which ` +
		`has not seen its label. clean runs predict if the store has no predictions. With preset default, clean may also ` +
		`train this classifier beside imported predictions.

    graphcleaner predict my.graph
    graphcleaner predict my.graph --seed 2 --memory 2GiB`
}

func (c *predictCommand) Run(ctx context.Context, s *streams) error {
	var report *cleaner.PredictReport
	err := c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		report, err = cleaner.Predict(ctx, store, cleaner.Options{
			Seed:         c.Seed,
			Workers:      c.Threads,
			MemoryBudget: c.work(),
			Progress:     s.progress.report,
			OnStage:      s.stages.add,
			Notice:       s.notice,
		})
		return err
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s has the predictions it had before", c.DB)
	}
	err = s.printf("%s: predictions from %s, %.1f s\n"+
		"  accuracy: %s of %d labelled nodes, each predicted without its label\n",
		c.DB, report.Inputs, report.Seconds, wording.Percent(report.Accuracy), report.Labelled)
	if err != nil {
		return err
	}
	s.sayNext("clean", c.DB)
	return nil
}

// cleanCommand scores a store.
type cleanCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	detection
	Seed   uint64 `default:"${seed}" help:"The same seed gives the same scores, at any --memory and --threads."`
	Preset string `enum:"default,paper" default:"default" help:"default: scores are chances, and the threshold follows from them. paper: GraphCleaner as published."`
	importedUse
	stageFile
	resources
}

// importedUse has the flags on imported predictions.
type importedUse struct {
	OutOfFold bool `xor:"imported" help:"Imported predictions have not seen the label of the node that they predict: join them with those of the built-in classifier. Without a flag, clean leaves them out if they may have seen it."`
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
func orZero[T any](flag *T) (value T) {
	if flag != nil {
		value = *flag
	}
	return value
}

// checkHops refuses hops over which there are no agreement features.
func checkHops(hops int) error {
	if hops < 1 || hops > ops.MaxHops {
		return usagef("--hops %d: want 1 to %d", hops, ops.MaxHops)
	}
	return nil
}

func (*cleanCommand) Help() string {
	return `Learns to judge a label from the predictions and labels around its node. It learns from nodes that the ` +
		`base classifier was not trained on. Then every labelled node gets a score: the chance that its label is wrong. ` +
		`The store gets scores, suggested labels and confidence, all at once. Labels never change. If the store has no ` +
		`predictions, predict runs first.

How many labels are wrong is not known from graph and predictions: audit tells it, by a look at 50 labels or more. ` +
		`Of the suspects, clean counts those that are contradicted: the predictions and the neighbours both put another ` +
		`label first.

Run an interrupted or killed clean again with the same flags on the same store, and it continues. --memory and ` +
		`--threads may differ.

    graphcleaner clean my.graph
    graphcleaner clean my.graph --hops 2 --memory 2GiB --threads 2 --seed 7
    graphcleaner clean my.graph --expect 0.1
    graphcleaner clean my.graph --out-of-fold
    graphcleaner clean my.graph --preset paper --stats stages.json`
}

func (c *cleanCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	var run *cleaner.Run
	var audit *cleaner.Audit
	err := c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		if run, err = cleaner.Clean(ctx, store, c.options(s)); err != nil {
			return err
		}
		return store.View(func(tx *kv.Tx) (err error) {
			audit, err = cleaner.ReadAudit(ctx, tx)
			return err
		})
	})
	if err != nil && run != nil {
		return err
	}
	if err != nil {
		return leaving(wording.Advise(c.inFlags(err)), "%s has the scores it had before; the same command goes on from here",
			c.DB)
	}
	if err := printRun(s, c.DB, run, audit); err != nil {
		return err
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
		Method:       paper.Preset(c.Preset),
		Hops:         c.Hops,
		Threshold:    orZero(c.Threshold),
		Expect:       orZero(c.Expect),
		Seed:         c.Seed,
		Imported:     c.imported(),
		Workers:      c.Threads,
		MemoryBudget: c.work(),
		Progress:     s.progress.report,
		OnStage:      s.stages.add,
		Notice:       s.notice,
		Warn:         s.caution,
	}
}

// printRun says what a run found, and how many labels are wrong by an audit, which may be nil.
func printRun(s *streams, db string, run *cleaner.Run, audit *cleaner.Audit) error {
	return s.printf("%s: %d of %s scored, %s, %.1f s\n%s: %s\n",
		db, run.Scored, wording.Nodes(run.Nodes), wording.Suspects(run), run.Seconds, db, wording.HowMany(audit))
}

// estimateCommand prints the cost of clean.
type estimateCommand struct {
	DB     string `arg:"" name:"DB" help:"Directory of the store."`
	Hops   int    `default:"3" placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Default: 3."`
	Preset string `enum:"default,paper" default:"default" help:"paper or default, as for clean."`
	importedUse
	Format string `enum:"table,json" default:"table" help:"table or json."`
	resources
}

func (*estimateCommand) Help() string {
	return `Prints the cost of clean: the least memory, about how much room on the disk, and the price of the ` +
		`diagonals. It cleans nothing.

    graphcleaner estimate my.graph --memory 2GiB
    graphcleaner estimate my.graph --hops 4 --format json`
}

// An estimate is the cost of clean.
type estimate struct {
	Nodes     int     `json:"nodes"`
	Edges     int64   `json:"edges"`
	Classes   int     `json:"classes"`
	Steps     float64 `json:"diagonal_steps"`
	Store     int64   `json:"store_bytes"`
	Cleaned   int64   `json:"cleaned_store_bytes"`
	Temporary int64   `json:"temporary_bytes"`
	Memory    int64   `json:"memory_bytes"`
	Least     int64   `json:"least_memory_bytes"`
	Refused   string  `json:"refused,omitempty"` // why clean would not begin
	Fits      bool    `json:"fits"`
}

func (c *estimateCommand) Run(ctx context.Context, s *streams) error {
	if err := checkHops(c.Hops); err != nil {
		return err
	}
	e := &estimate{Memory: int64(c.Memory)}
	err := c.use(s, c.DB, toRead, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			of, err := cleaner.PlanClean(ctx, tx, cleaner.Options{
				Method: paper.Preset(c.Preset), Hops: c.Hops, Imported: c.imported(), Workers: c.Threads, MemoryBudget: c.work(),
			})
			if err != nil {
				return err
			}
			return e.fill(store, of)
		})
	})
	if small, ok := errors.AsType[*ops.BudgetError](err); ok {
		e.Least, e.Refused, err = leastMemoryFor(small.Least), wording.Plain(c.inFlags(err)), nil
	}
	if err != nil {
		return wording.Advise(err)
	}
	e.Fits = e.Refused == ""
	if c.Format == "json" {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(e)
	}
	return e.print(s)
}

// fill takes over the plan of a cleaning of a store.
func (e *estimate) fill(store *kv.Store, of *cleaner.Plan) (err error) {
	e.Nodes, e.Edges, e.Classes, e.Steps = of.Nodes, of.Edges, of.Classes, of.Steps
	e.Temporary, e.Least = of.TemporaryBytes, leastMemoryFor(of.LeastBytes)
	if e.Store, err = store.DiskBytes(); err != nil {
		return err
	}
	e.Cleaned = e.Store + of.StoreBytes
	if of.Refusal != nil {
		e.Refused = wording.Advise(of.Refusal).Error()
	}
	return nil
}

// print writes the estimate for reading.
func (e *estimate) print(s *streams) error {
	var b strings.Builder
	if e.Nodes > 0 {
		fmt.Fprintf(&b, "%s, %s, %s\n\n", wording.Nodes(e.Nodes), wording.Count(e.Edges, "edge", "edges"),
			wording.Count(e.Classes, "class", "classes"))
		fmt.Fprintf(&b, "diagonals    %.3g steps\n", e.Steps)
		fmt.Fprintf(&b, "store        %s, after clean %s\n", byteSize(e.Store), byteSize(e.Cleaned))
		fmt.Fprintf(&b, "temporary    %s on disk\n", byteSize(e.Temporary))
	}
	verdict := "fits in memory"
	if !e.Fits {
		verdict = "clean refuses: " + e.Refused
	}
	fmt.Fprintf(&b, "memory       %s, want at least %s\n%s\n", byteSize(e.Memory), byteSize(e.Least), verdict)
	return s.printf("%s", b.String())
}
