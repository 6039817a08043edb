package files

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// ReadPredictions hands the predictions of a file, those of g, to the writer that begin begins.
func (g *Graph) ReadPredictions(
	ctx context.Context, tx *kv.Tx, r Job,
	begin func([]string, cleaner.PredictionOptions) (*cleaner.PredictionWriter, error),
) error {
	w := writing{Job: r, tx: tx, begin: begin, classes: g.PredictionClasses}
	return r.Timed("read predictions", func(stage *ops.Stage) error {
		_, err := w.predictions(ctx, g.Predictions, cleaner.PredictionOptions{Logits: g.Logits}, stage)
		return err
	})
}

// ReadNoisyLabels reads id, label: the label each node has in the evaluation, in a form. Every labelled node must have
// one.
func ReadNoisyLabels(ctx context.Context, tx *kv.Tx, path string, form Form, r Job) (labels []kv.Class, err error) {
	in, columns, err := r.OpenTable(ctx, path, "label")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, label := columns[0], columns[1]
	classes := make(map[string]kv.Class)
	for i, name := range tx.Classes() {
		classes[name] = kv.Class(i)
	}
	labels = make([]kv.Class, tx.NumNodes())
	for v := range labels {
		labels[v] = kv.NoClass
	}
	_, err = eachNamed(ctx, tx, in, id, r.Progress, func(v kv.NodeID, row table.Row) error {
		name := form.label(string(row.Fields[label]))
		if name == "" {
			return nil
		}
		class, ok := classes[name]
		if !ok {
			return in.Want(row, label, "a class of the graph")
		}
		labels[v] = class
		return nil
	})
	if err != nil {
		return nil, err
	}
	store := make([]kv.Class, len(labels))
	if err := tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(tx.NumNodes())}, store); err != nil {
		return nil, err
	}
	for v := range labels {
		if store[v] != kv.NoClass && labels[v] == kv.NoClass {
			id, err := tx.ID(kv.NodeID(v))
			if err != nil {
				return nil, err
			}
			return nil, in.Errorf(0, "", "has no label for node %q, want one for every labelled node", id)
		}
	}
	return labels, nil
}

// ReadNodes reads the nodes of a nodes file, of which the column id counts, in its order, each once.
func ReadNodes(ctx context.Context, tx *kv.Tx, path string, r Job) (nodes []kv.NodeID, err error) {
	in, id, err := r.openIDs(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	_, err = eachNamed(ctx, tx, in, id, r.Progress, func(v kv.NodeID, _ table.Row) error {
		nodes = append(nodes, v)
		return nil
	})
	return nodes, err
}

// ReadSplits reads id, split; a node left out is in none.
func ReadSplits(ctx context.Context, tx *kv.Tx, path string, r Job) (splits []cleaner.Split, err error) {
	splits = make([]cleaner.Split, tx.NumNodes())
	err = eachSplit(ctx, tx, path, r, func(v kv.NodeID, name string) (err error) {
		splits[v], err = cleaner.ParseSplit(name)
		return err
	})
	return splits, err
}
