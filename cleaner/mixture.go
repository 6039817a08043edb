package cleaner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A joiner makes rows of the joined predictions of the last run, as the run would have made them: see combination.
type joiner struct {
	tx       *kv.Tx
	mixture  *kv.Matrix  // P
	imported ops.Source  // U, with the columns of P
	weights  [][]float64 // of the groups; nil of a run that kept none
}

// newJoiner returns nil if no joined predictions are in force.
func newJoiner(tx *kv.Tx) (*joiner, error) {
	mixture, err := mixtureInForce(tx)
	if err != nil || mixture == nil {
		return nil, err
	}
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	var kept keptClassifier
	if err := tx.Documents(predictionsSpace).Get(classifierKey, &kept); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return &joiner{tx: tx, mixture: mixture, imported: inOrderOf(matrix, mixture.Columns()), weights: kept.Weights}, nil
}

// group is the weights of a node's group.
func (j *joiner) group(v kv.NodeID) ([]float64, error) {
	if len(j.weights) == 1 {
		return j.weights[0], nil
	}
	value, err := j.tx.Value(v, splitColumn)
	if errors.Is(err, kv.ErrNoColumn) || err == nil && value.IsNull() {
		return j.weights[0], nil
	}
	if err != nil {
		return nil, err
	}
	split, err := ParseSplit(value.String())
	if err != nil {
		return nil, naming.Node(j.tx, v, err)
	}
	if split.teaches() {
		return j.weights[0], nil
	}
	return j.weights[1], nil
}

// join is the joined row of a node by what the built-in classifier predicts of it: that alone if there is no imported
// one.
func (j *joiner) join(v kv.NodeID, predicted []float64) ([]float32, error) {
	row, imported := make([]float32, j.mixture.Width()), make([]float32, j.mixture.Width())
	for k, p := range predicted {
		row[k] = float32(p)
	}
	if err := j.imported.Read(kv.Range{First: v, End: v + 1}, 0, len(imported), imported); err != nil || hasNaN(imported) {
		return row, err
	}
	weights, err := j.group(v)
	if err == nil && weights[1] > 0 {
		mix(weights, row, imported)
	}
	return row, err
}

// exchange is the joined row of a node whose imported predictions become others, nil if it stays as it is. The
// classifier's need not be known: the imported ones are a factor of the row.
func (j *joiner) exchange(v kv.NodeID, to []float32) ([]float32, error) {
	if j.weights == nil {
		return to, nil // until the next Clean
	}
	row, from, one := make([]float32, len(to)), make([]float32, len(to)), kv.Range{First: v, End: v + 1}
	if err := errors.Join(j.mixture.Read(one, 0, len(row), row), j.imported.Read(one, 0, len(from), from)); err != nil {
		return nil, err
	}
	weights, err := j.group(v)
	if err != nil || weights[1] == 0 || hasNaN(row) {
		return nil, err
	}
	if hasNaN(from) {
		mix(weights, row, to)
		return row, nil
	}
	logs, most := make([]float64, len(row)), math.Inf(-1)
	for k, p := range row {
		difference := labelmodel.LogFeature(to[k]) - labelmodel.LogFeature(from[k])
		logs[k] = elementary.Log(max(float64(p), math.SmallestNonzeroFloat32)) + float64(weights[1]*difference)
		most = max(most, logs[k])
	}
	sum := 0.0
	for k := range logs {
		logs[k] = elementary.Exp(logs[k] - most)
		sum += logs[k]
	}
	for k := range logs {
		row[k] = float32(logs[k] / sum)
	}
	return row, nil
}

// replace writes the joined row of a node whose imported predictions become others, in the columns of
// PredictionsMatrix.
func (j *joiner) replace(v kv.NodeID, columns []string, row []float32, write func(matrix string, v kv.NodeID, row []float32) error) error {
	if j == nil {
		return nil
	}
	to := make([]float32, j.mixture.Width())
	inClasses(j.mixture.Columns(), columns, row, to)
	row, err := j.exchange(v, to)
	if err != nil {
		return fmt.Errorf("joined predictions: %w", err)
	}
	if row == nil {
		return nil
	}
	return write(CombinedMatrix, v, row)
}

