package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// inSeries makes a Series of a graph that can be one and is none yet, for the operators until free.
func inSeries(g ops.Graph) (series ops.Graph, free func() error) {
	switch g.(type) {
	case *kv.Undirected, *ops.Series:
		return g, func() error { return nil }
	}
	s := ops.NewSeries(g)
	return s, s.Close
}

// limitSeries makes room for what is held beside a graph, if that is a Series: it may hold so many bytes.
func limitSeries(g ops.Graph, bytes int64) error {
	if s, ok := g.(*ops.Series); ok {
		return s.Limit(bytes)
	}
	return nil
}

// A labelling is labels under test: one of each node, or every class of each.
type labelling struct {
	nodes  *nodeSet   // whom the labels are of, by rank; nil: every node, by NodeID
	labels []kv.Class // [n]
	every  int        // in place of labels: each member has a row for each of so many classes
}

// rows is how many labels are under test.
func (t *labelling) rows() int {
	if t.every > 0 {
		return len(t.nodes.members) * t.every
	}
	return len(t.labels)
}

// each calls visit for the labels of some nodes.
func (t *labelling) each(nodes kv.Range, visit func(row int, v kv.NodeID, label kv.Class)) {
	if t.nodes == nil {
		for v := nodes.First; v < nodes.End; v++ {
			visit(int(v), v, t.labels[v])
		}
		return
	}
	t.nodes.each(nodes, func(rank int, v kv.NodeID) {
		if t.every == 0 {
			visit(rank, v, t.labels[rank])
		}
		for k := range t.every {
			visit(rank*t.every+k, v, kv.Class(k))
		}
	})
}

// featureWidth is 2K+1.
func featureWidth(hops int) int { return 2*hops + 1 }

// width is how many agreement features a way to score looks at: all, or K+1 of the label model, P0 and L1 … LK.
func width(m method.Method, hops int) int {
	if m != nil {
		return featureWidth(hops)
	}
	return hops + 1
}

// A gathering computes the agreement features of labellings that need not cover every node: z[i] has a row for each
// label of labellings[i], all 2K+1 or P0 and L1 … LK. Of the problem it looks at the graph, its diagonals, the labels
// and the predictions.
type gathering struct {
	problem
	labellings []labelling
	z          []*rowstore.Store
}

