package cleaner

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ballNodeBytes is what a node of the ball takes at most in ops.OperatorRows and in the list of the ball.
const ballNodeBytes = 128

// ballSteps is how many arcs may be walked around a node, within the memory for the entries that come of them.
func ballSteps(opt ops.Options) *atomic.Int64 {
	budget := opt.MemoryBudget
	if budget == 0 {
		budget = machine.MemoryBudget()
	}
	steps := new(atomic.Int64)
	steps.Store(budget / ballNodeBytes)
	return steps
}

// surround computes the surrounding of one node with a class as label, or kv.NoClass, from the rows of the node in S_1
// … S_K alone: no propagation of the whole graph. If the nodes within K hops do not fit opt.MemoryBudget, it returns
// ops.ErrReach.
func surround(
	ctx context.Context, tx *kv.Tx, v kv.NodeID, class kv.Class, predictions ops.Source, hops int, opt ops.Options,
) (*surrounding, error) {
	rows, err := ops.OperatorRows(ctx, tx, v, ops.Operator{Hops: hops}, ballSteps(opt))
	if err != nil {
		return nil, err
	}
	ball := []kv.NodeID{v}
	for _, row := range rows {
		ball = append(ball, row.Nodes...)
	}
	slices.Sort(ball)
	places := make([]int, len(rows)) // of the next entry of each row
	classes := tx.Classes()
	number := make(map[string]int, len(classes))
	for i, name := range classes {
		number[name] = i
	}
	labels, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return nil, err
	}

	c, width := predictions.Width(), featureWidth(hops)
	sums := make([][]float64, c)
	for x := range sums {
		sums[x] = make([]float64, width)
	}
	around := &surrounding{features: make([][]float32, c), labels: make([][]int64, hops)}
	for k := range around.labels {
		around.labels[k] = make([]int64, c)
	}
	err = rowstore.EachOf(ctx, predictions, slices.Compact(ball), func(u kv.NodeID, p []float32) error {
		if u == v {
			for x := range c {
				sums[x][0] = float64(p[x])
			}
		}
		label, err := labels.At(u)
		if err != nil {
			return err
		}
		var first float64 // the weight in S_1
		for k, row := range rows {
			at := places[k]
			if at == len(row.Nodes) || row.Nodes[at] != u {
				continue
			}
			places[k]++
			weight := row.Values[at]
			if k == 0 {
				first = weight
			}
			for x := range c {
				sums[x][k+1] += float64(weight * float64(p[x]))
			}
			if !label.IsNull() {
				y := number[label.String()]
				sums[y][hops+k+1] += weight
				around.labels[k][y]++
			}
		}
		if first != 0 && class != kv.NoClass {
			around.hear(tx, u, first, class, label, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for x := range around.features {
		around.features[x] = make([]float32, width)
		for f, sum := range sums[x] {
			around.features[x][f] = float32(sum)
		}
	}
	return around, nil
}

// To walk around one node, and look up all that is found, costs as much a step as a pass over the graph costs for some
// of its arcs. A pass costs as much as some steps before it begins.
const (
	stepsOfPass = 4
	leastSteps  = 1 << 18
)

// walkableSteps is how many arcs may be walked before a pass over the graph costs less.
func walkableSteps(tx *kv.Tx) int64 { return max(tx.Shape().Arcs/stepsOfPass, leastSteps) }

// stepsAround is how many arcs may be walked before a pass costs less, within the memory for the entries that come of
// them.
func stepsAround(tx *kv.Tx, opt ops.Options) *atomic.Int64 {
	steps := ballSteps(opt)
	steps.Store(min(steps.Load(), walkableSteps(tx)))
	return steps
}

// stepsOfRow is how many steps it costs to look up the features of a node.
const stepsOfRow = 64

// nodeLabels reads the labels of nodes as they are asked for.
type nodeLabels struct {
	tx  *kv.Tx
	all []kv.Class // [n], once so many were asked for that it pays
}

// readAll is the share of the nodes, as a divisor, from which on all labels are read at once; for fewer than leastAsked
// they never are.
const (
	readAll    = 64
	leastAsked = 16
)

// of is the label of a node, one of so many that are asked for.
func (l *nodeLabels) of(u kv.NodeID, asked int) (kv.Class, error) {
	if l.all == nil && asked > max(leastAsked, l.tx.NumNodes()/readAll) {
		var err error
		if l.all, err = readLabels(l.tx); err != nil {
			return kv.NoClass, err
		}
	}
	if l.all != nil {
		return l.all[u], nil
	}
	return l.tx.Label(u)
}

// A passedScore is what a pass over the graph has made of a node.
type passedScore struct {
	score, confidence float32
	suggestion        kv.Class  // kv.NoClass without predictions
	row               []float32 // that the kept classifier has predicted, by the classes of the run; nil: it has not
}

// passOver scores nodes in one pass over the graph. Those without stored predictions are predicted in another. Arrays
// of its own are temporary ones, since a transaction that writes cannot wait for the workplace of the store: whoever
// has that may wait for it.
func (s *scorer) passOver(nodes []kv.NodeID) (err error) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(v kv.NodeID) bool { return int(v) >= s.tx.NumNodes() })
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	p, err := s.run.problem(s.tx)
	if err != nil {
		return err
	}
	if p.place, err = workplace.Reading(s.tx); err != nil {
		return err
	}
	p.tested = make([]kv.Class, len(p.labels))
	for v := range p.tested {
		p.tested[v] = kv.NoClass
	}
	var missing []kv.NodeID
	err = rowstore.EachOf(s.ctx, p.predictions, nodes, func(v kv.NodeID, row []float32) error {
		switch {
		case hasNaN(row):
			missing = append(missing, v)
		case !s.isStored(v):
			p.tested[v] = p.labels[v]
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err := s.predictByPass(missing, p.place)
	if err != nil {
		return err
	}
	s.passed = make(map[kv.NodeID]passedScore, len(nodes))
	for i, row := range rows {
		v := missing[i]
		s.passed[v], p.tested[v] = passedScore{row: row}, p.labels[v]
	}
	p.predictions = withRows{p.predictions, missing[:len(rows)], rows}
	result, err := p.rescore(s.ctx, s.run, s.run.options(RescoreOptions{
		Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress, OnStage: s.opt.OnStage,
	}))
	if err != nil {
		return err
	}
	for _, v := range nodes {
		s.passed[v] = passedScore{
			result.scores.Data[v], result.suggestions.chances.Data[v], result.suggestions.classes.Data[v], s.passed[v].row,
		}
	}
	return result.Close()
}

// predictByPass is what the kept classifier predicts of ascending nodes, by the classes of the run; nil if it cannot.
func (s *scorer) predictByPass(nodes []kv.NodeID, place *workplace.Place) ([][]float32, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	f, err := s.predictor()
	if err != nil {
		return nil, ignoreNoClassifier(err)
	}
	rows, err := f.rowsByPass(s.ctx, place, nodes, Options{
		Workers: s.opt.Workers, MemoryBudget: s.opt.MemoryBudget, Progress: s.opt.Progress,
	})
	if errors.Is(err, errNoClassifier) {
		return nil, nil
	}
	for i, row := range rows {
		rows[i] = make([]float32, len(s.run.Classes))
		inClasses(s.run.Classes, f.Columns(), row, rows[i])
	}
	return rows, err
}
