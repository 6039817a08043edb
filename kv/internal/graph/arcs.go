package graph

import (
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// ReadWeights is Read with the weights of the undirected graph that the arcs make, if the graph has weights.
func (g *Graph) ReadWeights(r record.Range, buf *Adjacency) error {
	if !g.Form.Weighted {
		return g.Read(r, buf, false)
	}
	weights := buf.Weights
	if err := g.Read(r, buf, true); err != nil {
		return err
	}
	buf.Weights = slices.Grow(weights[:0], len(buf.Neighbors))
	for v := buf.First; v < buf.End; v++ {
		for u, arc := range buf.Edges(v) {
			w, ok := g.weight(arc)
			if !ok {
				return record.Corrupt(record.Prefix(record.KindArcs, g.Generation), fmt.Sprintf(
					"the arcs between nodes number %d and %d have weights %v and %v, whose sum is not finite", v, u, arc.Out, arc.In))
			}
			buf.Weights = append(buf.Weights, w)
		}
	}
	return nil
}

// weight is that of an edge; false if the weights of its arcs have no sum.
func (g *Graph) weight(a codec.Arc) (w float32, ok bool) {
	switch {
	case !g.Form.Directed:
		return a.Out, true
	case !g.Form.Weighted:
		return 1, true
	}
	return a.Sum()
}

// Weight is that of a neighbour.
func (g *Graph) Weight(a Arc) float32 {
	w, _ := g.weight(codec.Arc{Out: a.Out, In: a.In})
	return w
}

// An Arc is described in kv.
type Arc struct {
	Neighbor record.NodeID
	Out, In  float32
}

// ArcsOf returns the arcs of v that were read, borrowed; none if the graph has none.
func (a *Adjacency) ArcsOf(v record.NodeID) []codec.Arc {
	if len(a.arcs) == 0 {
		return nil
	}
	i := v - a.First
	return a.arcs[a.Offsets[i]:a.Offsets[i+1]]
}

// Edges yields the neighbours of v with the arcs to them, which are 1 if none were read.
func (a *Adjacency) Edges(v record.NodeID) iter.Seq2[record.NodeID, codec.Arc] {
	return func(yield func(record.NodeID, codec.Arc) bool) {
		arcs := a.ArcsOf(v)
		for i, u := range a.Of(v) {
			arc := codec.Arc{Out: 1, In: 1}
			if len(arcs) > 0 {
				arc = arcs[i]
			}
			if !yield(u, arc) {
				return
			}
		}
	}
}

// Arc is the arc that joins v, which must be in the range, to u.
func (a *Adjacency) Arc(v, u record.NodeID) codec.Arc {
	i, there := slices.BinarySearch(a.Of(v), u)
	switch {
	case !there:
		return codec.Arc{}
	case len(a.arcs) == 0:
		return codec.Arc{Out: 1, In: 1}
	}
	return a.ArcsOf(v)[i]
}

// appendArcs decodes the arcs of block b, whose lists were appended to buf.
func (g *Graph) appendArcs(p *Partition, b int, buf *Adjacency) error {
	key := p.name(record.KindArcs, b).Key()
	return snapshot.NeedChain(g.Records, key, func(body []byte) (err error) {
		buf.BytesRead += int64(len(body))
		buf.arcs, err = g.Form.AppendArcs(buf.arcs, body, len(buf.Neighbors)-len(buf.arcs))
		if lack := len(buf.Neighbors) - len(buf.arcs); err == nil && lack > 0 {
			err = fmt.Errorf("it lacks the arcs of %d neighbours", lack)
		}
		if err != nil {
			return record.Corrupt(key, err.Error())
		}
		return nil
	})
}

// arcsTarget is the encoded size of arcs, in bytes, at which a block is closed whatever its lists take.
const arcsTarget = 32 << 10
