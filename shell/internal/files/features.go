package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/npy"
)

// features writes the matrix of features. Every node has a row, and every value is finite.
func (w *writing) features(ctx context.Context, path string, stage *ops.Stage) (err error) {
	in, err := w.openMatrix(ctx, path, cleaner.FeaturesMatrix, stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	names, err := in.featureNames()
	if err != nil {
		return err
	}
	matrix, err := w.bulk.Matrix(cleaner.FeaturesMatrix, names)
	if err != nil {
		return in.errorf("%w", err)
	}
	matrix.Sort()
	values, all := make([]float32, len(names)), make([]uint32, len(names))
	for i := range all {
		all[i] = uint32(i)
	}
	return in.each(ctx, w, func(v kv.NodeID, row npy.Row) error {
		columns := all
		if row.Columns != nil {
			columns = row.Columns
			clear(values)
		}
		for _, i := range columns {
			x := row.Values[i]
			if values[i] = float32(x); math.IsNaN(x) || math.IsInf(float64(values[i]), 0) {
				id, err := w.tx.ID(v)
				return cmp.Or[error](err, &cleaner.RowError{ID: id,
					Msg: fmt.Sprintf("column %d is %v, want a finite number", i, x)})
			}
		}
		return matrix.Put(v, values)
	})
}

// featureNames are the names of the columns.
func (m *matrixFile) featureNames() ([]string, error) {
	if m.isNamed() {
		if len(m.values) == 0 {
			return nil, m.table.HeaderErrorf("", "has no column beside id, want one a feature")
		}
		return m.names(m.table.Header()), nil
	}
	if m.columns() == 0 {
		return nil, m.errorf("has no columns, want one a feature")
	}
	names := make([]string, m.columns())
	for j := range names {
		names[j] = "f" + strconv.Itoa(j)
	}
	return names, nil
}

// leaveAnswersOut leaves the columns of labels and splits out of features. They are there if the table is the nodes
// file too.
func (w *writing) leaveAnswersOut(m *matrixFile) error {
	isNodes, names := w.nodes == m.Path(), nodeNames
	if !isNodes {
		names = nodeNames[1:] // the id is found
	}
	places, err := w.find(m.table, w.nodeFlag(isNodes), 0, names...)
	if err != nil {
		return err
	}
	var left []string
	m.values = slices.DeleteFunc(m.values, func(column int) bool {
		isAnswer := (isNodes || !m.table.Numbered()) && slices.Contains(places, column)
		if isAnswer {
			left = append(left, m.table.Header()[column])
		}
		return isAnswer
	})
	if left != nil {
		w.say("%s: labels and splits are no features, so these columns are left out: %s", m.Path(), strings.Join(left, ", "))
	}
	return nil
}

// sayPositions tells how arrays were read, if the ids of the nodes are numbers in another order than their rows: the
// ends of edges are ids, and all else is by rows.
func (g *Graph) sayPositions(tx *kv.Tx, r Job) error {
	if !tx.Shape().IntegerIDs || !IsArray(g.Edges) && !IsArray(g.Features) && !IsArray(g.Predictions) {
		return nil
	}
	last, isSorted := -1, true
	for id, err := range tx.IDs() {
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(id)
		if err != nil || number < 0 || number > 2*tx.Shape().Present {
			return nil // an id that is no position
		}
		isSorted = isSorted && number > last
		last = number
	}
	if !isSorted {
		text := "The ids of the nodes are numbers in another order than the rows of the nodes file. "
		if IsArray(g.Edges) {
			text += "The numbers in an array of edges are ids. If they are positions of rows, as in edge_index of PyG, " +
				"use ids[edges] in their place, ids being the column id as an array. "
		}
		r.caution(text + "The rows of other arrays are in the order of the nodes file.")
	}
	return nil
}
