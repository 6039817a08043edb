package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A resolvedPatch is a Patch whose ids are nodes. The writer's lock is held as long as it is used.
type resolvedPatch struct {
	*Patch
	tx    *Tx // the store as it is
	stats PatchStats

	added    *spill.Sorter // a patchNode for each node that is to be added, by row
	known    *spill.Sorter // the same for each that is there, by NodeID
	pairs    *spill.Sorter // changes of edges, under both ends: by a node, the other, which of them is the second, and the number of the row
	removals []NodeID      // ascending
	removed  NodeSet       // the same

	ranks []uint32 // of an added node by its row: how many are added before it

	bad patchErrors
}

// patchErrors keep the error of the least source, of nodes before edges.
type patchErrors struct {
	node, edge     error
	nodeAt, edgeAt int64
}

func (e *patchErrors) ofNode(source int64, err error) {
	if e.node == nil || source < e.nodeAt {
		e.node, e.nodeAt = err, source
	}
}

func (e *patchErrors) ofEdge(source int64, err error) {
	if e.edge == nil || source < e.edgeAt {
		e.edge, e.edgeAt = err, source
	}
}

func (e *patchErrors) err() error {
	if e.node != nil {
		return e.node
	}
	return e.edge
}

func (p *Patch) newSorter() *spill.Sorter { return spill.New(p.s.dir, p.s.opt.MemoryBudget/16) }

func (r *resolvedPatch) close() error {
	r.tx.Close()
	return errors.Join(r.added.Close(), r.known.Close(), r.pairs.Close())
}

