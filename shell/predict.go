package shell

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// predictCommand trains the built-in base classifier.
type predictCommand struct {
	DB   string `arg:"" name:"DB" help:"Directory of the store."`
	Seed uint64 `default:"${seed}" help:"Seed of the training."`
	predictionEncoding
	resources
}

func (*predictCommand) Help() string {
	return `Trains a classifier on the labelled nodes outside the validation and test splits. Its input is the features, smoothed over the graph. Without ` +
		`features, the input is the labels around a node. If neighbours disagree, predict also tries features and labels together, and keeps the better input. The class probabilities of every node replace earlier ones. ` +
		`Each training node gets its prediction from a fit to all other nodes, which has not seen its label. ` +
		`clean runs predict if the store has no predictions. ` +
		`With preset default, clean may also train this classifier beside imported predictions.

    graphcleaner predict my.graph
    graphcleaner predict my.graph --seed 2 --memory 2GiB
    graphcleaner predict my.graph --top-k 10 --float16`
}

func (c *predictCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	var report *cleaner.PredictReport
	err := c.useStore(s, c.DB, c.store(), func(store *kv.Store) (err error) {
		report, err = cleaner.Predict(ctx, store, cleaner.PredictOptions{
			Seed:         c.Seed,
			Workers:      c.Threads,
			MemoryBudget: c.work(),
			Encoding:     c.encoding(),
			Progress:     s.progress.report(),
			OnStage:      s.stages.add,
			Notice:       s.notice,
		})
		return err
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s has the predictions it had before", c.DB)
	}
	s.progress.clear()
	_, err = s.printf("%s: predictions from %s, %.1f s\n  accuracy: %s, %s, %s\n",
		c.DB, report.Inputs, report.Seconds,
		accuracy(report.TrainAccuracy, report.TrainNodes, "training"),
		accuracy(report.ValidationAccuracy, report.ValidationNodes, "validation"),
		accuracy(report.TestAccuracy, report.TestNodes, "test"))
	if err != nil {
		return unreported(err, "%s has its predictions", c.DB)
	}
	s.sayNext("clean", c.DB)
	return nil
}

// accuracy words the share of the nodes of a split that are predicted as they are labelled.
func accuracy(share float64, nodes int64, split string) string {
	if nodes == 0 {
		return "no " + split + " nodes"
	}
	return fmt.Sprintf("%s of %d %s nodes", wording.Percent(share), nodes, split)
}

// notice passes on what the cleaner has to say.
func (s *streams) notice(text string) { s.say("%s", text) }
