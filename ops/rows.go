package ops

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A Row is one row of a sparse matrix: the columns of its entries, ascending, and their values.
type Row struct {
	Nodes  []kv.NodeID
	Values []float64
}

// At is the entry of a column, zero if there is none.
func (r Row) At(v kv.NodeID) float64 {
	if i, ok := slices.BinarySearch(r.Nodes, v); ok {
		return r.Values[i]
	}
	return 0
}

// OperatorRows returns row v of S_1 … S_K; of the operator, Hops and SelfLoops count. With b_1[w] = A_vw, and
// b_{k+1}[w] = Σ_u b_k[u] A_uw / r_u, where r are the sums of the rows of A, the row of Ã^k is b_k[w] / √(r_v r_w); S_k
// leaves out its entry v. With SelfLoops, A+I replaces A, and no entry is left out. Adjacency is read a block at a
// time, in at most 2K passes over the graph.
//
// Every arc that is walked is taken off steps, which calls may share. When none is left, the error is ErrReach. The
// rows have no more entries than arcs were walked.
func OperatorRows(
	ctx context.Context, tx *kv.Tx, v kv.NodeID, op Operator, steps *atomic.Int64,
) ([]Row, error) {
	switch {
	case int64(v) >= int64(tx.NumNodes()):
		return nil, fmt.Errorf("node number %d of %d: %w", v, tx.NumNodes(), kv.ErrNotFound)
	case op.Hops < 0:
		return nil, fmt.Errorf("%d hops: want 0 or more: %w", op.Hops, ErrShape)
	}
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return nil, err
	}
	graph := tx.Undirected()
	sums := newKnownStrengths(ctx, tx, blocks)
	if op.SelfLoops {
		sums.loop = 1
	}
	if err := sums.read([]kv.NodeID{v}); err != nil {
		return nil, err
	}
	own := sums.of(v)
	lists := listReader{ctx: ctx, blocks: blocks, graph: graph}
	rows, next := make([]Row, op.Hops), &hopSums{few: newSparse(), denseSums: densePool.Get().(*denseSums)}
	defer func() {
		next.clear(false, 0)
		densePool.Put(next.denseSums)
	}()
	from := Row{Nodes: []kv.NodeID{v}, Values: []float64{1}} // b_{k-1}[u] / r_u, ascending: sums run in one order
	for k := range rows {
		next.clear(sums.countArcs(from.Nodes) > tx.NumNodes()/mostSparse, tx.NumNodes())
		at := 0
		err := lists.each(from.Nodes, func(u kv.NodeID, list []kv.NodeID, weights []float32) error {
			if steps.Add(-int64(len(list))) < 0 {
				return fmt.Errorf("too many nodes are within %d hops: %w", k+1, ErrReach)
			}
			share := from.Values[at]
			at++
			for i, w := range list {
				b := share
				if weights != nil {
					b *= float64(weights[i])
				}
				next.add(w, b)
			}
			if op.SelfLoops {
				next.add(u, share)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		ends := next.nodes()
		if err := sums.read(ends); err != nil {
			return nil, err
		}
		rows[k] = Row{make([]kv.NodeID, 0, len(ends)), make([]float64, 0, len(ends))}
		from = Row{ends, make([]float64, len(ends))}
		for i, w := range ends {
			b, at := next.at(w), sums.of(w)
			if w != v || op.SelfLoops {
				rows[k].Nodes = append(rows[k].Nodes, w)
				rows[k].Values = append(rows[k].Values, b/math.Sqrt(own*at))
			}
			from.Values[i] = b / math.Sqrt(at*at) // where no arc leads on, nothing is made of it
		}
	}
	return rows, nil
}

// mostSparse is the share of the nodes, as a divisor, up to which so many arcs are summed by hashing. For more, a
// number for each node costs less time, and no more memory than a walk over as many arcs may take.
const mostSparse = 8

// densePool has denseSums without entries: a number for each node is much to allocate for one row.
var densePool = sync.Pool{New: func() any { return new(denseSums) }}

// denseSums have a number for each node.
type denseSums struct {
	all []float64
	set kv.NodeSet // entries of all that are set
}

// hopSums are the sums of one hop.
type hopSums struct {
	few *sparse
	*denseSums
	dense bool // the sums are in denseSums
}

// clear sets all entries to zero.
func (s *hopSums) clear(dense bool, n int) {
	if s.dense {
		for v := range s.set.All() {
			s.all[v] = 0
		}
		clear(s.set)
	} else {
		s.few.clear()
	}
	if s.dense = dense; dense && len(s.all) < n {
		s.all, s.set = make([]float64, n), bitset.New[kv.NodeID](n)
	}
}

func (s *hopSums) add(v kv.NodeID, x float64) {
	if s.dense {
		s.set.Add(v)
		s.all[v] += x
		return
	}
	s.few.add(v, x)
}

func (s *hopSums) at(v kv.NodeID) float64 {
	if s.dense {
		return s.all[v]
	}
	return s.few.at(v)
}

// nodes are those whose entries are set, ascending.
func (s *hopSums) nodes() []kv.NodeID {
	if s.dense {
		return slices.AppendSeq(make([]kv.NodeID, 0, s.set.Len()), s.set.All())
	}
	return slices.Sorted(slices.Values(s.few.nodes))
}

// A sparse is a vector of which few entries are set, found by hashing: with as many sums as in a walk over a large
// ball, it takes a quarter of the time of a map.
type sparse struct {
	nodes  []kv.NodeID // whose entries are set, in the order of their first
	values []float64   // likewise
	table  []uint32    // places in nodes, plus 1, by hash; its length is a power of two
}

func newSparse() *sparse { return &sparse{table: make([]uint32, 64)} }

// clear sets all entries to zero.
func (s *sparse) clear() {
	s.nodes, s.values = s.nodes[:0], s.values[:0]
	clear(s.table)
}

// slot is where a node is in the table, or where it would be.
func (s *sparse) slot(v kv.NodeID) int {
	mask := len(s.table) - 1
	i := int(v*0x9E3779B1>>7) & mask
	for s.table[i] != 0 && s.nodes[s.table[i]-1] != v {
		i = (i + 1) & mask
	}
	return i
}

// place is the place of a node in nodes; one that was not set is set to zero.
func (s *sparse) place(v kv.NodeID) int {
	i := s.slot(v)
	if s.table[i] != 0 {
		return int(s.table[i]) - 1
	}
	s.nodes, s.values = append(s.nodes, v), append(s.values, 0)
	s.table[i] = uint32(len(s.nodes))
	if 2*len(s.nodes) > len(s.table) {
		s.table = make([]uint32, 4*len(s.table))
		for at, u := range s.nodes {
			s.table[s.slot(u)] = uint32(at) + 1
		}
	}
	return len(s.nodes) - 1
}

// add adds to an entry.
func (s *sparse) add(v kv.NodeID, x float64) { s.values[s.place(v)] += x }

// at is an entry.
func (s *sparse) at(v kv.NodeID) float64 {
	if at := s.table[s.slot(v)]; at != 0 {
		return s.values[at-1]
	}
	return 0
}

// has says whether an entry is set.
func (s *sparse) has(v kv.NodeID) bool { return s.table[s.slot(v)] != 0 }

// knownStrengths reads the strengths of nodes as they are asked for.
type knownStrengths struct {
	tx        *kv.Tx
	rows      listReader
	places    *sparse   // of the known nodes
	strengths []float64 // by place
	degrees   []uint32
	loop      float64 // that every node has to itself
}

func newKnownStrengths(ctx context.Context, tx *kv.Tx, blocks []kv.Range) *knownStrengths {
	return &knownStrengths{
		tx: tx, places: newSparse(), rows: listReader{ctx: ctx, blocks: blocks, graph: tx.Undirected()},
	}
}

// of is the strength of a known node.
func (s *knownStrengths) of(v kv.NodeID) float64 { return s.strengths[s.places.place(v)] + s.loop }

// countArcs is the number of arcs from known nodes of a graph without weights; of others it is zero.
func (s *knownStrengths) countArcs(nodes []kv.NodeID) (arcs int) {
	if s.rows.graph.Weighted() {
		return 0
	}
	for _, v := range nodes {
		arcs += int(s.of(v) - s.loop)
	}
	return arcs
}

// read adds the strengths of ascending nodes to the known ones.
func (s *knownStrengths) read(nodes []kv.NodeID) error {
	unknown := make([]kv.NodeID, 0, len(nodes))
	for _, v := range nodes {
		if !s.places.has(v) {
			unknown = append(unknown, v)
			s.places.place(v)
			s.strengths = append(s.strengths, 0)
		}
	}
	if !s.rows.graph.Weighted() {
		return s.rows.eachBlock(unknown, s.readDegrees)
	}
	return s.rows.each(unknown, func(v kv.NodeID, list []kv.NodeID, weights []float32) error {
		s.strengths[s.places.place(v)] = kernel.Strength(list, weights)
		return nil
	})
}

// readDegrees reads the degrees of a graph without weights, which cost less than its lists.
func (s *knownStrengths) readDegrees(r kv.Range, nodes []kv.NodeID) error {
	if len(nodes) < wholeBlock {
		for _, v := range nodes {
			degree, err := s.tx.Degree(v)
			if err != nil {
				return err
			}
			s.strengths[s.places.place(v)] = float64(degree)
		}
		return nil
	}
	s.degrees = slices.Grow(s.degrees[:0], r.Len())[:r.Len()]
	if err := s.tx.ReadDegrees(r, s.degrees); err != nil {
		return err
	}
	for _, v := range nodes {
		s.strengths[s.places.place(v)] = float64(s.degrees[v-r.First])
	}
	return nil
}

// Of fewer nodes of a block the lists are read one by one, which decodes only a part of it.
const wholeBlock = 16

// A listReader reads lists of neighbours.
type listReader struct {
	ctx       context.Context
	blocks    []kv.Range
	graph     *kv.Undirected
	adjacency kv.Adjacency
	list      []kv.NodeID
}

// each calls visit for ascending nodes, with their lists and the weights, nil of a graph without; both are borrowed.
func (l *listReader) each(nodes []kv.NodeID, visit func(v kv.NodeID, list []kv.NodeID, weights []float32) error) error {
	return l.eachBlock(nodes, func(r kv.Range, nodes []kv.NodeID) error {
		if len(nodes) < wholeBlock && !l.graph.Weighted() {
			for _, v := range nodes {
				l.list = l.list[:0]
				for u, err := range l.graph.Neighbors(v) {
					if err != nil {
						return err
					}
					l.list = append(l.list, u)
				}
				if err := visit(v, l.list, nil); err != nil {
					return err
				}
			}
			return nil
		}
		if err := l.graph.ReadAdjacency(r, &l.adjacency); err != nil {
			return err
		}
		for _, v := range nodes {
			if err := visit(v, l.adjacency.Of(v), kernel.WeightsOf(&l.adjacency, int(v-r.First))); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachBlock calls visit for every block that holds some of the ascending nodes, with those nodes.
func (l *listReader) eachBlock(nodes []kv.NodeID, visit func(r kv.Range, nodes []kv.NodeID) error) error {
	for len(nodes) > 0 {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		block := l.blocks[sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].End > nodes[0] })]
		inside := sort.Search(len(nodes), func(i int) bool { return nodes[i] >= block.End })
		if err := visit(block, nodes[:inside]); err != nil {
			return err
		}
		nodes = nodes[inside:]
	}
	return nil
}
