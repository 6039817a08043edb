package ops

import (
	"context"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A Digraph is a directed Graph. The list of v holds the nodes u of the entries A_vu. Reverse is the graph of the
// transposed A, in the same blocks. *kv.Oriented along Out or In is a Digraph too.
type Digraph interface {
	Graph
	Reverse() Graph
}

// A WeightedGraph is a Graph whose ReadAdjacency fills kv.Adjacency.Weights if Weighted says so: A_vu > 0, finite. In
// any other graph A_vu is 1. Without being a Digraph it must have A_vu = A_uv.
type WeightedGraph interface {
	Graph
	Weighted() bool
}

func isWeighted(g Graph) bool {
	w, ok := g.(WeightedGraph)
	return ok && w.Weighted()
}

// reverseOf is the graph of the transposed adjacency, nil if that is the same.
func reverseOf(g Graph) Graph {
	switch g := g.(type) {
	case *kv.Oriented:
		if !g.Symmetric() {
			return g.Reverse()
		}
	case Digraph:
		return g.Reverse()
	}
	return nil
}

// walkBoth visits the lists of A and of its transpose, which are the same lists where A is symmetric.
func (w *walker) walkBoth(
	ctx context.Context, visit func(ctx context.Context, worker int, rows, columns *kv.Adjacency) error,
) error {
	return parallel.Do(ctx, len(w.bufs), len(w.blocks), func(ctx context.Context, worker, block int) error {
		rows := &w.bufs[worker]
		if err := w.read(block, rows); err != nil {
			return err
		}
		columns := rows
		if w.columns != nil {
			columns = &w.columns.bufs[worker]
			if err := w.columns.read(block, columns); err != nil {
				return err
			}
			w.bytes.Add(w.columns.bytes.Swap(0))
			if columns.Range != rows.Range {
				return fmt.Errorf("%w: got nodes %d to %d of the reverse graph, want %d to %d",
					ErrGraph, columns.First, columns.End, rows.First, rows.End)
			}
		}
		return visit(ctx, worker, rows, columns)
	})
}

// strengths are what a survey tells of a graph that is not simple: the sums of the rows of A and of its columns [n],
// and the entries of the columns [n]. Where A is symmetric rows and columns are the same arrays.
type strengths struct {
	rows, columns []float64
	columnDegrees []uint32
}

// newStrengths makes those of the sizes of a survey.
func newStrengths(s *survey) *strengths {
	t := &strengths{rows: make([]float64, s.Nodes), columnDegrees: s.degrees}
	if t.columns = t.rows; s.Directed {
		t.columns, t.columnDegrees = make([]float64, s.Nodes), make([]uint32, s.Nodes)
	}
	return t
}

// take notes what the lists of some nodes tell.
func (t *strengths) take(rows, columns *kv.Adjacency) {
	for i := range rows.Len() {
		v := rows.First + kv.NodeID(i)
		column := columns.Of(v)
		t.columnDegrees[v] = uint32(len(column))
		t.rows[v] = kernel.Strength(rows.Of(v), kernel.WeightsOf(rows, i))
		t.columns[v] = kernel.Strength(column, kernel.WeightsOf(columns, i))
	}
}

// isSimple reports whether the graph is neither directed nor weighted.
func (s *Sizes) isSimple() bool { return !s.Directed && !s.Weighted }

// Edges is the number of edges, or of arcs of a directed graph.
func (s *Sizes) Edges() int64 {
	if s.Directed {
		return s.Entries
	}
	return s.Entries / 2
}

// sides is the number of lists that a node has.
func (s *Sizes) sides() int64 {
	if s.Directed {
		return 2
	}
	return 1
}

// entryBytes is what an entry held takes.
func (s *Sizes) entryBytes() int64 {
	if s.Weighted {
		return 8
	}
	return 4
}

// scaleBytes is what a node's degrees and strengths take.
func (s *Sizes) scaleBytes() int64 {
	if s.isSimple() {
		return 4
	}
	return 12 * s.sides()
}
