package shell

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// rescoreCommand brings scores in line with decisions.
type rescoreCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	resources
}

func (*rescoreCommand) Help() string {
	return `A score is the chance that a label is wrong. Decisions test the scores. If fewer or more suspects are wrong than the scores say, then the rate, the scores ` +
		`and the threshold of the last run move. The order of the scores stays, and no new run is needed. The next clean learns more: it takes decided labels for the truth.

    graphcleaner review my.graph --limit 50
    graphcleaner rescore my.graph`
}

func (c *rescoreCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	var done *cleaner.Rescoring
	err := c.useStore(s, c.DB, c.store(), func(store *kv.Store) (err error) {
		done, err = cleaner.Rescore(ctx, store)
		return err
	})
	if err != nil {
		return leaving(c.inFlags(wording.AdviseRescore(err)), "%s has the scores it had before", c.DB)
	}
	if _, err := s.printf("%s: %s\n", c.DB, wording.Rescored(done)); err != nil {
		return err
	}
	if grey := wording.GreyZone(done.Run); grey != "" {
		s.say("%s", grey)
	}
	return nil
}
