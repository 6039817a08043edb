package files

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// An Appendage is what became of files that were added to a store.
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
	before := func(tx *kv.Tx) error {
		classes = slices.Clone(tx.Classes())
		return nil
	}
	if err := store.View(before); err != nil {
		return result, err
	}
	a := &appending{Graph: g, Job: r, store: store}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.open(ctx); err != nil {
		return result, err
	}
	patch, err := store.NewPatch(a.options())
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, patch.Abort()) }()
	if err := a.fill(ctx, patch); err != nil {
		return result, a.explain(err)
	}
	if result.Stats, err = a.commit(ctx, patch); err != nil {
		return result, err
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
	Job
	store *kv.Store
	nodes *nodesFile // nil without one
	edges edgesFile  // nil without one

	rows        int                       // of the nodes file
	predictions *cleaner.PredictionWriter // nil without any
	written     int64                     // of their rows
	relabelled  int64
	decided     LeftOut
}

// open opens the files, and compares what they have with the store.
func (a *appending) open(ctx context.Context) (err error) {
	kinds := map[string]kv.Kind{}
	weighted := false
	err = a.store.View(func(tx *kv.Tx) error {
		for _, column := range tx.Columns() {
			kinds[column.Name] = column.Kind
		}
		weighted = tx.Shape().Weighted
		return nil
	})
	if err == nil && a.Nodes != "" {
		a.nodes, err = a.openNodes(ctx, kinds, a.Job)
	}
	if err == nil && a.Edges != "" {
		if a.edges, err = openEdges(ctx, a.Edges, a.Job); err == nil {
			a.places.edges, a.places.edgeParts = a.Edges, a.edges.parts()
		}
	}
	if err == nil && a.edges != nil && a.edges.weighted() && !weighted {
		err = fmt.Errorf("%s: has a column weight, and the edges of the store have no weights", a.Edges)
	}
	return err
}

func (a *appending) close() (err error) {
	if a.nodes != nil {
		err = a.nodes.in.Close()
	}
	if a.edges != nil {
		err = errors.Join(err, a.edges.close())
	}
	return err
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
func (a *appending) putRows(ctx context.Context, tx *kv.Tx, write func(matrix string, v kv.NodeID, row []float32) error) error {
	if _, err := tx.Matrix(cleaner.PredictionsMatrix); errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("%s: the store has no predictions to add to, import those of all nodes", a.Predictions)
	}
	a.written = 0
	w := &writing{Job: a.Job, tx: tx, nodes: a.Nodes, classes: a.PredictionClasses, rows: a.rowsOf(ctx, tx), count: a.rows}
	w.begin = func(classes []string, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error) {
		return cleaner.AppendPredictions(tx, classes, opt, func(matrix string, v kv.NodeID, row []float32) error {
			a.written++
			return write(matrix, v, row)
		})
	}
	return a.Timed("append predictions", func(stage *ops.Stage) (err error) {
		a.predictions, err = w.predictions(ctx, a.Predictions, cleaner.PredictionOptions{Logits: a.Logits}, stage)
		return err
	})
}

// rowsOf yields the nodes of the rows of the nodes file, which it reads again.
func (a *appending) rowsOf(ctx context.Context, tx *kv.Tx) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if a.nodes == nil {
			return
		}
		in, err := table.Open(ctx, a.places.nodeParts, a.Memory)
		if err != nil {
			yield(0, err)
			return
		}
		defer in.Close() //nolint:errcheck // it was only read
		for row, err := range in.Rows() {
			var v kv.NodeID
			if err == nil {
				v, err = tx.Node(string(row.Fields[a.nodes.id]))
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
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

// fill hands the rows of the files to a patch.
func (a *appending) fill(ctx context.Context, patch *kv.Patch) error {
	if a.nodes != nil {
		err := a.Timed("read nodes", func(stage *ops.Stage) error {
			add := func(n kv.Node) error {
				a.rows++
				return patch.AddNode(n)
			}
			err := a.nodes.read(ctx, add, a.Job)
			stage.Columns, stage.BytesRead = len(a.nodes.in.Header()), a.nodes.in.Offset()
			return err
		})
		if err != nil {
			return err
		}
	}
	if a.edges == nil {
		return nil
	}
	return a.Timed("read edges", func(stage *ops.Stage) (err error) {
		stage.Edges, stage.BytesRead, err = patchEdges(ctx, a.edges, addedEdges{patch}, a.Job)
		stage.Columns = 2
		return err
	})
}

// patchEdges hands the edges of a file to one taker.
func patchEdges(ctx context.Context, in edgesFile, to edgeTaker, r Job) (edges, bytesRead int64, err error) {
	r.Workers = 1 // a patch is for one goroutine
	edges, err = in.read(ctx, []edgeTaker{to}, r)
	return edges, in.offset(), err
}

// addedEdges adds edges to a patch.
type addedEdges struct{ *kv.Patch }

func (e addedEdges) Add(src, dst string, source int64) error { return e.AddEdge(src, dst, source) }

// removedEdges removes edges by a patch, whatever their weights.
type removedEdges struct{ *kv.Patch }

func (e removedEdges) Add(src, dst string, source int64) error { return e.RemoveEdge(src, dst, source) }

func (e removedEdges) AddWeighted(src, dst string, _ float32, source int64) error {
	return e.RemoveEdge(src, dst, source)
}

// commit commits a patch as a stage of its own.
func (a *appending) commit(ctx context.Context, patch *kv.Patch) (stats kv.Stats, err error) {
	err = a.Timed("commit", func(stage *ops.Stage) error {
		stats, err = patch.Commit(ctx)
		stage.Edges = stats.Edges
		return err
	})
	return stats, a.explain(err)
}

// explain is rowPlaces.explain of the files.
func (a *appending) explain(err error) error {
	want := "ids of the store"
	if a.Nodes != "" {
		want += " or of " + a.Nodes
	}
	return a.places.explain(err, want)
}
