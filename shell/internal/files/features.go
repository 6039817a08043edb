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
)

// openFeatures opens a file of features, and returns the names of its columns.
func (w *writing) openFeatures(
	ctx context.Context, path string, stage *ops.Stage,
) (in *matrixFile, names []string, err error) {
	if in, err = w.openMatrix(ctx, path, cleaner.FeaturesMatrix, stage); err != nil {
		return nil, nil, err
	}
	if names, err = in.featureNames(w.Memory); err != nil {
		return nil, nil, errors.Join(err, in.close())
	}
	return in, names, nil
}

// features writes the matrix of features. Every node has a row, and every value is finite.
func (w *writing) features(ctx context.Context, path string, stage *ops.Stage) (err error) {
	in, names, err := w.openFeatures(ctx, path, stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	matrix, err := w.bulk.Matrix(cleaner.FeaturesMatrix, names, kv.MatrixEncoding{})
	if err != nil && in.table != nil {
		return in.table.Errorf(0, "", "%w", err)
	}
	if err != nil {
		return err
	}
	matrix.Sort()
	labels, err := w.tx.Reader(kv.LabelColumn)
	if err != nil {
		return err
	}
	like := newLabelColumns(len(names), w.Memory)
	err = w.eachFeatures(ctx, in, len(names), func(v kv.NodeID, row []float32, sparse bool) error {
		if label, err := labels.At(v); err != nil {
			return err
		} else if !sparse && !label.IsNull() {
			like.see(label.Str(), row)
		}
		return matrix.Put(v, row)
	})
	if err != nil {
		return err
	}
	for _, column := range like.found() {
		w.warn("%s: the column %q has one value for each class, so it tells the labels to the classifier, and wrong "+
			"ones are not found. "+
			"Leave it out", path, names[column])
	}
	return nil
}

// eachFeatures hands every row of features to put, borrowed, and says whether the file has sparse ones. Every value is finite.
func (w *writing) eachFeatures(
	ctx context.Context, in *matrixFile, width int, put func(v kv.NodeID, row []float32, sparse bool) error,
) error {
	values := make([]float32, width)
	return in.each(ctx, w, func(v kv.NodeID, columns []uint32, row []float64) error {
		clear(values)
		for i, x := range row {
			if columns != nil {
				i = int(columns[i])
			}
			if values[i] = float32(x); math.IsNaN(x) || math.IsInf(float64(values[i]), 0) {
				id, err := w.tx.ID(v)
				return cmp.Or[error](err, &cleaner.RowError{ID: id,
					Msg: fmt.Sprintf("column %d is %v, want a finite number", i, x)})
			}
		}
		return put(v, values, columns != nil)
	})
}

// A column of features takes about columnCost bytes while it is imported: for its name, which is kept twice, and for
// its value in a row. Columns may take one part of columnShare of the memory.
const (
	columnCost  = 96
	columnShare = 2
)

// featureNames are the names of the columns.
func (m *matrixFile) featureNames(memory int64) ([]string, error) {
	if m.isNamed() {
		names, err := m.table.Names()
		if err == nil && len(m.values) == 0 {
			err = m.table.HeaderErrorf("", "has no column beside id, want one a feature")
		}
		if err != nil {
			return nil, err
		}
		return m.names(names), nil
	}
	columns := int64(m.columns())
	if columns == 0 {
		return nil, m.arrayErrorf("has no columns, want one a feature")
	}
	if most := memory / (columnCost * columnShare); columns > most {
		return nil, m.arrayErrorf("has %d columns, whose names and rows take more memory than there is, want at most %d", columns, most)
	}
	names := make([]string, columns)
	for j := range names {
		names[j] = "f" + strconv.Itoa(j)
	}
	return names, nil
}

// leaveAnswersOut leaves the columns of labels and splits out of features. They are there if the table is the nodes
// file too.
func (w *writing) leaveAnswersOut(m *matrixFile) error {
	var places []int
	var left []string
	if slices.Contains(w.nodes, m.path()) {
		var err error
		if places, err = w.Columns.places(m.table, "--columns", true, nodeNames...); err != nil {
			return err
		}
	}
	m.values = slices.DeleteFunc(m.values, func(column int) bool {
		name := m.table.Header()[column]
		plain, of, _ := cutType(name)
		isAnswer := of == typeLabel || slices.Contains(places, column)
		for _, answer := range nodeNames[1:] {
			isAnswer = isAnswer || strings.EqualFold(plain, answer) || name == w.Columns[answer] && !m.table.Numbered()
		}
		if isAnswer {
			left = append(left, name)
		}
		return isAnswer
	})
	if left != nil {
		w.say("%s: labels and splits are no features, so these columns are left out: %s", m.path(), strings.Join(left, ", "))
	}
	return nil
}

// labelColumns finds columns of features that are the labels in other words: each class has one value, and no two
// classes have the same.
type labelColumns struct {
	columns  []int                // that may be
	first    map[string][]float32 // the first row of each class
	most     int                  // of them
	labelled int
}

func newLabelColumns(columns int, memory int64) *labelColumns {
	const share = 64 // of the memory that the rows may take, as a divisor
	l := &labelColumns{first: map[string][]float32{}, most: int(memory / share / 4 / int64(columns))}
	for column := range columns {
		l.columns = append(l.columns, column)
	}
	return l
}

// see takes the row of a node with a label.
func (l *labelColumns) see(class string, row []float32) {
	if l.labelled++; len(l.columns) == 0 {
		return
	}
	first, there := l.first[class]
	switch {
	case there:
		l.columns = slices.DeleteFunc(l.columns, func(column int) bool { return row[column] != first[column] })
	case len(l.first) == l.most:
		l.columns = nil
	default:
		l.first[class] = slices.Clone(row)
	}
}

// found are the columns. Of few nodes a column may be such by chance.
func (l *labelColumns) found() []int {
	if classes := len(l.first); classes < 2 || l.labelled < max(few, 2*classes) {
		return nil
	}
	return slices.DeleteFunc(l.columns, func(column int) bool {
		values := map[float32]bool{}
		for _, row := range l.first {
			values[row[column]] = true
		}
		return len(values) < len(l.first)
	})
}
