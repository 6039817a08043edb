package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// checkEvery is how many rows are read between two looks at the context.
const checkEvery = 4096

// graphFiles are the files that a graph is read from.
type graphFiles struct {
	Nodes       string   `placeholder:"FILE" help:"Nodes: id, and label, split or any properties."`
	Edges       string   `placeholder:"FILE" help:"Edges: src, dst."`
	Features    string   `placeholder:"FILE" help:"Features: .npy, a scipy CSR .npz, or a table with id and a column a feature."`
	Predictions string   `placeholder:"FILE" help:"Predictions of your classifier: .npy or .npz in the order of the nodes file, or a table with id and a column a class."`
	Splits      string   `placeholder:"FILE" help:"Splits: id, split (train, val, test or none)."`
	Logits      bool     `help:"The predictions are logits: turn them into probabilities."`
	Classes     []string `placeholder:"A,B" help:"Classes that there are beside those of the labels."`
}

// A reading is what the steps of reading files have in common.
type reading struct {
	s      *streams
	stages *stageLog
}

// load makes a store at dir, which nothing is at, of the files. A failure leaves nothing.
func (g *graphFiles) load(ctx context.Context, dir string, memory int64, r reading) (stats kv.LoadStats, err error) {
	nodes, err := openNodes(ctx, g.Nodes, r)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, nodes.in.Close()) }()
	if g.Splits != "" && nodes.split >= 0 {
		return stats, usagef("%s has a column split, and --splits gives another: want one of them", g.Nodes)
	}
	edges, err := openEdges(g.Edges, r)
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, edges.in.Close()) }()

	loader, err := kv.NewLoader(dir, kv.LoadOptions{
		MemoryBudget: memory,
		Properties:   nodes.properties,
		Classes:      g.Classes,
		Progress:     r.s.progress.report(),
		OnStage:      r.stages.add,
	})
	if err != nil {
		return stats, placeError(dir, err)
	}
	defer func() { err = errors.Join(err, loader.Abort()) }()

	err = r.stages.timed("read nodes", func(stage *kv.Stage) error {
		err := nodes.read(ctx, loader, r)
		stage.Columns, stage.BytesRead = len(nodes.in.Header()), nodes.in.Offset()
		return err
	})
	if err != nil {
		return stats, g.explain(err)
	}
	err = r.stages.timed("read edges", func(stage *kv.Stage) (err error) {
		stage.Edges, err = edges.read(ctx, loader, r)
		stage.Columns, stage.BytesRead = 2, edges.in.Offset()
		return err
	})
	if err != nil {
		return stats, err
	}
	stats, err = loader.Commit(ctx, func(store *kv.Store) error {
		if _, err := g.add(ctx, store, r); err != nil {
			return err
		}
		return r.stages.timed("index", func(stage *kv.Stage) error {
			stage.Columns = 1
			return index.Create(ctx, store, kv.LabelColumn)
		})
	})
	return stats, g.explain(err)
}

// placeError says what is wrong with the place that a store was to be made at.
func placeError(dir string, err error) error {
	if refused, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s cannot be made: %s: %w", dir, filepath.Dir(refused.Path), refused.Err)
	}
	return err
}

// explain says at which line of which file is what the loader found wrong.
func (g *graphFiles) explain(err error) error {
	at := &table.Error{Err: err}
	if duplicate, ok := errors.AsType[*kv.DuplicateNodeError](err); ok {
		at.Path, at.Line, at.Column = g.Nodes, duplicate.Second, "id"
		at.Msg = fmt.Sprintf("got %q again, as in line %d, want every id once", duplicate.ID, duplicate.First)
		return at
	}
	if unknown, ok := errors.AsType[*kv.UnknownNodeError](err); ok {
		at.Path, at.Line = g.Edges, unknown.Source
		at.Msg = fmt.Sprintf("got an edge of node %q, want ids that %s has", unknown.ID, g.Nodes)
		return at
	}
	if invalid, ok := errors.AsType[*kv.InvalidNodeError](err); ok {
		at.Path, at.Line = g.Nodes, invalid.Source
		at.Msg = strings.TrimPrefix(invalid.Err.Error(), "kv: ") // it is the file that is wrong
		return at
	}
	return err
}

// add writes features, predictions and splits, those that are given, into a store, all of them or none. It returns what
// it wrote.
func (g *graphFiles) add(ctx context.Context, store *kv.Store, r reading) (added []string, err error) {
	if g.Features == "" && g.Predictions == "" && g.Splits == "" {
		return nil, nil
	}
	bulk, err := store.Bulk()
	if err != nil {
		return nil, err
	}
	defer bulk.Abort()
	w := writing{reading: r, bulk: bulk, tx: bulk.Tx()}
	if g.Splits != "" {
		if err := r.stages.timed("splits", func(stage *kv.Stage) error { return w.splits(ctx, g.Splits, stage) }); err != nil {
			return nil, err
		}
		added = append(added, "splits")
	}
	if g.Features != "" {
		err := r.stages.timed("import features", func(stage *kv.Stage) error { return w.features(ctx, g.Features, stage) })
		if err != nil {
			return nil, err
		}
		added = append(added, "features")
	}
	mark := func(*kv.Tx) error { return nil }
	if g.Predictions != "" {
		var predictions *cleaner.PredictionWriter
		err := r.stages.timed("import predictions", func(stage *kv.Stage) (err error) {
			predictions, err = w.predictions(ctx, g.Predictions, g.Logits, stage)
			return err
		})
		if err != nil {
			return nil, err
		}
		mark = predictions.Mark
		added = append(added, "predictions")
	}
	return added, r.stages.timed("commit", func(*kv.Stage) error { return bulk.Commit(mark) })
}