// resolve looks up the ids.
func (p *Patch) resolve(ctx context.Context) (r *resolvedPatch, err error) {
	r = &resolvedPatch{Patch: p, tx: p.s.Begin(), added: p.newSorter(), known: p.newSorter(), pairs: p.newSorter()}
	ends := p.newSorter()
	defer func() {
		if err = errors.Join(err, ends.Close()); err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.removed = NewNodeSet(r.tx.NumNodes())
	if err := r.eachID(ctx, ends); err != nil {
		return r, err
	}
	if err := r.bad.err(); err != nil {
		return r, err
	}
	if r.tx.cat.Nodes+int(r.stats.Nodes) > record.MaxNodes {
		return r, fmt.Errorf("the store is full: it has %d nodes, and %d more are to be added", r.tx.cat.Nodes, r.stats.Nodes)
	}
	if err := r.number(ctx); err != nil {
		return r, err
	}
	return r, r.pair(ctx, ends)
}

// An idGroup is what is asked for of one id.
type idGroup struct {
	id       string
	v        NodeID // NoNode if there is no such node
	row      *patchNode
	removals int
}

// reference is the node of a group, or that of its row, for the end of an edge: the byte says which.
func (g *idGroup) reference() [9]byte {
	var b [9]byte
	if g.v == NoNode {
		b[0] = 1
		binary.BigEndian.PutUint64(b[1:], g.row.Row)
	} else {
		binary.BigEndian.PutUint64(b[1:], uint64(g.v))
	}
	return b
}

// eachID takes what is asked for of each id together, and hands the ends of edges to ends, by the number of the edge.
func (r *resolvedPatch) eachID(ctx context.Context, ends *spill.Sorter) error {
	var g idGroup
	first, done := true, int64(0)
	for rec, err := range r.ids.Records(ctx) {
		if err != nil {
			return err
		}
		if done++; done%contextEvery == 0 {
			r.opt.Progress("ids", done, r.ids.Len())
		}
		id, kind := rec.Key[:len(rec.Key)-2], rec.Key[len(rec.Key)-1]
		if first || g.id != string(id) {
			if err := r.endGroup(&g); err != nil {
				return err
			}
			g, first = idGroup{id: string(id), v: NoNode}, false
			v, err := r.tx.Node(g.id)
			if err == nil {
				g.v = v
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		if err := r.take(&g, kind, rec.Value, ends); err != nil {
			return err
		}
	}
	return r.endGroup(&g)
}

// take takes one thing that is asked for of an id.
func (r *resolvedPatch) take(g *idGroup, kind byte, value []byte, ends *spill.Sorter) error {
	switch kind {
	case askNode:
		row := new(patchNode)
		if err := msgpack.Unmarshal(value, row); err != nil {
			return err
		}
		if g.row != nil {
			r.bad.ofNode(row.Source, &DuplicateNodeError{ID: g.id, First: g.row.Source, Second: row.Source})
			return nil
		}
		g.row = row
	case askRemoval:
		source := int64(binary.BigEndian.Uint64(value))
		switch {
		case g.v == NoNode:
			r.bad.ofNode(source, &MissingNodeError{ID: g.id, Source: source})
		case g.row != nil:
			r.bad.ofNode(source, fmt.Errorf("node %q: %w: it is to be added, and to be removed", g.id, ErrExists))
		case g.removals == 0:
			r.removed.Add(g.v)
		}
		g.removals++
	case askEnd:
		end := parsePatchEnd(value)
		if g.v == NoNode && g.row == nil {
			r.bad.ofEdge(end.source, &UnknownNodeError{ID: g.id, Source: end.source})
			return nil
		}
		reference := g.reference()
		return ends.AddUint64(2*end.edge+uint64(end.end), append(reference[:], value...))
	}
	return nil
}

// endGroup takes the row of a group.
func (r *resolvedPatch) endGroup(g *idGroup) error {
	if g.row == nil {
		return nil
	}
	if g.v == NoNode {
		return r.put(r.added, g.row.Row, g.row, &r.stats.Nodes)
	}
	if r.opt.Known != nil {
		n := Node{ID: g.id, Label: g.row.Label, Values: g.row.Values, Source: g.row.Source}
		if err := r.opt.Known(r.tx, g.v, &n); err != nil {
			return err
		}
		g.row.Label, g.row.Values = n.Label, n.Values
	}
	return r.put(r.known, uint64(g.v), g.row, &r.stats.Known)
}

func (r *resolvedPatch) put(to *spill.Sorter, key uint64, row *patchNode, count *int64) error {
	*count++
	body, err := msgpack.Marshal(row)
	if err != nil {
		return err
	}
	return to.AddUint64(key, body)
}

// number numbers the added nodes in the order of their rows, and lists the removed ones.
func (r *resolvedPatch) number(ctx context.Context) error {
	for v := range r.removed.All() {
		r.removals = append(r.removals, v)
	}
	r.stats.RemovedNodes = int64(len(r.removals))
	if r.stats.Nodes == 0 {
		return nil
	}
	r.ranks = make([]uint32, r.rows)
	next := uint32(0)
	for rec, err := range r.added.Records(ctx) {
		if err != nil {
			return err
		}
		r.ranks[binary.BigEndian.Uint64(rec.Key)] = next
		next++
	}
	return nil
}

// node is the node of a reference.
func (r *resolvedPatch) node(reference []byte) NodeID {
	number := binary.BigEndian.Uint64(reference[1:])
	if reference[0] == 0 {
		return NodeID(number)
	}
	return NodeID(r.tx.cat.Nodes) + NodeID(r.ranks[number])
}

// A pairChange is what rows of edges make of the arc from a node to a neighbour, in an undirected graph of the edge.
type pairChange struct {
	node, neighbor NodeID
	back           bool // the arc is that from the neighbour; in an undirected graph, it is the lesser of both

	remove bool
	weight float64 // 0: none is given
	source int64   // of the first row
}

// pair puts the ends of each edge together, and sorts the edges by both.
func (r *resolvedPatch) pair(ctx context.Context, ends *spill.Sorter) error {
	var src NodeID
	for rec, err := range ends.Records(ctx) {
		if err != nil {
			return err
		}
		v, end := r.node(rec.Value), parsePatchEnd(rec.Value[9:])
		if end.end == 0 {
			src = v
			continue
		}
		if end.weight != 0 && !r.tx.cat.Weighted {
			return fmt.Errorf("edge at %d: %w: the graph has no weights", end.source, ErrInvalidEdge)
		}
		u := src
		if u == v {
			if end.remove {
				r.bad.ofEdge(end.source, r.unknownEdge(pairChange{node: u, neighbor: v, source: end.source}))
			}
			r.stats.SelfLoops++
			continue
		}
		if !r.tx.cat.Directed && u > v {
			u, v = v, u
		}
		err = errors.Join(r.pairs.Add(append(pairBytes(u, v), 0), rec.Value[9:]), r.pairs.Add(append(pairBytes(v, u), 1), rec.Value[9:]))
		if err != nil {
			return err
		}
	}
	return r.bad.err()
}

// changes yields the changes of edges under both ends, ascending. A removal counts for the edge that there was: what is
// added beside it stays.
func (r *resolvedPatch) changes(ctx context.Context) iter.Seq2[pairChange, error] {
	return func(yield func(pairChange, error) bool) {
		var c pairChange
		var key []byte // of c; nil: none
		for rec, err := range r.pairs.Records(ctx) {
			if err != nil {
				yield(c, err)
				return
			}
			end := parsePatchEnd(rec.Value)
			if bytes.Equal(rec.Key, key) {
				c.weight += float64(end.weight)
				c.remove = c.remove && end.remove
				continue
			}
			if key != nil && !yield(c, nil) {
				return
			}
			key = append(key[:0], rec.Key...)
			c = pairChange{remove: end.remove, weight: float64(end.weight), source: end.source}
			c.node, c.neighbor = pairOf(key)
			c.back = key[8] != 0
		}
		if key != nil {
			yield(c, nil)
		}
	}
}

// unknownEdge is the error of an edge that is to be removed and is not there.
func (r *resolvedPatch) unknownEdge(c pairChange) error {
	src, err1 := r.tx.ID(c.node)
	dst, err2 := r.tx.ID(c.neighbor)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return &MissingEdgeError{Src: src, Dst: dst, Source: c.source}
}

// after is the weight of an arc with a change, given the weight before; 0 is none.
func (r *resolvedPatch) after(c pairChange, before float32) (float32, error) {
	switch {
	case c.remove:
		return 0, nil
	case c.weight == 0 && before != 0:
		return before, nil
	case c.weight == 0:
		return 1, nil
	}
	w := float32(c.weight)
	if !codec.ValidWeight(w) {
		return 0, fmt.Errorf("edge at %d: %w: the sum of its weights is not finite", c.source, ErrInvalidEdge)
	}
	return w, nil
}

// count counts a change, and notes an edge that is to be removed and is not there.
func (r *resolvedPatch) count(c pairChange, before float32) {
	switch {
	case c.remove && before == 0:
		r.bad.ofEdge(c.source, r.unknownEdge(c))
	case c.remove:
		r.stats.RemovedEdges++
	case before != 0:
		r.stats.Present++
	default:
		r.stats.Edges++
	}
}
