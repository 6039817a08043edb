package shell

import (
	"context"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// removeCommand removes nodes and edges from a store.
type removeCommand struct {
	DB    string `arg:"" file:"read" name:"DB" help:"Directory of the store."`
	Nodes string `file:"read" placeholder:"FILE" help:"Nodes to remove: a table with the column id."`
	Edges string `file:"read" placeholder:"FILE" help:"Edges to remove: a table with src and dst, or an .npy of integers with two columns or rows."`
	graphColumns
	resources
}

func (*removeCommand) Help() string {
	return `Removes the listed nodes, with their edges, labels, properties, predictions and features, and the listed edges. Files are ` + table.Kinds + `; other columns ` +
		`than id, src and dst do not count. An id or an edge that is not in the store is an error, and then nothing is removed. A row that is listed again counts once. In a ` +
		`directed graph the edge from src to dst goes, the opposite one stays. Directories and - are read as import reads them.

Decisions about a removed node stay in the history. Its id may come again with import --append. It is then another node, without decisions. The scores of other nodes ` +
		`stay as they are until the next rescore or clean, and their predictions until the next predict.

    graphcleaner remove my.graph --nodes retracted.csv
    graphcleaner remove my.graph --edges wrong-citations.csv`
}

func (c *removeCommand) Run(ctx context.Context, s *streams) error {
	if c.Nodes == "" && c.Edges == "" {
		return usagef("remove: nothing to remove, want --nodes, --edges or both")
	}
	if err := c.checkEdgeColumns(c.Edges); err != nil {
		return err
	}
	ctx = stream.WithInput(ctx, s.in)
	var stats kv.Stats
	err := c.use(s, c.DB, toRebuild, func(store *kv.Store) (err error) {
		stats, err = files.Remove(ctx, store, c.Nodes, c.Edges, c.of(s.job(0, c.work())))
		return err
	})
	if err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	return s.printDone(c.DB, "%s and %s removed", wording.Nodes(stats.RemovedNodes),
		wording.Count(stats.RemovedEdges, "edge", "edges"))
}
