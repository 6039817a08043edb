package files

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// ReadPredictions hands the predictions of a file, those of g, to the writer that begin begins.
func (g *Graph) ReadPredictions(
	ctx context.Context, tx *kv.Tx, r Job, begin func([]string, cleaner.PredictionOptions) (*cleaner.PredictionWriter, error),
) error {
	w := writing{Job: r, form: g.Form, tx: tx, begin: begin, classes: g.PredictionClasses}
	return r.Timed("read predictions", func(stage *ops.Stage) error {
		_, err := w.predictions(ctx, g.Predictions, cleaner.PredictionOptions{Logits: g.Logits}, stage)
		return err
	})
}

// ReadTransition reads a transition matrix [c×c] as export transition writes it: a header of class names, and a row for
// each of them in that order, P(given the class of the row | the class of the column). Fields may be empty where a
// class has no mass. It returns it in the order of tx.Classes.
func ReadTransition(ctx context.Context, tx *kv.Tx, path string, r Job) (matrix [][]float64, err error) {
	in, err := r.openTable(ctx, path, func([]string) bool { return true })
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	classes := make(map[string]int)
	for i, name := range tx.Classes() {
		classes[name] = i
	}
	place := make([]int, len(in.Header()))
	for k, name := range classNames(tx, in.Header()) {
		i, ok := classes[name]
		if !ok {
			return nil, in.HeaderErrorf(name, "want the name of a class")
		}
		place[k] = i
		delete(classes, name)
	}
	for _, name := range tx.Classes() {
		if _, missing := classes[name]; missing {
			return nil, in.HeaderErrorf("", "has no column %q, want one for each class", name)
		}
	}
	matrix = make([][]float64, len(place))
	rows := 0
	err = EachRow(ctx, in, r.Progress, func(row table.Row) error {
		if rows == len(place) {
			return in.Errorf(row.Line, "", "got a row more than there are classes, want %d", len(place))
		}
		values := make([]float64, len(place))
		for k, text := range row.Fields {
			x, ok := parseNumber(text)
			if !ok {
				if x, ok = parseNonFinite(text); len(text) > 0 && (!ok || !math.IsNaN(x)) {
					return in.Want(row, k, "a probability")
				}
				x = math.NaN()
			}
			values[place[k]] = x
		}
		matrix[place[rows]] = values
		rows++
		return nil
	})
	if err != nil {
		return nil, err
	}
	if rows < len(place) {
		return nil, in.Errorf(0, "", "has %d rows, want %d, one a class", rows, len(place))
	}
	return matrix, nil
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
	read := newLabelReader(form)
	_, err = eachNamed(ctx, tx, in, id, r.Progress, func(v kv.NodeID, row table.Row) error {
		name := read.label(string(row.Fields[label]))
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
	read.sayUnused(path, r)
	store := make([]kv.Class, len(labels))
	if err := tx.ReadClasses(kv.LabelColumn, store); err != nil {
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
func ReadNodes(ctx context.Context, tx *kv.Tx, names Names, r Job) (nodes []kv.NodeID, err error) {
	in, columns, err := r.openNodeTable(ctx, names)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	_, err = eachNamed(ctx, tx, in, columns[0], r.Progress, func(v kv.NodeID, _ table.Row) error {
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
