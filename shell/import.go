package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// importCommand makes a store of files, or adds predictions, features, splits or decisions to one.
type importCommand struct {
	DB string `arg:"" file:"read" name:"DB" help:"Directory of the store."`
	graphFiles
	Decisions string `file:"read" placeholder:"FILE" help:"Decisions about labels, for an existing store: a table with id and label."`
	Append    bool   `help:"Add the files to the existing store."`
	Replace   bool   `help:"Replace the existing store by a new one from --nodes and --edges."`
	Yes       bool   `short:"y" help:"Answer yes to the question."`
	stageFile
	resources
}

func (*importCommand) Help() string {
	return `Tables are ` + table.Kinds + `; their header names the columns. The nodes file has a column id. ` +
		`The columns label and split are optional. An empty label is an unlabelled node. Every other column becomes a ` +
		`property. The edges file has columns with the names src and dst. It may also be an .npy of integers, [m×2] or ` +
		`[2×m] as the edge_index of PyG: the ids of both ends. Self loops are dropped and parallel edges are collapsed. ` +
		`The import reports the number of both. Edges have no direction, unless --directed gives them one. A column ` +
		`weight, of numbers greater than 0, makes the graph weighted; the weights of parallel edges then add up.

--columns id=paper_id,label=subject takes the columns of the nodes file that have other names, and --edge-columns ` +
		`src=source,dst=target those of the edges file. --columns also gives a property another name than its column has: ` +
		`rank=score. Other tables may name their columns as the nodes file does, or id, label and split. A backslash ` +
		`before a comma takes it as a part of a name. A number stands for the column at that place.

A table may be a directory of files, which are read as one, as Spark writes it. One table may be -, standard input. ` +
		`The page docs/formats.md has the forms of tables, arrays and predictions, and the headers of neo4j-admin.

Predictions are the class probabilities of your own classifier. A .npy or .npz file has one row a node, in the ` +
		`order of the nodes file, and one column a class, in the order in which the statement 'classes' lists them, or in ` +
		`that of --prediction-classes. A table has the header id,CLASS,CLASS,… and any order. Nodes may have no row: clean ` +
		`takes the built-in classifier's predictions for them.

--scores and --run make a store of a part of a graph that was cleaned elsewhere, such as on a cluster, with the ` +
		`scores of that run. The nodes file has the nodes that people look at, and some around them. suspects, review, ` +
		`gate, decisions and exports work as after clean. --scores has a row for each node: ` +
		`id,given_label,score,suggested_label,confidence. The run names the classes. export verdicts has what the next ` +
		`run elsewhere should know.

--append adds nodes and edges to the existing store, all of them or nothing. A known id takes the label and the ` +
		`properties of its row: an empty cell takes the value away, and a column that the file does not have stays as it ` +
		`is. A label that somebody has decided about stays. Decisions, history, indexes, runs and scores stay. ` +
		`--predictions of --append are rows of some nodes: a table names them by id, and a .npy or .npz has one row for ` +
		`each row of the nodes file.

Without --nodes, the files go into the existing store and replace earlier ones. A failed import changes nothing. A ` +
		`bad row ends the import. An interrupted import starts over.

Decisions come from an export, with who, when and why, or from any table with the columns id and label. The label ` +
		`is the right one, and empty means none. Optional columns are decision (accept, reject, relabel, unlabel, ` +
		`unsure), who, why, time, and from: the label that the decision was about. Of each person, the last decision ` +
		`about a node counts. import skips and counts a decision if the store has it, if the store has a newer one by ` +
		`that person about the node, or if the node now has another label or suggestion. So you can import a file twice.

Ids, labels and values are taken as they are. Import reports labels such as NA, None or -1, which often mean that a ` +
		`node has none: --unlabelled NA,-1 makes them no label.

    graphcleaner import my.graph --nodes nodes.parquet --edges edges.csv.gz --features words.npz --splits split.csv
    graphcleaner import my.graph --nodes papers.csv --columns id=paper_id,label=subject --edges cites.csv ` +
		`--edge-columns src=source,dst=target
    graphcleaner import my.graph --nodes nodes.parquet/ --edges edges/ --directed
    graphcleaner import my.graph --nodes nodes.csv --edges edges.npy --unlabelled NA,unknown
    graphcleaner import my.graph --append --nodes today.csv --edges today-edges.csv
    graphcleaner import my.graph --predictions softmax.npy --prediction-classes spam,ham,'one\, two'
    graphcleaner import my.graph --decisions decisions.csv
    graphcleaner import my.graph --nodes nodes.csv --edges edges.csv --replace --yes`
}

