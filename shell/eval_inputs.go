package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// name tells graphs of other files, or of files that were changed, from each other.
func (g *inputFiles) name() (string, error) {
	var b strings.Builder
	for _, path := range []string{g.Nodes, g.Edges, g.Features, g.Splits} {
		name, err := fileName(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, name)
	}
	fmt.Fprintf(&b, "%q %v\n", g.Classes, g.Directed)
	return b.String(), nil
}

// fileName tells a file from others, and from itself once it was changed.
func fileName(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%q %d %d", absolute, info.Size(), info.ModTime().UnixNano()), nil
}

// readInputs reads noise, splits and predictions from the files that flags name; predictions when their turn comes.
func (c *evalCommand) readInputs(ctx context.Context, tx *kv.Tx, opt *cleaner.EvalOptions, s *streams) (err error) {
	r := reading{s: s, stages: new(stageLog), memory: c.work()}
	kind, path, _ := strings.Cut(c.Noise, ":")
	switch kind {
	case "file":
		opt.NoisyLabels, err = readNoisyLabels(ctx, tx, path, r)
	case "matrix":
		opt.NoiseMatrix, err = readTransition(ctx, tx, path, r)
	}
	if err != nil {
		return err
	}
	if c.Splits != "" {
		if opt.Splits, err = readSplits(ctx, tx, c.Splits, r); err != nil {
			return err
		}
	} else if _, stored := tx.Column("split"); !stored && len(c.Predictions) > 0 {
		return usagef("eval: --predictions want the split that they were made with, and the graph has none: give --splits")
	}
	for _, path := range c.Predictions {
		set, err := c.predictionSet(path, r)
		if err != nil {
			return err
		}
		opt.Predictions = append(opt.Predictions, set)
	}
	return nil
}

// predictionSet is the predictions of a file.
func (c *evalCommand) predictionSet(path string, r reading) (set cleaner.PredictionSet, err error) {
	if set.Name, err = fileName(path); err != nil {
		return set, err
	}
	set.Name += fmt.Sprintf(" logits %v classes %q", c.Logits, c.PredictionClasses)
	set.Read = func(
		ctx context.Context, tx *kv.Tx, begin func([]string, cleaner.PredictionOptions) (*cleaner.PredictionWriter, error),
	) error {
		w := writing{reading: r, tx: tx, begin: begin, classes: c.PredictionClasses}
		return r.stages.timed("read predictions", func(stage *kv.Stage) error {
			_, err := w.predictions(ctx, path, cleaner.PredictionOptions{Logits: c.Logits}, stage)
			return err
		})
	}
	return set, nil
}

// readTransition reads a transition matrix [c×c] as export transition writes it: a header of class names, and a row for
// each of them in that order, P(given the class of the row | the class of the column). Fields may be empty where a
// class has no mass. It returns it in the order of tx.Classes.
func readTransition(ctx context.Context, tx *kv.Tx, path string, r reading) (matrix [][]float64, err error) {
	in, err := table.Open(ctx, path, r.memory)
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
	err = eachRow(ctx, in, r, func(row table.Row) error {
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

// readNoisyLabels reads id, label: the label each node has in the evaluation. Every labelled node must have one.
func readNoisyLabels(ctx context.Context, tx *kv.Tx, path string, r reading) (labels []kv.Class, err error) {
	in, columns, err := openTable(ctx, path, r.memory, "label")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, label := columns[0], columns[1]
	if label < 0 {
		return nil, noColumn(in, "label")
	}
	classes := make(map[string]kv.Class)
	for i, name := range tx.Classes() {
		classes[name] = kv.Class(i)
	}
	labels = make([]kv.Class, tx.NumNodes())
	for v := range labels {
		labels[v] = kv.NoClass
	}
	seen, err := newSeen(tx)
	if err != nil {
		return nil, err
	}
	defer seen.stop()
	err = eachRow(ctx, in, r, func(row table.Row) error {
		v, err := seen.node(in, row, id)
		if err != nil || len(row.Fields[label]) == 0 {
			return err
		}
		class, ok := classes[string(row.Fields[label])]
		if !ok {
			return in.Want(row, label, "a class of the graph")
		}
		labels[v] = class
		return nil
	})
	if err != nil {
		return nil, err
	}
	given := make([]kv.Class, len(labels))
	if err := tx.ReadClasses(kv.LabelColumn, given); err != nil {
		return nil, err
	}
	for v := range labels {
		if given[v] != kv.NoClass && labels[v] == kv.NoClass {
			id, err := tx.ID(kv.NodeID(v))
			if err != nil {
				return nil, err
			}
			return nil, in.Errorf(0, "", "has no label for node %q, want one for every labelled node", id)
		}
	}
	return labels, nil
}

// readSplits reads id, split; a node left out is in none.
func readSplits(ctx context.Context, tx *kv.Tx, path string, r reading) (splits []cleaner.Split, err error) {
	splits = make([]cleaner.Split, tx.NumNodes())
	err = eachSplit(ctx, tx, path, r, func(v kv.NodeID, name string) (err error) {
		splits[v], err = cleaner.ParseSplit(name)
		return err
	})
	return splits, err
}