// nodesFile is a nodes file whose columns are known.
type nodesFile struct {
	in               *table.Reader
	id, label, split int // columns; label and split are -1 where there are none
	properties       []kv.Column
	columns          []int // of the properties
}

// openNodes opens a nodes file and decides, by reading it once, of which kind its properties are.
func openNodes(ctx context.Context, path string, r reading) (_ *nodesFile, err error) {
	in, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	n := &nodesFile{in: in, id: in.Column("id"), label: in.Column("label"), split: in.Column("split")}
	if n.id < 0 {
		return nil, noColumn(in, "id")
	}
	var kinds []kindGuess
	for i, name := range in.Header() {
		switch {
		case i == n.id || i == n.label:
			continue
		case i == n.split:
			name = "split"
		case slices.ContainsFunc(kv.ReservedNames, func(reserved string) bool { return strings.EqualFold(reserved, name) }):
			return nil, in.Errorf(1, name, "is the name of a built-in property, want another")
		}
		n.properties = append(n.properties, kv.Column{Name: name, Kind: kv.KindString})
		n.columns = append(n.columns, i)
		kinds = append(kinds, newKindGuess())
	}
	if len(n.columns) == 0 || len(n.columns) == 1 && n.split >= 0 {
		return n, nil
	}
	err = r.stages.timed("property kinds", func(stage *kv.Stage) error {
		stage.Columns, stage.BytesRead = len(n.columns), n.in.Size()
		return n.guess(ctx, kinds, r)
	})
	return n, err
}

// guess reads the file once, through a reader of its own.
func (n *nodesFile) guess(ctx context.Context, kinds []kindGuess, r reading) (err error) {
	in, err := table.Open(n.in.Path())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	err = eachRow(ctx, in, r, func(row table.Row) error {
		for k, column := range n.columns {
			kinds[k].see(row.Fields[column])
		}
		return nil
	})
	for k, column := range n.columns {
		if column != n.split {
			n.properties[k].Kind = kinds[k].kind()
		}
	}
	return err
}

// read hands the nodes to a loader.
func (n *nodesFile) read(ctx context.Context, loader *kv.Loader, r reading) error {
	var node kv.Node
	classes := make(map[string]string) // one copy of each name
	return eachRow(ctx, n.in, r, func(row table.Row) error {
		if len(row.Fields[n.id]) == 0 {
			return n.in.Want(row, n.id, "an id")
		}
		node.ID, node.Label, node.Source = string(row.Fields[n.id]), "", row.Line
		if n.label >= 0 {
			label, ok := classes[string(row.Fields[n.label])]
			if !ok {
				label = string(row.Fields[n.label])
				classes[label] = label
			}
			node.Label = label
		}
		// A fresh slice, because the loader may keep it.
		node.Values = make([]kv.Value, len(n.columns))
		for k, column := range n.columns {
			if column == n.split {
				if _, err := cleaner.ParseSplit(string(row.Fields[column])); err != nil {
					return n.in.Want(row, column, "train, val, test or none")
				}
			}
			value, ok := parseValue(n.properties[k].Kind, row.Fields[column])
			if !ok {
				return n.in.Want(row, column, valueName(n.properties[k].Kind))
			}
			node.Values[k] = value
		}
		return loader.AddNode(node)
	})
}

// edgesFile is an edges file whose columns are known.
type edgesFile struct {
	in       *table.Reader
	src, dst int
}

func openEdges(path string, r reading) (*edgesFile, error) {
	in, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	e := &edgesFile{in: in, src: in.Column("src"), dst: in.Column("dst")}
	switch {
	case e.src < 0:
		return nil, errors.Join(noColumn(in, "src"), in.Close())
	case e.dst < 0:
		return nil, errors.Join(noColumn(in, "dst"), in.Close())
	}
	var extra []string
	for i, name := range in.Header() {
		if i != e.src && i != e.dst {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		r.s.say("%s: edges have no properties, so these columns are left out: %s", path, strings.Join(extra, ", "))
	}
	return e, nil
}

// read hands the edges to a loader and returns how many there were.
func (e *edgesFile) read(ctx context.Context, loader *kv.Loader, r reading) (edges int64, err error) {
	var from string // of the edge before: files are mostly sorted by it
	err = eachRow(ctx, e.in, r, func(row table.Row) error {
		for _, column := range []int{e.src, e.dst} {
			if len(row.Fields[column]) == 0 {
				return e.in.Want(row, column, "the id of a node")
			}
		}
		if from != string(row.Fields[e.src]) {
			from = string(row.Fields[e.src])
		}
		edges++
		return loader.AddEdge(from, string(row.Fields[e.dst]), row.Line)
	})
	return edges, err
}

// eachRow calls fn for every row of a file, showing how far it is.
func eachRow(ctx context.Context, in *table.Reader, r reading, fn func(table.Row) error) error {
	report := r.s.progress.report()
	stage := readStage + filepath.Base(in.Path())
	count := 0
	for row, err := range in.Rows() {
		if err != nil {
			return err
		}
		if count%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if report != nil {
				report(stage, in.Offset(), in.Size())
			}
		}
		count++
		if err := fn(row); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func noColumn(in *table.Reader, name string) error {
	return in.Errorf(1, "", "has no column %q, got %s", name, strings.Join(in.Header(), ","))
}
