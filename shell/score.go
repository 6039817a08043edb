package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// scoreCommand prints the scores of some nodes as of now.
type scoreCommand struct {
	DB    string   `arg:"" name:"DB" help:"Directory of the store."`
	IDs   []string `name:"ids" xor:"nodes" required:"" placeholder:"A,B" help:"Score the nodes with these ids."`
	Nodes string   `file:"read" xor:"nodes" required:"" placeholder:"FILE" help:"Score the nodes of a table with a column id."`
	nodeColumns
	textForm
	Format print.Format `default:"table" placeholder:"FORMAT" help:"table, csv, tsv, json, jsonl, markdown or parquet."`
	resources
}

func (*scoreCommand) Help() string {
	return `Scores nodes by the model of the last run, from the graph, the labels and the predictions as they are now. ` +
		`It writes nothing: rescore brings the stored scores up to date. A node that was added since the run has a score ` +
		`too, as soon as it has a label; if the store keeps a classifier, it predicts nodes without predictions, and ` +
		`standard error says how old it is.

A score is the chance that the label is wrong. A node without a label, or that the model cannot judge, has none; ` +
		`standard error says why.

    graphcleaner score my.graph --ids p17,p25
    graphcleaner score my.graph --nodes today.csv --format csv`
}

func (c *scoreCommand) Run(ctx context.Context, s *streams) error {
	if c.Nodes == "" && c.Columns.of != nil {
		return usagef("score: --columns names columns of --nodes: want that too")
	}
	if c.Nodes == "" && (len(c.IDs) == 0 || slices.Contains(c.IDs, "")) {
		return usagef("score: --ids has an empty id, want ids of nodes, such as p17,p25")
	}
	screen := print.ScreenOf(s.out)
	if err := c.Format.Check(screen); err != nil {
		return usagef("score: %v", err)
	}
	err := c.view(s, c.DB, func(tx *kv.Tx) error {
		if _, err := cleaner.LastRun(tx); err != nil {
			return err
		}
		nodes, err := c.find(ctx, tx, s)
		if err != nil {
			return err
		}
		unscored, predicted, first := 0, 0, ""
		rows := func(yield func([]kv.Value, error) bool) {
			opt := ops.Options{MemoryBudget: c.work(), Workers: c.Threads, Progress: s.progress.report}
			for some := range slices.Chunk(nodes, scoredAtOnce) {
				scores, err := cleaner.Score(ctx, tx, some, opt)
				if err != nil {
					yield(nil, err)
					return
				}
				for _, score := range scores {
					if score.Predicted {
						predicted++
					}
					if score.Lack != "" {
						unscored++
						first = cmp.Or(first, query.Quote(score.ID)+": "+score.Lack)
					}
					if row, err := scoreRow(tx, score); !yield(row, err) || err != nil {
						return
					}
				}
			}
		}
		_, err = print.Render(s.out, query.NewResult(nowColumns(tx), rows), c.Format, screen)
		if unscored > 0 {
			s.caution(fmt.Sprintf("%s no score, such as %s", wording.Count(unscored, "node has", "nodes have"), first))
		}
		if err == nil && predicted > 0 {
			s.say("%s without stored predictions predicted by the kept classifier", wording.Nodes(predicted))
		}
		return err
	})
	return c.inFlags(err)
}

// scoredAtOnce is how many nodes are scored before their scores are printed.
const scoredAtOnce = 1 << 12

// find finds the nodes to score.
func (c *scoreCommand) find(ctx context.Context, tx *kv.Tx, s *streams) (nodes []kv.NodeID, err error) {
	if c.Nodes != "" {
		return files.ReadNodes(stream.WithInput(ctx, s.in), tx, c.Nodes, files.Job{
			Memory: c.work(), Progress: s.progress.report, Notice: s.notice, Columns: c.Columns.of, Text: c.text(),
		})
	}
	for _, id := range c.IDs {
		v, err := nodeOf(tx, id)
		if err != nil {
			return nil, fmt.Errorf("score: %w", err)
		}
		nodes = append(nodes, v)
	}
	return nodes, nil
}

// nodeOf finds the node that the command line names.
func nodeOf(tx *kv.Tx, id string) (kv.NodeID, error) {
	v, err := tx.Node(id)
	if errors.Is(err, kv.ErrNotFound) {
		return v, fmt.Errorf("the store has no node %s", query.Quote(wording.Cut(id, kv.MaxID)))
	}
	return v, err
}

// nowColumns are the columns of scores as of now.
func nowColumns(tx *kv.Tx) []query.ColumnInfo {
	return []query.ColumnInfo{
		idColumn(tx), {Name: kv.LabelColumn, Kind: kv.KindString}, {Name: cleaner.ScoreColumn, Kind: kv.KindSingle},
		{Name: cleaner.SuggestedColumn, Kind: kv.KindString}, {Name: cleaner.ConfidenceColumn, Kind: kv.KindSingle},
	}
}

func scoreRow(tx *kv.Tx, score cleaner.NodeScore) ([]kv.Value, error) {
	text := func(s string) kv.Value {
		if s == "" {
			return kv.Value{}
		}
		return kv.ValueOf(s)
	}
	id, err := tx.Value(score.Node, "id")
	numbers := []kv.Value{kv.ValueOf(score.Score), kv.ValueOf(score.Confidence)} // null if NaN
	return []kv.Value{id, text(score.Label), numbers[0], text(score.Suggestion), numbers[1]}, err
}

// rescoreCommand brings the stored scores up to date.
type rescoreCommand struct {
	DB   string `arg:"" name:"DB" help:"Directory of the store."`
	Full bool   `help:"Score all nodes again, whatever has changed."`
	resources
}

func (*rescoreCommand) Help() string {
	return `Uses the model of the last run; clean fits a new one.

First, it scores the nodes around all changes since the scores were made: changes of labels, edges and predictions, ` +
		`and added nodes. If many nodes are around changes, all nodes are scored in one pass over the graph. Nodes that ` +
		`were added without predictions are first predicted by the built-in classifier, if the store keeps one for them. ` +
		`Else they have no score, and rescore says how many they are.

If an audit has reached 25, 50, 100, … answers since then, all scores are adjusted to it, and with them the rate, ` +
		`the threshold and the suspects. Their order stays. Other decisions move the scores around them alone: they do ` +
		`not tell how many labels are wrong. The next clean learns more: it takes decided labels for the truth.

    graphcleaner review my.graph
    graphcleaner rescore my.graph`
}

func (c *rescoreCommand) Run(ctx context.Context, s *streams) error {
	var done *cleaner.Rescoring
	err := c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		done, err = cleaner.Rescore(ctx, store, cleaner.RescoreOptions{
			Full: c.Full, Workers: c.Threads, MemoryBudget: c.work(), Progress: s.progress.report, OnStage: s.stages.add,
			Notice: s.notice,
		})
		return err
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s has the scores it had before; run rescore again to go on",
			c.DB)
	}
	for _, line := range wording.Rescored(done) {
		if err := s.printf("%s: %s\n", c.DB, line); err != nil {
			return err
		}
	}
	return nil
}

// rescoring is the flag of commands that bring scores up to date after each decision.
type rescoring struct {
	NoRescore bool `help:"Leave the scores as they are after decisions, until rescore or clean."`
}
