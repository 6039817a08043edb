package kv

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// edgeKey is a pair of numbers less than 2^width as one, so that edges sort as numbers.
func edgeKey(u, v uint32, width int) uint64 { return uint64(u)<<width | uint64(v) }

// loadEdge is the edgeKey of positions or NodeIDs.
func (l *Loader) loadEdge(u, v uint32) uint64 { return edgeKey(u, v, l.width) }

// ends is the inverse of loadEdge.
func (l *Loader) ends(e uint64) (u, v uint32) {
	return uint32(e >> l.width), uint32(e & (1<<l.width - 1))
}

// numberNodes collapses parallel edges, and numbers the nodes by descending degree, ties in file order.
func (l *Loader) numberNodes(ctx context.Context) (err error) {
	if l.arcLoad != nil {
		return l.numberArcNodes(ctx)
	}
	if l.nodeAt, err = offheap.New[uint32](l.rows.len()); err != nil {
		return err
	}
	degrees := l.nodeAt.Data
	var edges atomic.Int64
	err = l.edges.Each(ctx, func(_ int, keys []uint64) error {
		// The edges of a first end follow each other, so that it is counted once.
		run, of := uint32(0), uint32(0)
		for _, e := range keys {
			p, q := l.ends(e)
			if p != of {
				atomic.AddUint32(&degrees[of], run)
				run, of = 0, p
			}
			run++
			atomic.AddUint32(&degrees[q], 1)
		}
		if run > 0 {
			atomic.AddUint32(&degrees[of], run)
		}
		l.progress(stageEdges, edges.Add(int64(len(keys))), l.edges.Len())
		return nil
	})
	if err != nil {
		return err
	}
	l.stats.Edges = edges.Load()
	l.stats.ParallelEdges = l.edges.Len() - l.stats.Edges
	l.stats.SelfLoops = l.selfLoops
	numberByDegree(degrees)
	return nil
}

// numberByDegree replaces the degrees of the nodes, by position, by their numbers.
func numberByDegree(degrees []uint32) {
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
	for position, d := range degrees { // in place: a degree is not needed once its node has a number
		degrees[position] = next[d]
		next[d]++
	}
}

// arcsMemory is what of the memory for sorting the arcs of so many edges, of 8 bytes each, may take beside the edges
// held. These are gone once the arcs are sorted, so that only what is written meanwhile must leave room for them.
func arcsMemory(memory, edges, held int64) int64 {
	if arcs := 16 * edges; 2*arcs > memory {
		return max(memory-held, memory/4)
	}
	return memory
}

// sortArcs turns every edge into two arcs, sorts them, and gives the memory and the file of the edges back.
func (l *Loader) sortArcs(ctx context.Context) error {
	memory := arcsMemory(l.sortMemory(), l.stats.Edges, l.edges.Held())
	l.arcs = spill.NewUint64(l.work.sort(), memory, 2*l.width, l.opt.Workers)
	if err := l.addArcs(ctx, l.arcs); err != nil {
		return err
	}
	if err := l.edges.Close(); err != nil {
		return err
	}
	if err := l.arcs.Sort(ctx); err != nil {
		return err
	}
	return l.keepArcs(ctx, l.arcs)
}

// writeAdjacency writes every edge under both its ends, ascending by NodeID.
func (l *Loader) writeAdjacency(ctx context.Context) (err error) {
	if l.arcLoad != nil {
		return l.writeArcs(ctx)
	}
	if l.arcs == nil {
		if err := l.sortArcs(ctx); err != nil {
			return err
		}
	}
	w := newAdjacencyWriter(l.tables.Put, l.generation, codec.ArcForm{})
	lists := listWriter{w: w, width: l.width}
	done := int64(0)
	encode := func(e *encodedLists, arcs []uint64) error {
		e.encode(arcs, l.width)
		return nil
	}
	err = spill.InOrder(ctx, l.arcs, encode, func(e *encodedLists, arcs []uint64) error {
		done += int64(len(arcs))
		l.progress(stageAdjacency, done, l.arcs.Len())
		return lists.append(e, arcs)
	})
	if err != nil {
		return err
	}
	for node := NodeID(0); int(node) < len(l.nodeAt.Data); {
		if err := ctx.Err(); err != nil {
			return err
		}
		node = NodeID(min(int(node)+contextEvery, len(l.nodeAt.Data)))
		if err := lists.upTo(node); err != nil {
			return err
		}
	}
	if err := w.close(); err != nil {
		return err
	}
	return l.arcs.Close()
}

// addArcs gives every edge in both directions, as NodeIDs, to a sorter.
func (l *Loader) addArcs(ctx context.Context, arcs *spill.Uint64) (err error) {
	writers := make([]*spill.Uint64Writer, l.edges.Workers())
	for i := range writers {
		writers[i] = arcs.Writer()
	}
	defer func() {
		for _, w := range writers {
			err = errors.Join(err, w.Close())
		}
	}()
	return l.edges.Each(ctx, func(worker int, keys []uint64) error {
		w, nodeAt := writers[worker], l.nodeAt.Data
		for _, e := range keys {
			p, q := l.ends(e)
			u, v := nodeAt[p], nodeAt[q]
			if err := w.Add(l.loadEdge(u, v)); err != nil {
				return err
			}
			if err := w.Add(l.loadEdge(v, u)); err != nil {
				return err
			}
		}
		return nil
	})
}