// mix turns a row of B into one of P.
func mix(weights []float64, own, from []float32) {
	c := len(own)
	var few [64]float64
	numbers := few[:]
	if 2*c > len(few) {
		numbers = make([]float64, 2*c)
	}
	logs, fromLogs := numbers[:c], numbers[c:2*c]
	labelmodel.LogFeatures(own, logs)
	labelmodel.LogFeatures(from, fromLogs)
	most := float32(math.Inf(-1))
	for k := range own {
		own[k] = float32(float64(weights[0]*logs[k]) + float64(weights[1]*fromLogs[k]))
		most = max(most, own[k])
	}
	for k := range own {
		logs[k] = float64(own[k] - most)
	}
	elementary.Exps(logs)
	var sum float32
	for k, e := range logs {
		own[k] = float32(e)
		sum += own[k]
	}
	for k := range own {
		own[k] /= sum
	}
}

// mostTold is the largest share of labels that predictions from outside may tell to be joined unasked. The table that
// chose it is docs/detection/results/seen.md: it lies between what predictions out of fold tell and those that have
// seen a third of the labels.
const mostTold = 0.22

// told is how much predictions U tell of the labels that predictions B contradict, which have not seen them: 0 is as
// much as B, 1 is all of them. It looks at some rows of both [rows×classes×2] and of the labels [rows].
//
// B contradicts a label y where another class t is its largest. The rank of y is the share of the nodes with the label
// t, whose largest class of B is t too, that have less of y; equal ones count half. If the label is wrong, only who has
// seen it knows to which of these nodes it was given. With m how much more of t than of y B has, and 0 where nothing is
// contradicted:
//
//	told = Σ m·(rank in U − rank in B) / Σ m·(1 − rank in B)
func told(rows []int, labels []kv.Class, both []float32, classes int) float64 {
	type contradiction struct {
		top kv.Class
		row int
	}
	var contradicted []contradiction
	agreeing := make([][]int, classes)
	own := make([]float32, classes)
	for _, row := range rows {
		for k := range own {
			own[k] = both[2*(row*classes+k)]
		}
		if top, _, _ := largest(own); top == labels[row] {
			agreeing[top] = append(agreeing[top], row)
		} else {
			contradicted = append(contradicted, contradiction{top, row})
		}
	}
	slices.SortStableFunc(contradicted, func(a, b contradiction) int {
		return cmp.Or(cmp.Compare(a.top, b.top), cmp.Compare(labels[a.row], labels[b.row]))
	})
	var gained, all float64
	var others [2][]float32 // B and U of the agreeing nodes, ascending
	of := contradiction{top: kv.NoClass}
	for _, c := range contradicted {
		label, some := labels[c.row], agreeing[c.top]
		if len(some) == 0 {
			continue
		}
		if c.top != of.top || label != labels[of.row] {
			of = c
			for i := range others {
				others[i] = others[i][:0]
				for _, row := range some {
					others[i] = append(others[i], both[2*(row*classes+int(label))+i])
				}
				slices.Sort(others[i])
			}
		}
		at := 2 * (c.row*classes + int(label))
		margin := float64(both[2*(c.row*classes+int(c.top))] - both[at])
		b, u := rank(others[0], both[at]), rank(others[1], both[at+1])
		gained += float64(margin * float64(u-b))
		all += float64(margin * float64(1-b))
	}
	return share(gained, all)
}

// rank is the share of ascending values that are smaller than one; equal ones count half.
func rank(ascending []float32, value float32) float64 {
	smaller := sort.Search(len(ascending), func(i int) bool { return ascending[i] >= value })
	more := sort.Search(len(ascending), func(i int) bool { return ascending[i] > value })
	return float64(smaller+more) / float64(2*len(ascending))
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
