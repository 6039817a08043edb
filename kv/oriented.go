package kv

import (
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/gap"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Direction says which arcs of a directed graph are walked.
type Direction uint8

// The directions.
const (
	Both Direction = iota // the undirected graph that the arcs make; where weighted, the weights of two arcs add up
	Out                   // from a node to those that its arcs lead to
	In                    // from a node to those whose arcs lead to it
)

// directionNames are what users call directions.
var directionNames = [...]string{Both: "both", Out: "out", In: "in"}

func (d Direction) String() string {
	if int(d) < len(directionNames) {
		return directionNames[d]
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// UnmarshalText is the inverse of String.
func (d *Direction) UnmarshalText(name []byte) error {
	i := slices.Index(directionNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("got %q, want both, out or in", name)
	}
	*d = Direction(i)
	return nil
}

// Directed reports whether the edges of the store have a direction.
func (tx *Tx) Directed() bool { return tx.cat.Directed }

// Weighted reports whether the edges of the store have weights.
func (tx *Tx) Weighted() bool { return tx.cat.Weighted }

// NumArcs is the number of arcs of a directed graph; of an undirected one each edge is two.
func (tx *Tx) NumArcs() int64 {
	if tx.cat.Directed {
		return tx.cat.Arcs
	}
	return 2 * tx.cat.Edges
}

// An Oriented is the graph of a snapshot as seen along one direction: with A_vu the weight of the arc v→u, the list of
// v holds, ascending,
//
//	Out   u with A_vu > 0, of weight A_vu
//	In    u with A_uv > 0, of weight A_uv
//	Both  u with either, of weight A_vu + A_uv, rounded to float32; of weight 1 where the graph is unweighted
//
// In an undirected graph A is symmetric and every direction is the same. An Oriented may be used as its Tx may.
type Oriented struct {
	tx        *Tx
	direction Direction
}

// Along returns the graph along a direction.
func (tx *Tx) Along(d Direction) *Oriented {
	if !tx.cat.Directed {
		d = Both
	}
	return &Oriented{tx, d}
}

// Direction is the one that the graph is seen along; Both of an undirected store.
func (o *Oriented) Direction() Direction { return o.direction }

// Weighted reports whether ReadAdjacency yields weights.
func (o *Oriented) Weighted() bool { return o.tx.cat.Weighted }

// Symmetric reports whether u is in the list of v wherever v is in that of u, with the same weight.
func (o *Oriented) Symmetric() bool { return o.direction == Both }

// Reverse is the graph along the other direction.
func (o *Oriented) Reverse() *Oriented {
	return &Oriented{o.tx, [...]Direction{Both: Both, Out: In, In: Out}[o.direction]}
}

// NumNodes is the number of nodes, n.
func (o *Oriented) NumNodes() int { return o.tx.NumNodes() }

// AdjacencyBlocks is Tx.AdjacencyBlocks: the ranges are the same along every direction.
func (o *Oriented) AdjacencyBlocks() ([]Range, error) { return o.tx.AdjacencyBlocks() }

// ReadAdjacency is Tx.ReadAdjacency with the lists of the direction, and their weights where the graph has weights.
func (o *Oriented) ReadAdjacency(r Range, buf *Adjacency) error {
	if o.Symmetric() && !o.Weighted() {
		return o.tx.ReadAdjacency(r, buf)
	}
	weights := buf.Weights
	if err := o.tx.readArcs(r, buf); err != nil {
		return err
	}
	if o.Weighted() {
		buf.Weights = slices.Grow(weights[:0], len(buf.Neighbors))
	}
	return o.orient(buf)
}

// orient keeps of the lists what belongs to the direction.
func (o *Oriented) orient(buf *Adjacency) error {
	kept, begin := 0, int64(0)
	for i := range buf.Len() {
		end := buf.Offsets[i+1]
		for j := begin; j < end; j++ {
			w, ok := o.weight(buf.arcs[j])
			if !ok {
				return record.Corrupt(record.Prefix(record.KindArcs, o.tx.cat.Graph), fmt.Sprintf(
					"the arcs between nodes number %d and %d have weights %v and %v, whose sum is not finite",
					buf.First+NodeID(i), buf.Neighbors[j], buf.arcs[j].Out, buf.arcs[j].In))
			}
			if w == 0 {
				continue
			}
			buf.Neighbors[kept] = buf.Neighbors[j]
			if o.Weighted() {
				buf.Weights = append(buf.Weights, w)
			}
			kept++
		}
		begin, buf.Offsets[i+1] = end, int64(kept)
	}
	buf.Neighbors = buf.Neighbors[:kept]
	return nil
}

// weight is that of an arc along the direction, zero where there is none; false where a sum has none.
func (o *Oriented) weight(a codec.Arc) (w float32, ok bool) {
	switch {
	case o.direction == Out || !o.tx.cat.Directed:
		return a.Out, true
	case o.direction == In:
		return a.In, true
	case !o.Weighted():
		return 1, true
	}
	return a.Sum()
}

// Weight is that of a neighbour along the direction, zero where it is none.
func (o *Oriented) Weight(a Arc) float32 {
	w, _ := o.weight(codec.Arc{Out: a.Out, In: a.In})
	return w
}

// Neighbors yields the neighbours of v along the direction, ascending. On failure it yields the error once, and stops.
func (o *Oriented) Neighbors(v NodeID) iter.Seq2[NodeID, error] {
	if o.Symmetric() {
		return o.tx.Neighbors(v)
	}
	return func(yield func(NodeID, error) bool) {
		for a, err := range o.tx.Arcs(v) {
			if err != nil {
				yield(0, err)
				return
			}
			if o.Weight(a) == 0 {
				continue
			}
			if !yield(a.Neighbor, nil) {
				return
			}
		}
	}
}

// An Arc is a neighbour of a node, the weight of the arc to it and of the arc from it; 0 where there is none. In an
// undirected graph both are the weight of the edge, in an unweighted one weights are 1.
type Arc struct {
	Neighbor NodeID
	Out, In  float32
}

// Arcs yields the neighbours of v, ascending, with what joins them. On failure it yields the error once, and stops.
func (tx *Tx) Arcs(v NodeID) iter.Seq2[Arc, error] {
	return func(yield func(Arc, error) bool) {
		fail := func(err error) { yield(Arc{}, err) }
		if !tx.cat.arcForm().Any() {
			for u, err := range tx.Neighbors(v) {
				if err != nil {
					fail(err)
					return
				}
				if !yield(Arc{u, 1, 1}, nil) {
					return
				}
			}
			return
		}
		if err := tx.checkNode(v); err != nil {
			fail(err)
			return
		}
		changes, err := tx.edgeDeltasOf(v)
		if err != nil {
			fail(err)
			return
		}
		for list, err := range tx.loadedArcs(v) {
			if err != nil {
				fail(err)
				return
			}
			due := len(changes)
			if n := len(list.Neighbors); n > 0 {
				due = 0
				for due < len(changes) && changes[due].v <= list.Neighbors[n-1] {
					due++
				}
			}
			if err := list.apply(changes[:due], true); err != nil {
				fail(err)
				return
			}
			changes = changes[due:]
			for i, u := range list.Neighbors {
				if !yield(Arc{u, list.arcs[i].Out, list.arcs[i].In}, nil) {
					return
				}
			}
		}
	}
}

// readLists is readArcs where the graph has arcs, and ReadAdjacency where it has none.
func (tx *Tx) readLists(r Range, buf *Adjacency) error {
	if tx.cat.arcForm().Any() {
		return tx.readArcs(r, buf)
	}
	return tx.ReadAdjacency(r, buf)
}

// arcsOf returns the arcs of v that readLists read, borrowed; none where the graph has none.
func (a *Adjacency) arcsOf(v NodeID) []codec.Arc {
	if len(a.arcs) == 0 {
		return nil
	}
	i := v - a.First
	return a.arcs[a.Offsets[i]:a.Offsets[i+1]]
}

// readArcs is ReadAdjacency of a directed or weighted graph, with the arcs of all neighbours.
func (tx *Tx) readArcs(r Range, buf *Adjacency) error {
	d, err := tx.directory()
	if err != nil {
		return err
	}
	if r.End < r.First || int(r.End) > tx.cat.Nodes {
		return fmt.Errorf("adjacency of nodes %d to %d of %d: %w", r.First, r.End, tx.cat.Nodes, ErrShape)
	}
	*buf = Adjacency{
		Range: r, Offsets: append(buf.Offsets[:0], 0), Neighbors: buf.Neighbors[:0], arcs: buf.arcs[:0],
	}
	if err := tx.readLoaded(d, r, buf); err != nil {
		return err
	}
	for b := d.find(r.First); b < d.blocks() && d.starts[b] < r.End; b++ {
		if err := tx.readBlockArcs(d, b, buf); err != nil {
			return err
		}
	}
	if tx.cat.EdgeDeltas == 0 {
		return nil
	}
	deltas, err := tx.edgeDeltas(r)
	if err != nil {
		return err
	}
	return buf.apply(deltas, true)
}

// readBlockArcs decodes the arcs of block b, whose lists buf holds, behind the arcs that it holds.
func (tx *Tx) readBlockArcs(d *directory, b int, buf *Adjacency) error {
	begin := len(buf.arcs)
	end := int(buf.Offsets[d.starts[b+1]-buf.First])
	for part := range d.parts[b] {
		key := record.PairKey(record.KindArcs, d.generation, uint32(b), part)
		err := tx.readPart(d, b, part, key, func(body []byte) (err error) {
			buf.BytesRead += int64(len(body))
			buf.arcs, err = tx.cat.arcForm().AppendArcs(buf.arcs, body, end-len(buf.arcs))
			if err != nil {
				return record.Corrupt(key, err.Error())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(buf.arcs) != end {
		return d.tooFew(b, len(buf.arcs)-begin, end-begin)
	}
	return nil
}

// tooFew is the error of a block whose arcs are not those of all its neighbours.
func (d *directory) tooFew(b, got, want int) error {
	key := record.PairKey(record.KindArcs, d.generation, uint32(b), 0)
	return record.Corrupt(key, fmt.Sprintf("it holds the arcs of %d neighbours, want %d", got, want))
}

// loadedArcs yields the list of v in the blocks with its arcs, ascending, in one piece or, for a hub, in several. There
// is always a last piece, though it may be empty. A piece is borrowed until the next.
func (tx *Tx) loadedArcs(v NodeID) iter.Seq2[*Adjacency, error] {
	return func(yield func(*Adjacency, error) bool) {
		piece := &Adjacency{Range: Range{v, v + 1}, Offsets: make([]int64, 2)}
		if int(v) < tx.cat.LoadedNodes {
			d, err := tx.directory()
			if err != nil {
				yield(nil, err)
				return
			}
			b := d.find(v)
			for part := range d.parts[b] {
				if err := tx.lookupArcs(d, b, part, piece); err != nil {
					yield(nil, err)
					return
				}
				if !yield(piece, nil) {
					return
				}
			}
		}
		piece.Offsets[0], piece.Offsets[1] = 0, 0
		piece.Neighbors, piece.arcs = piece.Neighbors[:0], piece.arcs[:0]
		yield(piece, nil)
	}
}

// lookupArcs reads the list of one node, whose range piece has, from one part of block b, with its arcs.
func (tx *Tx) lookupArcs(d *directory, b int, part uint32, piece *Adjacency) error {
	block, err := tx.lookupBlock(d, b, part)
	if err != nil {
		return err
	}
	row := int(piece.First - d.starts[b])
	piece.Neighbors, err = gap.AppendRow(piece.Neighbors[:0], block.Block, row)
	if err != nil {
		return d.damaged(b, part, err)
	}
	degrees, err := gap.AppendDegrees([]uint32(nil), block.Block)
	if err != nil {
		return d.damaged(b, part, err)
	}
	before := 0
	for _, degree := range degrees[:row] {
		before += int(degree)
	}
	name := recordName{record.KindArcs, d.generation, uint32(b), part}
	r, err := tx.lookup(name)
	if err != nil {
		return err
	}
	piece.arcs, err = tx.cat.arcForm().AppendArcs(piece.arcs[:0], r.body, block.Entries())
	if err != nil {
		return record.Corrupt(name.key(), err.Error())
	}
	if len(piece.arcs) != block.Entries() || before+len(piece.Neighbors) > len(piece.arcs) {
		return d.tooFew(b, len(piece.arcs), block.Entries())
	}
	piece.arcs = append(piece.arcs[:0], piece.arcs[before:before+len(piece.Neighbors)]...)
	piece.Offsets[0], piece.Offsets[1] = 0, int64(len(piece.Neighbors))
	return nil
}

// loadedArc is what joins u to v in the blocks.
func (tx *Tx) loadedArc(u, v NodeID) (codec.Arc, error) {
	if !tx.cat.arcForm().Any() {
		there, err := tx.hasLoadedEdge(u, v)
		if !there {
			return codec.Arc{}, err
		}
		return codec.Arc{Out: 1, In: 1}, err
	}
	// The later node has the shorter list, as the load numbers nodes.
	later, earlier := max(u, v), min(u, v)
	if int(later) >= tx.cat.LoadedNodes {
		return codec.Arc{}, nil
	}
	d, err := tx.directory()
	if err != nil {
		return codec.Arc{}, err
	}
	b := d.find(later)
	part, err := tx.findPart(d, b, earlier)
	if err != nil {
		return codec.Arc{}, err
	}
	piece := &Adjacency{Range: Range{later, later + 1}, Offsets: make([]int64, 2)}
	if err := tx.lookupArcs(d, b, part, piece); err != nil {
		return codec.Arc{}, err
	}
	i, found := slices.BinarySearch(piece.Neighbors, earlier)
	switch {
	case !found:
		return codec.Arc{}, nil
	case later == u:
		return piece.arcs[i], nil
	}
	return piece.arcs[i].Reversed(), nil
}

// arcsTarget is the encoded size of arcs, in bytes, at which a block is closed whatever its lists take.
const arcsTarget = 32 << 10
