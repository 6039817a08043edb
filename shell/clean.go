package shell

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
)

// cleanCommand scores a store.
type cleanCommand struct {
	DB        string  `arg:"" name:"DB" help:"Directory of the store."`
	Hops      int     `placeholder:"K" help:"Hops over which agreement is measured, 1 to 5. Without it: 3."`
	Threshold float64 `placeholder:"T" help:"Score above which a node is a suspect. Without it: 0.97."`
	Seed      uint64  `default:"1" help:"Seed: the same one gives the same scores, at any --memory and --threads."`
	Preset    string  `enum:"default,paper" default:"default" help:"paper: as published, one draw of synthetic mislabels; default: several, averaged."`
	Stats     string  `placeholder:"FILE" help:"Write the seconds of each stage and the peak memory as json."`
	resources
}

func (*cleanCommand) Help() string {
	return `Learns from the predictions how labels are confused, plants such mislabels, trains a detector on how predictions and labels around a node ` +
		`agree with its label, and scores every labelled node. Scores, suggested labels and confidence are written into the store, all at once; labels ` +
		`are never changed. Where the store has no predictions, predict runs first.

    graphcleaner clean my.graph
    graphcleaner clean my.graph --hops 2 --memory 2GiB --threads 2 --seed 7
    graphcleaner clean my.graph --preset paper --stats stages.json`
}

func (c *cleanCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(); err != nil {
		return err
	}
	stages := new(stageLog)
	err := withStore(c.DB, kv.Options{MemoryBudget: c.store()}, func(store *kv.Store) error {
		run, err := cleaner.Clean(ctx, store, c.options(s, stages))
		if err != nil {
			return err
		}
		s.progress.clear()
		return printRun(s, c.DB, run)
	})
	if err != nil {
		return leaving(err, "%s has the scores it had before; predictions that were completed are kept", c.DB)
	}
	s.say("Next: %s shell %s -c 'suspects limit 20'", s.program, shellWord(c.DB))
	return stages.write(c.Stats, s)
}

func (c *cleanCommand) options(s *streams, stages *stageLog) cleaner.Options {
	return cleaner.Options{
		Preset:       cleaner.Preset(c.Preset),
		Hops:         c.Hops,
		Threshold:    c.Threshold,
		Seed:         c.Seed,
		Workers:      c.Threads,
		MemoryBudget: c.work(),
		Progress:     s.progress.report(),
		OnStage:      stages.add,
		Notice:       s.notice,
	}
}

// printRun says what a run found.
func printRun(s *streams, db string, run *cleaner.Run) error {
	_, err := fmt.Fprintf(s.out, "%s: %d of %d nodes scored, %d suspects above %v, estimated mislabel rate %s, %.1f s\n",
		db, run.Scored, run.Nodes, run.Suspects, run.Threshold, percent(run.MislabelRate), run.Seconds)
	return err
}
