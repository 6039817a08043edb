package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// drawCommand draws a node with its neighbourhood.
type drawCommand struct {
	DB  string `arg:"" name:"DB" help:"Directory of the store."`
	ID  string `arg:"" name:"ID" help:"Id of the node."`
	Out string `short:"o" default:"-" file:"write" placeholder:"FILE" help:"File to write; - is standard output. Default: -."`
	resources
}

func (*drawCommand) Help() string {
	return `Writes an SVG, the picture that the page of review --web has: the node, its neighbours and, where these are few, theirs; their ` +
		`labels, and what they say of the label of the node. The picture is one text that needs nothing else, for light and dark pages. At most 150 nodes are drawn.

    graphcleaner draw my.graph p17 --out p17.svg`
}

func (c *drawCommand) Run(ctx context.Context, s *streams) error {
	if err := c.apply(s); err != nil {
		return err
	}
	var picture string
	err := c.readStore(s, c.DB, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			v, err := nodeOf(tx, c.ID)
			if err != nil {
				return fmt.Errorf("draw: %w", err)
			}
			direction := kv.Both
			if run, err := query.LastRun(tx); err == nil {
				direction = run.Direction
			} else if !errors.Is(err, query.ErrNotCleaned) {
				return err
			}
			ego, err := survey.New(tx, direction, survey.Guess(tx)).Ego(ctx, "ego", v)
			if err == nil {
				picture = ego.SVG()
			}
			return err
		})
	})
	if err != nil {
		return c.inFlags(err)
	}
	return s.writeFile(c.Out, func(w *bufio.Writer) error {
		_, err := w.WriteString(picture)
		return err
	})
}