// gather measures how far labels under test agree with the predictions and the labels around their nodes, in one
// propagation for all labellings: see Features. Only hops up to reach are computed; the features of others are zeros. A
// labelling of every node has its rows column after column, one of a sample, which is read in no order, row after row.
// It needs diagonals, and the budget of leastForFeatures.
func (p problem) gather(
	ctx context.Context, labellings []labelling, hops, reach, width int, opt ops.Options,
) (z []*rowstore.Store, err error) {
	g := gathering{problem: p, labellings: labellings}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(g.z))
		}
	}()
	for _, t := range labellings {
		group := width
		if t.nodes == nil { // a hop then writes two stretches of memory from end to end
			group = 1
		}
		one, err := rowstore.Grouped(p.place.Scratch(), t.rows(), width, group)
		if err != nil {
			return nil, err
		}
		g.z = append(g.z, one)
	}
	n, classes := p.graph.NumNodes(), p.predictions.Width()
	ofLabels := width - 1 - hops // L1 comes after it
	first := 0                   // column of [P | Y]
	if ofLabels == 0 {
		first = classes
	}
	began := time.Now()
	err = rowstore.Each(ctx, p.predictions, n, opt.Workers, func(rows kv.Range, values []float32) error {
		for i, t := range labellings {
			t.each(rows, func(row int, _ kv.NodeID, label kv.Class) {
				for f := 0; label == kv.NoClass && f < width; f++ {
					column, step := g.z[i].Column(f)
					column[row*step] = float32(math.NaN())
				}
			})
		}
		g.take(rows, 0, classes, values, classes, 0)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if opt.OnStage != nil {
		opt.OnStage(ops.Stage{Name: "features", Seconds: time.Since(began).Seconds(), Columns: classes})
	}
	// Predictions and labels go side by side, so that every list of neighbours is read once for both.
	both := ops.SideBySide(p.predictions, ops.OneHot(p.labels, classes))
	operator := ops.Operator{Hops: reach, Diagonals: p.diagonals, Want: g.wantedColumns, First: first}
	opt.Scratch = p.place.Scratch()
	err = ops.Propagate(ctx, p.graph, both, operator, opt, func(t ops.Tile) error {
		stride := t.Hi - t.Lo
		if t.Lo < classes {
			g.take(t.Rows, t.Lo, min(t.Hi, classes), t.Values, stride, t.Hop)
		}
		if t.Hi > classes {
			lo := max(t.Lo, classes)
			g.take(t.Rows, lo-classes, t.Hi-classes, t.Values[lo-t.Lo:], stride, ofLabels+t.Hop)
		}
		return nil
	})
	return g.z, err
}

// take puts the values of columns lo ≤ j < hi, row-major over rows, into feature f of the rows whose label under test
// is the class of one of them; column 0 of the values' matrix is class 0.
func (g *gathering) take(rows kv.Range, lo, hi int, values []float32, stride, f int) {
	for i, t := range g.labellings {
		column, step := g.z[i].Column(f)
		t.each(rows, func(row int, v kv.NodeID, label kv.Class) {
			if y := int(label); lo <= y && y < hi {
				column[row*step] = values[int(v-rows.First)*stride+y-lo]
			}
		})
	}
}

// wantedColumns appends the columns of [P | Y] that the labels under test take of a row: all that the last hop need
// compute.
func (g *gathering) wantedColumns(v kv.NodeID, columns []int) []int {
	begin, classes := len(columns), g.predictions.Width()
	for _, t := range g.labellings {
		at, isTested := int(v), true
		if t.nodes != nil {
			at, isTested = t.nodes.has(v)
		}
		switch {
		case !isTested:
		case t.every > 0:
			for k := range t.every {
				columns = append(columns, k)
			}
		case t.labels[at] != kv.NoClass:
			columns = append(columns, int(t.labels[at]))
		}
	}
	slices.Sort(columns[begin:])
	columns = columns[:begin+len(slices.Compact(columns[begin:]))]
	for _, y := range columns[begin:] {
		columns = append(columns, classes+y)
	}
	return columns
}

// closeAll gives memory and files back.
func closeAll(all []*rowstore.Store) (err error) {
	for _, z := range all {
		err = errors.Join(err, z.Close())
	}
	return err
}

// graphOf is the graph that a job walks: with the weights of its edges, where these have weights or directions.
func graphOf(tx *kv.Tx) ops.Graph {
	if tx.Shape().Directed || tx.Shape().Weighted {
		return tx.Undirected()
	}
	return tx
}

// Features computes the agreement features of the store's given labels with hops (0: 3) for K, [n×(2K+1)] by NodeID.
// With y the label of node v, row v holds
//
//	P[v][y], P_1[v][y] … P_K[v][y], Y_1[v][y] … Y_K[v][y]
//
// where P_k = S_k P and Y_k = S_k Y, S_k the k-th power of the normalized adjacency with its diagonal cleared, P the
// predictions and Y the one-hot labels [n×c]. The rows of unlabelled nodes are NaN; an isolated node has P[v][y] and
// zeros. Read the rows like an ops.Source, and call Close. They use the predictions of the last run: the joined ones,
// if it joined any, otherwise the stored ones. They lie in temporary files. Kept diagonals of a cleaning are used.
// Features needs predictions in the store (else kv.ErrNotFound) but no run. opt.MemoryBudget counts the labels; an
// *ops.BudgetError has the least budget.
func Features(ctx context.Context, tx *kv.Tx, hops int, opt ops.Options) (_ FeatureRows, err error) {
	own, err := Options{
		Hops: hops, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress, OnStage: opt.OnStage,
	}.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := problemOf(tx)
	if err != nil {
		return nil, err
	}
	matrix, err := scoredFrom(tx, nil)
	if err != nil {
		return nil, err
	}
	if err := checkRows(ctx, tx, matrix); err != nil {
		return nil, err
	}
	p.predictions = inClassOrder(tx, matrix)
	own.stage("read")
	if p.place, err = workplace.Reading(tx); err != nil {
		return nil, err
	}
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
	footprint := labelBytes * int64(len(p.labels))
	work := stages{problem: &p, opt: own, operators: own.ops(footprint)}
	if err := p.measure(ctx, own.ops(0)); err != nil {
		return nil, err
	}
	if err := requireBudget("features", own.MemoryBudget, footprint+leastForFeatures(p.sizes, own.Hops)); err != nil {
		return nil, err
	}
	diagonals, err := work.findDiagonals(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, diagonals.Close()) }()
	z, err := p.gather(ctx, []labelling{{labels: p.labels}}, own.Hops, own.Hops, featureWidth(own.Hops), work.operators)
	if err != nil {
		return nil, err
	}
	own.stage("features")
	return z[0], nil
}

// FeatureRows are the agreement features of every node, [n×(2K+1)].
type FeatureRows interface {
	ops.Source
	Close() error
}
