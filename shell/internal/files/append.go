package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// An Appendage is the outcome of adding files to a store.
type Appendage struct {
	kv.Stats
	Relabelled  int64   // nodes that were there, and have another label, or none, since
	Predictions int64   // rows that were written
	Decided     LeftOut // rows whose labels were left out, because somebody has decided about the nodes
}

// Append adds the nodes and edges of the files to a store, all of them or nothing. Known ids take the labels and
// properties of the nodes file. A label that a decision gave, or left as it was, stays.
func (g *Graph) Append(ctx context.Context, store *kv.Store, r Job) (result Appendage, err error) {
	var classes []string
	kinds, weighted := map[string]kv.Kind{}, false
	err = store.View(func(tx *kv.Tx) error {
		classes, weighted = slices.Clone(tx.Classes()), tx.Shape().Weighted
		for _, column := range tx.Columns() {
			kinds[column.Name] = column.Kind
		}
		return nil
	})
	if err != nil {
		return result, err
	}
	a := &appending{Graph: g, graphFiles: graphFiles{Job: r, path: g.Edges, want: "ids of the store"}}
	defer func() { err = errors.Join(err, a.close()) }()
	if g.Nodes != "" {
		a.want += " or of " + g.Nodes
		if a.nodes, err = g.openNodes(ctx, kinds, r); err != nil {
			return result, err
		}
	}
	if a.edges, err = openEdges(ctx, g.Edges, r); err != nil {
		return result, err
	}
	if a.edges != nil && a.edges.weighted() && !weighted {
		return result, fmt.Errorf("%s: has a column weight, and the edges of the store have no weights", g.Edges)
	}
	patch, err := store.NewPatch(a.options())
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, patch.Abort()) }()
	add := func(n kv.Node) error {
		a.rows++
		return patch.AddNode(n)
	}
	addEdge := patch.AddWeighted
	if a.edges == nil || !a.edges.weighted() {
		addEdge = func(src, dst string, _ float32, source int64) error { return patch.AddEdge(src, dst, source) }
	}
	if err = a.read(ctx, add, func() []edgeTaker { return []edgeTaker{{add: addEdge}} }); err == nil {
		err = a.Timed("commit", func(stage *ops.Stage) (err error) {
			result.Stats, err = patch.Commit(ctx)
			stage.Edges = result.Edges
			return err
		})
	}
	if err != nil {
		return result, a.explain(err)
	}
	result.Relabelled, result.Decided, result.Predictions = a.relabelled, a.decided, a.written
	return result, store.View(func(tx *kv.Tx) error {
		if len(tx.Classes()) > len(classes) {
			r.sayClasses(tx, a.nodes, append([]string{}, classes...)) // not nil
		}
		return nil
	})
}

// An appending adds files to a store.
type appending struct {
	*Graph
	graphFiles

	rows        int                       // of the nodes file
	predictions *cleaner.PredictionWriter // nil without any
	written     int64                     // of their rows
	relabelled  int64
	decided     LeftOut
}

func (a *appending) options() kv.PatchOptions {
	opt := kv.PatchOptions{Progress: a.Progress}
	if a.nodes != nil {
		opt.Labels, opt.Properties = a.nodes.label >= 0, a.nodes.properties
	}
	if opt.Labels {
		opt.Known = a.keepDecided
	}
	if a.Predictions != "" {
		opt.Rows = a.putRows
		opt.Finish = func(tx *kv.Tx) error { return a.predictions.Mark(tx) }
	}
	return opt
}

// putRows writes the predictions of the file. The rows of an array are those of the nodes file.
func (a *appending) putRows(
	ctx context.Context, tx *kv.Tx, write func(matrix string, v kv.NodeID, row []float32) error,
) error {
	if _, err := tx.Matrix(cleaner.PredictionsMatrix); errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("%s: the store has no predictions to add to, import those of all nodes", a.Predictions)
	}
	a.written = 0
	w := &writing{Job: a.Job, tx: tx, nodes: a.Nodes, classes: a.PredictionClasses, count: a.rows}
	w.rows = func(fn func(kv.NodeID) error) error { return a.eachNode(ctx, tx, fn) }
	w.begin = func(classes []string, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error) {
		return cleaner.AppendPredictions(tx, classes, opt, func(matrix string, v kv.NodeID, row []float32) error {
			if matrix == cleaner.PredictionsMatrix { // not the joined rows beside
				a.written++
			}
			return write(matrix, v, row)
		})
	}
	return a.Timed("append predictions", func(stage *ops.Stage) (err error) {
		a.predictions, err = w.predictions(ctx, a.Predictions, cleaner.PredictionOptions{Logits: a.Logits}, stage)
		return err
	})
}

// eachNode calls fn for the nodes of the rows of the nodes file, which it reads again.
func (a *appending) eachNode(ctx context.Context, tx *kv.Tx, fn func(kv.NodeID) error) error {
	if a.nodes == nil {
		return nil
	}
	in, err := a.nodes.in.Again(ctx)
	if err != nil {
		return err
	}
	err = EachRow(ctx, in, nil, func(row table.Row) error {
		v, err := tx.Node(string(row.Fields[a.nodes.id]))
		if err != nil {
			return err
		}
		return fn(v)
	})
	return errors.Join(err, in.Close())
}

// keepDecided gives the row of a node that somebody has decided about the label of the node, and counts the other
// labels that change.
func (a *appending) keepDecided(tx *kv.Tx, v kv.NodeID, n *kv.Node) error {
	label, err := tx.Value(v, kv.LabelColumn)
	if err != nil || label.Str() == n.Label {
		return err
	}
	decision, err := tx.Value(v, decide.Column)
	if errors.Is(err, kv.ErrNoColumn) || err == nil && decision.IsNull() {
		a.relabelled++
		return nil
	}
	if err == nil {
		a.decided.add(strings.Clone(n.ID))
		n.Label = label.Str()
	}
	return err
}