func (c *importCommand) Run(ctx context.Context, s *streams) error {
	ctx = stream.WithInput(ctx, s.in)
	if err := cmp.Or(checkPredictionClasses(c.PredictionClasses, c.NoHeader, c.Predictions),
		c.checkEdgeColumns(c.Edges)); err != nil {
		return err
	}
	if err := c.checkElsewhere(); err != nil {
		return err
	}
	if c.Append {
		return c.appendTo(ctx, s)
	}
	if c.Decisions != "" {
		return c.adopt(ctx, s)
	}
	if c.Nodes == "" && c.Edges == "" {
		return c.addTo(ctx, s)
	}
	if c.Nodes == "" || c.Edges == "" {
		return usagef("import: a new store needs both --nodes and --edges")
	}
	occupied, err := isOccupied(c.DB)
	if err != nil {
		return err
	}
	switch {
	case occupied && !c.Replace:
		return usagef("import: %s is there already: want another directory, --replace to make it anew, or --append to add "+
			"to it", c.DB)
	case occupied:
		return c.replace(ctx, s)
	}
	return c.make(ctx, s)
}

// checkElsewhere returns a usage error if the flags for a run that was made elsewhere make no sense.
func (c *importCommand) checkElsewhere() error {
	switch {
	case c.Scores == "" && c.RunFile == "":
		return nil
	case c.Scores == "" || c.RunFile == "":
		return usagef("import: --scores are of the run that --run describes: want both of them")
	case c.Append || c.Decisions != "" || c.Nodes == "" || c.Edges == "" || c.Predictions == "":
		return usagef("import: --scores and --run make a new store, with --nodes, --edges and --predictions, and without " +
			"--append and --decisions")
	case len(c.Classes) > 0 || c.Unlabelled != nil:
		return usagef("import: --run names the classes, so it goes without --classes and --unlabelled")
	}
	return nil
}

// make makes a store where none is and reports what is in it.
func (c *importCommand) make(ctx context.Context, s *streams) (err error) {
	stats, err := c.load(ctx, c.DB, s.job(c.Threads, int64(c.Memory)))
	if err != nil {
		return leaving(err, "there is no %s", c.DB)
	}
	return c.report(stats, s)
}

// report says what is in the store that was made.
func (c *importCommand) report(stats kv.Stats, s *streams) error {
	s.stages.end("close")
	edges, kind, verb := stats.Edges, "", "collapsed"
	if c.Directed {
		edges, kind = stats.Arcs, "directed "
	}
	if stats.Weighted {
		verb = "added up"
	}
	return s.printDone(c.DB, "%s, %s (%s dropped, %s %s), %d labelled, %s", wording.Nodes(stats.Nodes),
		wording.Count(edges, kind+"edge", kind+"edges"), wording.Count(stats.SelfLoops, "self loop", "self loops"),
		wording.Count(stats.ParallelEdges, "parallel edge", "parallel edges"), verb, stats.Labelled,
		wording.Count(stats.Classes, "class", "classes"))
}

// replace makes the new store beside the old one, which stays, closed to others who write, until the new one is
// complete and takes its place.
func (c *importCommand) replace(ctx context.Context, s *streams) (err error) {
	var stats kv.Stats
	// A store that is open to read excludes writers, and closing it touches no file, wherever it has been moved to.
	err = c.withStoreHeld(ctx, s, func(old *kv.Store) error {
		if err := old.CheckOwnFiles(); err != nil {
			return fmt.Errorf("%w: nothing is replaced: move it elsewhere first", err)
		}
		if err := s.agree(ctx, c.Yes, fmt.Sprintf("Replace %s, with all scores and decisions in it?", c.DB),
			errors.New("not replaced (--yes answers)")); err != nil {
			return err
		}
		err := atomic.Replace(c.DB, func(dir string) (err error) {
			stats, err = c.load(ctx, dir, s.job(c.Threads, int64(c.Memory)))
			return err
		})
		return leaving(err, "%s is as it was", c.DB)
	})
	if err != nil {
		return err
	}
	return c.report(stats, s)
}

