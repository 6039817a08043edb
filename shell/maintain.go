package shell

import (
	"bufio"
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/internal/worker"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// statsCommand prints what the statement stats does.
type statsCommand struct {
	DB     string       `arg:"" name:"DB" help:"Directory of the store."`
	Format print.Format `default:"table" placeholder:"FORMAT" help:"table, csv, tsv, json, jsonl, markdown or parquet."`
	resources
}

func (*statsCommand) Help() string {
	return `Prints the numbers of nodes, edges, labels, columns, matrices and runs, and the bytes on disk.

    graphcleaner stats my.graph
    graphcleaner stats my.graph --format json`
}

func (c *statsCommand) Run(ctx context.Context, s *streams) error {
	same := shellCommand{DB: c.DB, Command: "stats", Format: c.Format, ReadOnly: true, resources: c.resources}
	return same.Run(ctx, s)
}

// compactCommand folds later changes into the blocks.
type compactCommand struct {
	DB string `arg:"" name:"DB" help:"Directory of the store."`
	resources
}

func (*compactCommand) Help() string {
	return `Changes after the import lie beside the blocks of a store. compact folds them into the blocks and frees ` +
		`room that is no longer used. Answers stay the same.

    graphcleaner compact my.graph`
}

func (c *compactCommand) Run(ctx context.Context, s *streams) error {
	err := c.use(s, c.DB, toRebuild, func(store *kv.Store) error {
		if err := store.Compact(ctx, s.progress.report); err != nil {
			return err
		}
		return index.Compact(ctx, store)
	})
	if err != nil {
		return leaving(err, "%s is whole; run compact again to go on", c.DB)
	}
	return s.printDone(c.DB, "compacted")
}

// workerCommand does steps of a cleaning for another program.
type workerCommand struct{}

func (*workerCommand) Help() string {
	return `Reads a job and its data from standard input, and writes the results to standard output. Both are frames: ` +
		`blocks of bytes with a version and a checksum. The executors of Apache Spark run it: see interop/spark. It opens ` +
		`no store and no network connection.`
}

func (*workerCommand) Run(ctx context.Context, s *streams) error {
	if err := worker.Run(ctx, build(), s.in, s.out); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// drawCommand draws a node with its neighbourhood.
type drawCommand struct {
	DB  string `arg:"" name:"DB" help:"Directory of the store."`
	ID  string `arg:"" name:"ID" help:"Id of the node."`
	Out string `short:"o" default:"-" file:"write" placeholder:"FILE" help:"File to write; - is standard output. Default: -."`
	resources
}

func (*drawCommand) Help() string {
	return `Writes an SVG, the picture that the page of review --web has: the node, its neighbours and some of theirs; ` +
		`their labels, and what they say of the label of the node. The picture is one text that needs nothing else, for ` +
		`light and dark pages. At most 150 nodes are drawn.

    graphcleaner draw my.graph p17 --out p17.svg`
}

func (c *drawCommand) Run(ctx context.Context, s *streams) error {
	var picture string
	err := c.view(s, c.DB, func(tx *kv.Tx) error {
		v, err := nodeOf(tx, c.ID)
		if err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		d, err := survey.Read(ctx, tx, v, query.Options{Workers: c.Threads, MemoryBudget: c.work()})
		if err == nil {
			picture = d.Ego.SVG()
		}
		return err
	})
	if err != nil {
		return c.inFlags(err)
	}
	return s.writeFile(c.Out, func(w *bufio.Writer) error {
		_, err := w.WriteString(picture)
		return err
	})
}

// removeCommand removes nodes and edges from a store.
type removeCommand struct {
	DB    string `arg:"" file:"read" name:"DB" help:"Directory of the store."`
	Nodes string `file:"read" placeholder:"FILE" help:"Nodes to remove: a table with the column id."`
	Edges string `file:"read" placeholder:"FILE" help:"Edges to remove: a table with src and dst, or an .npy of integers with two columns or rows."`
	graphColumns
	resources
}

func (*removeCommand) Help() string {
	return `Removes the listed nodes, with their edges, labels, properties, predictions and features, and the listed ` +
		`edges. Files are ` + table.Kinds + `; other columns ` +
		`than id, src and dst do not count. An id or an edge that is not in the store is an error, and then nothing is ` +
		`removed. A row that is listed again counts once. In a directed graph the edge from src to dst goes, the opposite ` +
		`one stays. Directories and - are read as import reads them.

Decisions about a removed node stay in the history. Its id may come again with import --append. It is then another ` +
		`node, without decisions. The scores of other nodes stay as they are until the next rescore or clean, and their ` +
		`predictions until the next predict.

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
