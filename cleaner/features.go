package cleaner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// AgreementFeatures measures how far a label under test agrees with the predictions and the labels around its node. For
// each vector of tested it returns Z [n×(2K+1)], row-major, K = hops. With y the label under test of node v, row v
// holds
//
//	P[v][y], P_1[v][y] … P_K[v][y], Y_1[v][y] … Y_K[v][y]
//
// where P_k = S_k P and Y_k = S_k Y, S_k the k-th power of the normalized adjacency with its diagonal cleared, P the
// predictions and Y the one-hot labels [n×c]. A label under test never enters Y, so a planted one shows in its own row
// only. A row whose label under test is NoClass is NaN; an isolated node has P[v][y] and zeros.
//
// All vectors share one propagation, of which each takes one column a row: no [n×c] matrix is held but the tiles, for
// which opt.MemoryBudget has what the results leave. Where the least that would do is more, it fails with an
// *ops.BudgetError that names it, before anything is computed. labels and every tested vector are [n] by NodeID;
// predictions has a column a class. ErrShape is returned where the sizes do not fit, an error of ops where hops is out
// of its range, ctx.Err() when cancelled.
func AgreementFeatures(
	ctx context.Context, g ops.Graph, labels []kv.Class, predictions ops.Source, tested [][]kv.Class, hops int,
	opt ops.Options,
) ([][]float32, error) {
	if opt.MemoryBudget == 0 {
		opt.MemoryBudget = kv.DefaultMemoryBudget()
	}
	all := make([]labelling, len(tested))
	for i, t := range tested {
		if len(t) != g.NumNodes() {
			return nil, fmt.Errorf("labels under test %d: got %d rows, want one for each of the %d nodes: %w",
				i, len(t), g.NumNodes(), ErrShape)
		}
		all[i] = labelling{labels: t}
	}
	if len(labels) != g.NumNodes() {
		return nil, fmt.Errorf("labels: got %d rows, want one for each of the %d nodes: %w",
			len(labels), g.NumNodes(), ErrShape)
	}
	for v, y := range labels {
		if y < kv.NoClass || int(y) >= predictions.Width() {
			return nil, fmt.Errorf("label %d of node number %d: want a class below %d: %w", y, v, predictions.Width(), ErrShape)
		}
	}
	if hops < 1 || hops > ops.MaxHops {
		return nil, fmt.Errorf("hops %d: want 1 to %d: %w", hops, ops.MaxHops, ops.ErrShape)
	}
	p := problem{graph: g, labels: labels, predictions: predictions}
	var err error
	if p.sizes, err = ops.Measure(ctx, g, ops.Options{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	least := leastForFeatures(p.sizes, g.NumNodes(), hops, featureBytes(all, hops))
	if err := requireBudget("features", opt.MemoryBudget, least); err != nil {
		return nil, err
	}
	if p.diagonals, err = ops.ComputeDiagonals(ctx, g, hops, opt); err != nil {
		return nil, err
	}
	return gatherFeatures(ctx, p, all, hops, opt)
}

// featureBytes is what the agreement features of all labellings take.
func featureBytes(tested []labelling, hops int) int64 {
	var rows int64
	for _, t := range tested {
		rows += int64(len(t.labels))
	}
	return rows * int64(featureWidth(hops)) * 4
}

// A labelling is one vector of labels under test.
type labelling struct {
	nodes  *nodeSet   // whom the labels are of; nil: every node, by NodeID
	labels []kv.Class // [len(nodes.nodes)], or [n]
}

// A nodeSet is some nodes in an order of its own, found by NodeID.
type nodeSet struct {
	nodes     []kv.NodeID
	ascending []int // places in nodes, by ascending NodeID
}

func newNodeSet(nodes []kv.NodeID) *nodeSet {
	ascending := make([]int, len(nodes))
	for i := range ascending {
		ascending[i] = i
	}
	slices.SortFunc(ascending, func(a, b int) int { return int(nodes[a]) - int(nodes[b]) })
	return &nodeSet{nodes: nodes, ascending: ascending}
}

// within returns the places in nodes of those in a range of NodeIDs, ascending by NodeID.
func (s *nodeSet) within(r kv.Range) []int {
	from := sort.Search(len(s.ascending), func(i int) bool { return s.nodes[s.ascending[i]] >= r.First })
	to := sort.Search(len(s.ascending), func(i int) bool { return s.nodes[s.ascending[i]] >= r.End })
	return s.ascending[from:to]
}

// featureWidth is 2K+1.
func featureWidth(hops int) int { return 2*hops + 1 }

// gatherFeatures is AgreementFeatures of labellings that need not cover every node: result i has a row for each label
// of tested[i]. Of p it looks at the graph, its sizes and diagonals, the labels and the predictions. The budget is at
// least leastForFeatures.
func gatherFeatures(
	ctx context.Context, p problem, tested []labelling, hops int, opt ops.Options,
) ([][]float32, error) {
	n := p.graph.NumNodes()
	classes := p.predictions.Width()
	width := featureWidth(hops)
	z := make([][]float32, len(tested))
	for i, t := range tested {
		z[i] = make([]float32, len(t.labels)*width)
		for r, y := range t.labels {
			if y < kv.NoClass || int(y) >= classes {
				return nil, fmt.Errorf("label under test %d of row %d: want a class below %d: %w", y, r, classes, ErrShape)
			}
			if y == kv.NoClass {
				for f := range width {
					z[i][r*width+f] = float32(math.NaN())
				}
			}
		}
	}

	// take puts the values of columns lo ≤ j < hi, row-major over rows, into feature f of the rows whose label under
	// test is the class of one of them; column 0 of the values' matrix is class 0.
	take := func(rows kv.Range, lo, hi int, values []float32, stride, f int) {
		for i, t := range tested {
			if t.nodes == nil {
				for v := rows.First; v < rows.End; v++ {
					if y := int(t.labels[v]); lo <= y && y < hi {
						z[i][int(v)*width+f] = values[int(v-rows.First)*stride+y-lo]
					}
				}
				continue
			}
			for _, r := range t.nodes.within(rows) {
				if y := int(t.labels[r]); lo <= y && y < hi {
					z[i][r*width+f] = values[int(t.nodes.nodes[r]-rows.First)*stride+y-lo]
				}
			}
		}
	}

	began := time.Now()
	err := eachRows(ctx, p.predictions, n, opt.Workers, func(rows kv.Range, values []float32) error {
		take(rows, 0, classes, values, classes, 0)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if opt.OnStage != nil {
		opt.OnStage(kv.Stage{Name: "features", Seconds: time.Since(began).Seconds(), Columns: classes})
	}
	// Predictions and labels go side by side, so that every list of neighbours is read once for both.
	both := sideBySide{p.predictions, ops.OneHot(p.labels, classes)}
	operator := ops.Operator{Hops: hops, Diagonals: p.diagonals}
	opt.MemoryBudget -= featureBytes(tested, hops) + diagonalBytes*int64(p.diagonals.Hops())*int64(n)
	need, spare := wantedBytes(tested, n), opt.MemoryBudget-p.sizes.LeastForPropagate(hops)
	if need <= min(spare, opt.MemoryBudget/wantedShare) {
		operator.Wanted = wantedColumns(tested, n, classes)
		opt.MemoryBudget -= need
	}
	err = ops.Propagate(ctx, p.graph, both, operator, opt, func(t ops.Tile) error {
		stride := t.Hi - t.Lo
		if t.Lo < classes {
			take(t.Rows, t.Lo, min(t.Hi, classes), t.Values, stride, t.Hop)
		}
		if t.Hi > classes {
			lo := max(t.Lo, classes)
			take(t.Rows, lo-classes, t.Hi-classes, t.Values[lo-t.Lo:], stride, hops+t.Hop)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return z, nil
}

// wantedShare is the part of the memory budget that naming the columns of the last hop may take: time saved by it must
// not be lost on narrower tiles.
const wantedShare = 8

// wantedBytes is what wantedColumns takes.
func wantedBytes(tested []labelling, n int) int64 {
	return 2 * 4 * int64(n) * int64(len(tested))
}

// wantedColumns names the columns of [P | Y] that the labels under test take of each row: all that the last hop need
// compute.
func wantedColumns(tested []labelling, n, classes int) [][]kv.Class {
	var wanted [][]kv.Class
	for _, t := range tested {
		predictions, labels := make([]kv.Class, n), make([]kv.Class, n)
		for v := range n {
			predictions[v], labels[v] = kv.NoClass, kv.NoClass
		}
		for r, y := range t.labels {
			v := r
			if t.nodes != nil {
				v = int(t.nodes.nodes[r])
			}
			if y != kv.NoClass {
				predictions[v], labels[v] = y, kv.Class(classes)+y
			}
		}
		wanted = append(wanted, predictions, labels)
	}
	return wanted
}

// sideBySide is the Source [left | right].
type sideBySide struct{ left, right ops.Source }

func (s sideBySide) Width() int { return s.left.Width() + s.right.Width() }

func (s sideBySide) Read(rows kv.Range, lo, hi int, dst []float32) error {
	middle := s.left.Width()
	switch {
	case hi <= middle:
		return s.left.Read(rows, lo, hi, dst)
	case lo >= middle:
		return s.right.Read(rows, lo-middle, hi-middle, dst)
	}
	n := int(rows.End - rows.First)
	part := make([]float32, n*max(middle-lo, hi-middle))
	stride := hi - lo
	spread := func(width, at int) {
		for r := range n {
			copy(dst[r*stride+at:], part[r*width:(r+1)*width])
		}
	}
	if err := s.left.Read(rows, lo, middle, part[:n*(middle-lo)]); err != nil {
		return err
	}
	spread(middle-lo, 0)
	if err := s.right.Read(rows, 0, hi-middle, part[:n*(hi-middle)]); err != nil {
		return err
	}
	spread(hi-middle, middle-lo)
	return nil
}

// blockValues is how many values of a source eachRows reads at once: 1 MiB.
const blockValues = 1 << 18

// eachRows reads a source of n rows from end to end, all columns of a block of rows at a time, and calls visit for each
// block, concurrently where workers (0: GOMAXPROCS) is not 1, else ascending. values is borrowed for the call.
func eachRows(
	ctx context.Context, src ops.Source, n, workers int, visit func(rows kv.Range, values []float32) error,
) error {
	width := src.Width()
	step := 1 // a power of two, so that reads fall on the blocks of a stored matrix
	for step*2*max(width, 1) <= blockValues {
		step *= 2
	}
	blocks := (n + step - 1) / step
	values := make([][]float32, ops.Workers(workers)) // a block, by worker
	return ops.Parallel(ctx, len(values), blocks, func(_ context.Context, worker, b int) error {
		if values[worker] == nil {
			values[worker] = make([]float32, min(step, n)*width)
		}
		rows := kv.Range{First: kv.NodeID(b * step), End: kv.NodeID(min((b+1)*step, n))}
		block := values[worker][:int(rows.End-rows.First)*width]
		if err := src.Read(rows, 0, width, block); err != nil {
			return err
		}
		return visit(rows, block)
	})
}
