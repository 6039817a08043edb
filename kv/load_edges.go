package kv

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// A loadEdge is a pair of numbers in one, so that edges sort as numbers.
func loadEdge(u, v uint32) uint64 { return uint64(u)<<32 | uint64(v) }

// addEdge adds the edge between two positions.
func (l *Loader) addEdge(p, q uint32) error {
	if p == q {
		l.stats.SelfLoops++
		return nil
	}
	return l.edges.Add(loadEdge(min(p, q), max(p, q)))
}

// distinctEdges hands every edge to each once, the lesser position first, ascending.
func (l *Loader) distinctEdges(ctx context.Context, stage string, each func(p, q uint32) error) error {
	previous, done := uint64(0), int64(0) // 0–0 is a loop, which is not among the edges
	for e, err := range l.edges.Sort(ctx) {
		if err != nil {
			return err
		}
		if done++; done%contextEvery == 0 {
			l.progress(stage, done, l.edges.Len())
		}
		if e == previous {
			continue
		}
		previous = e
		if err := each(uint32(e>>32), uint32(e)); err != nil {
			return err
		}
	}
	return nil
}

// numberNodes collapses parallel edges, and numbers the nodes by descending degree, ties in file order.
func (l *Loader) numberNodes(ctx context.Context) error {
	degrees := make([]uint32, l.rows.rows)
	err := l.distinctEdges(ctx, stageEdges, func(p, q uint32) error {
		degrees[p]++
		degrees[q]++
		l.stats.Edges++
		return nil
	})
	if err != nil {
		return err
	}
	l.stats.ParallelEdges = l.edges.Len() - l.stats.Edges

	// A counting sort: next[d] is the number of the next node of degree d.
	next := make([]uint32, 1)
	if len(degrees) > 0 {
		next = make([]uint32, slices.Max(degrees)+1)
	}
	for _, d := range degrees {
		next[d]++
	}
	for d, first := len(next)-1, uint32(0); d >= 0; d-- {
		next[d], first = first, first+next[d]
	}
	l.nodeAt = degrees // in place: a degree is not needed once its node has a number
	for position, d := range degrees {
		l.nodeAt[position] = next[d]
		next[d]++
	}
	return nil
}

// writeAdjacency writes every edge under both its ends, ascending by NodeID.
func (l *Loader) writeAdjacency(ctx context.Context) (err error) {
	arcs := spill.NewUint64(l.work.sort(), l.unit)
	defer func() {
		if closing := arcs.Close(); err == nil {
			err = closing
		}
	}()
	err = l.distinctEdges(ctx, stageAdjacency, func(p, q uint32) error {
		u, v := l.nodeAt[p], l.nodeAt[q]
		if err := arcs.Add(loadEdge(u, v)); err != nil {
			return err
		}
		return arcs.Add(loadEdge(v, u))
	})
	if err != nil {
		return err
	}
	if err := l.edges.Close(); err != nil {
		return err
	}
	w := adjacencyWriter{put: l.batch.put, directory: directory{generation: l.generation}}
	var list []NodeID
	for arc, err := range arcs.Sort(ctx) {
		if err != nil {
			return err
		}
		for w.next < NodeID(arc>>32) {
			if err := w.append(list); err != nil {
				return err
			}
			list = list[:0]
		}
		list = append(list, NodeID(uint32(arc)))
	}
	for int(w.next) < len(l.nodeAt) {
		if err := ctx.Err(); int(w.next)%contextEvery == 0 && err != nil {
			return err
		}
		if err := w.append(list); err != nil {
			return err
		}
		list = list[:0]
	}
	return w.close()
}
