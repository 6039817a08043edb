package shell

import (
	"context"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// rescoreCommand brings the stored scores up to date.
type rescoreCommand struct {
	DB   string `arg:"" name:"DB" help:"Directory of the store."`
	Full bool   `help:"Score all nodes again, whatever has changed."`
	stageFile
	resources
}

func (*rescoreCommand) Help() string {
	return `Uses the model of the last run; clean fits a new one.

First, the nodes around all changes since the scores were made get new scores: labels, edges, predictions, and nodes that were added. If many nodes are around changes, ` +
		`all nodes are scored in one pass over the graph. Nodes that were added without predictions are first predicted by the built-in classifier, if the store keeps one for them. ` +
		`Else they have no score, and rescore says how many they are.

If an audit has come to a look since, all scores follow it, and with them the rate, the threshold and the suspects. Their order stays. Other decisions move the scores around them alone: ` +
		`they do not tell how many labels are wrong. The next clean learns more: it takes decided labels for the truth.

    graphcleaner review my.graph --limit 50
    graphcleaner rescore my.graph`
}

func (c *rescoreCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	var done *cleaner.Rescoring
	err := c.useStore(s, c.DB, c.store(), func(store *kv.Store) (err error) {
		done, err = cleaner.Rescore(ctx, store, cleaner.RescoreOptions{
			Full: c.Full, Workers: c.Threads, MemoryBudget: c.work(), Progress: s.progress.report(), OnStage: s.stages.add, Notice: s.notice,
		})
		s.stages.end("rescore")
		return err
	})
	if err != nil {
		return leaving(c.inFlags(wording.AdviseRescore(err)), "%s has the scores it had before; run rescore again to go on", c.DB)
	}
	for _, line := range wording.Rescored(done) {
		if _, err := s.printf("%s: %s\n", c.DB, line); err != nil {
			return err
		}
	}
	return nil
}

// rescoring is the flag of commands that bring scores up to date after each decision.
type rescoring struct {
	NoRescore bool `help:"Leave the scores as they are after decisions, until rescore or clean."`
}

// waitForScores is how long a person waits for the scores around a decision.
const waitForScores = 2 * time.Second