// withStoreHeld runs fn while the store is open to read, so that nobody can write to it.
func (c *importCommand) withStoreHeld(ctx context.Context, s *streams, fn func(*kv.Store) error) error {
	var store *kv.Store
	err := c.untilFree(ctx, s, func(time.Duration) (err error) {
		if store, err = c.open(c.DB, toRead); err == nil && !store.ReadOnly() { // it had crashed, and is mended
			if err = store.Close(); err == nil {
				store, err = c.open(c.DB, toRead)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("only a store that nobody writes to can be replaced: %w", err)
	}
	return errors.Join(fn(store), store.Close())
}

// addTo writes predictions, features and splits into a store that is there.
func (c *importCommand) addTo(ctx context.Context, s *streams) error {
	switch {
	case c.Replace || len(c.Classes) > 0 || c.Directed:
		return usagef("import: --replace, --classes and --directed need --nodes and --edges")
	case c.Unlabelled != nil:
		return usagef("import: --unlabelled needs --nodes or --decisions: it is about the labels in those files")
	case c.Features == "" && c.Predictions == "" && c.Splits == "":
		return usagef("import: nothing to import, want --nodes and --edges for a new store, or files for one that is there")
	}
	var parts []string
	err := c.use(s, c.DB, toRebuild, func(store *kv.Store) (err error) {
		parts, err = c.graph().Add(ctx, store, c.of(s.job(0, c.work())))
		return err
	})
	if err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	if err = s.printDone(c.DB, "wrote %s", strings.Join(parts, " and ")); err == nil {
		s.sayNext("clean", c.DB)
	}
	return err
}

// appendTo adds nodes and edges to a store that is there.
func (c *importCommand) appendTo(ctx context.Context, s *streams) error {
	switch {
	case c.Replace:
		return usagef("import: --append keeps the store that --replace makes anew: want one of them")
	case c.Decisions != "":
		return usagef("import: --decisions go into a store that is there, and alone: append the rest before")
	case c.Splits != "" || c.Features != "" || c.Directed || len(c.Classes) > 0:
		return usagef("import: --splits, --features, --directed and --classes do not go with --append: it adds to what " +
			"the store has")
	case c.Nodes == "" && c.Edges == "" && c.Predictions == "":
		return usagef("import: nothing to append, want --nodes, --edges or --predictions")
	case c.Nodes == "" && c.Unlabelled != nil:
		return usagef("import: --unlabelled needs --nodes: it is about the labels in that file")
	case c.Nodes == "" && files.IsArray(c.Predictions):
		return usagef("import: with --append, the rows of a .npy or .npz are those of --nodes: want that, or a table with id")
	}
	var added files.Appendage
	err := c.use(s, c.DB, toRebuild, func(store *kv.Store) (err error) {
		added, err = c.graph().Append(ctx, store, c.of(s.job(c.Threads, c.work())))
		s.stages.end("append")
		return err
	})
	if err != nil {
		return leaving(err, "%s is as it was", c.DB)
	}
	err = s.printDone(c.DB, "%s and %s added (%s and %s were there, %s dropped, %s in the file)%s",
		wording.Nodes(added.Nodes), wording.Count(added.Edges, "edge", "edges"),
		wording.Nodes(added.Known), wording.Count(added.Present, "edge", "edges"),
		wording.Count(added.SelfLoops, "self loop", "self loops"),
		wording.Count(added.ParallelEdges, "parallel edge", "parallel edges"),
		changedText(added))
	s.sayLeftOut(added.Decided, "labels of nodes that somebody has decided about")
	return err
}

// changedText says what an append wrote beside nodes and edges, such as ", 2 labels changed, 1 row of predictions".
func changedText(a files.Appendage) (text string) {
	if a.Relabelled > 0 {
		text += ", " + wording.Count(a.Relabelled, "label changed", "labels changed")
	}
	if a.Predictions > 0 {
		text += ", " + wording.Count(a.Predictions, "row of predictions", "rows of predictions")
	}
	return text
}

// isOccupied says whether something other than an empty directory is at a path.
func isOccupied(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, fmt.Errorf("%s is a file, want a directory", path)
	}
	entries, err := os.ReadDir(path)
	return len(entries) > 0, err
}

// adopt decides in the store that is there as a file says.
func (c *importCommand) adopt(ctx context.Context, s *streams) error {
	if err := c.Columns.of.Only(files.FiledFields()...); err != nil {
		return usagef("import: --columns: %v", err)
	}
	if c.graphFiles.any() || c.Replace {
		return usagef("import: --decisions go into a store that is there, and alone: import the rest before")
	}
	var adoption files.Adoption
	err := c.use(s, c.DB, toWrite, func(store *kv.Store) (err error) {
		adoption, err = files.Adopt(ctx, store, c.Decisions,
			files.Adopting{Job: c.of(s.job(0, c.work())), Who: query.UserName(), Form: c.form()})
		s.stages.end("decide")
		return err
	})
	if err != nil {
		return leaving(c.inFlags(err), "%s is as it was", c.DB)
	}
	err = s.printDone(c.DB, "%s taken in %s, %d were there", wording.Count(adoption.Count, "decision", "decisions"),
		wording.Count(adoption.Steps, "step", "steps"), adoption.There)
	s.sayLeftOut(adoption.Older, "older than what the store has decided itself")
	s.sayLeftOut(adoption.Other, "about another label or suggestion than the store has")
	return err
}

// sayLeftOut says which decisions of a file were not taken, and why.
func (s *streams) sayLeftOut(l files.LeftOut, why string) {
	if l.Count == 0 {
		return
	}
	more := ""
	if l.Count > len(l.Some) {
		more = fmt.Sprintf(" and %d more", l.Count-len(l.Some))
	}
	s.say("%d left out, %s: %s%s", l.Count, why, strings.Join(l.Some, ", "), more)
}
