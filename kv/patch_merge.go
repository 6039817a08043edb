package kv

import (
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
)

// A listMerge merges changes into the lists of nodes, which come in order.
type listMerge struct {
	*patchRewrite
	form codec.ArcForm
	next func() (spill.Record, error, bool)

	list, neighbor NodeID // of the next change
	change         halfChange
	more           bool

	merged        neighborList
	entries, arcs int64 // in the lists that were written
}

func (m *listMerge) advance() error {
	rec, err, more := m.next()
	if m.more = more && err == nil; m.more {
		m.list, m.neighbor, m.change = parseHalf(rec)
	}
	return err
}

// write writes the list of a node, with its arcs if the graph has any.
func (m *listMerge) write(out *graph.Writer, v NodeID, list []NodeID, arcs []codec.Arc) error {
	changed := m.more && m.list == v
	if !changed && len(m.removals) == 0 {
		m.count(list, arcs)
		return out.Append(list, arcs)
	}
	merged, err := m.merge(v, list, arcs)
	if err != nil {
		return err
	}
	if len(m.removals) > 0 {
		merged.without(m.b.removed, v)
	}
	ofList := merged.arcs
	if !m.form.Any() {
		ofList = nil
	}
	m.count(merged.nodes, ofList)
	return out.Append(merged.nodes, ofList)
}

// merge applies the changes of the list of a node.
func (m *listMerge) merge(v NodeID, list []NodeID, arcs []codec.Arc) (*neighborList, error) {
	merged := &m.merged
	merged.nodes, merged.arcs = merged.nodes[:0], merged.arcs[:0]
	add := func(u NodeID, a codec.Arc) {
		merged.nodes, merged.arcs = append(merged.nodes, u), append(merged.arcs, a)
	}
	for i, u := range list {
		a := codec.Arc{Out: 1, In: 1}
		if m.form.Any() {
			a = arcs[i]
		}
		if err := m.mergeUpTo(v, u, add); err != nil {
			return nil, err
		}
		a, err := m.apply(v, u, a)
		if err != nil {
			return nil, err
		}
		if a != (codec.Arc{}) {
			add(u, a)
		}
	}
	return merged, m.mergeUpTo(v, NoNode, add)
}

// mergeUpTo adds the neighbours before one that v did not have.
func (m *listMerge) mergeUpTo(v, end NodeID, add func(u NodeID, a codec.Arc)) error {
	for m.more && m.list == v && m.neighbor < end {
		u := m.neighbor
		a, err := m.apply(v, u, codec.Arc{})
		if err != nil {
			return err
		}
		if a != (codec.Arc{}) {
			add(u, a)
		}
	}
	return nil
}

// apply applies the changes of what joins v and u.
func (m *listMerge) apply(v, u NodeID, a codec.Arc) (codec.Arc, error) {
	before := a
	for m.more && m.list == v && m.neighbor == u {
		c, weight := m.change, &a.Out
		if c.back && m.form.Directed {
			weight = &a.In
		}
		if !c.back {
			m.resolvedPatch.count(c.pairChange, *weight)
		}
		var err error
		if *weight, err = m.after(c.pairChange, *weight); err != nil {
			return a, err
		}
		if !m.form.Directed {
			a.In = a.Out
		}
		if err := m.advance(); err != nil {
			return a, err
		}
	}
	if _, ok := a.Sum(); m.form.Directed && a != before && a != (codec.Arc{}) && !ok {
		return a, fmt.Errorf("edge between nodes number %d and %d: %w: the sum of the weights %v and %v is not finite",
			v, u, ErrInvalidEdge, a.Out, a.In)
	}
	return a, nil
}

// count counts the entries of a list that is written.
func (m *listMerge) count(list []NodeID, arcs []codec.Arc) {
	m.entries += int64(len(list))
	for _, a := range arcs {
		m.arcs += a.Count()
	}
}

// finish takes over the numbers of edges and arcs that were written.
func (m *listMerge) finish() {
	draft, before := m.b.draft, m.tx.cat.Edges
	draft.Edges = m.entries / 2
	after := draft.Edges
	if m.form.Directed {
		draft.Arcs = m.arcs / 2
		before, after = m.tx.cat.Arcs, draft.Arcs
	}
	m.stats.ParallelEdges = m.parallel()
	m.stats.RemovedEdges = before + m.stats.Edges - after
}
