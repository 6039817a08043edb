package kv

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// An EdgeWriter adds edges to a load. Any number may be used at once, each by one goroutine. Close it before Commit.
type EdgeWriter struct {
	l         *Loader
	sorter    *spill.Uint64Writer // nil where ids are joined by sorting, and of an arcLoad
	rows      []byte              // arc rows collected
	selfLoops int64
	err       error
}

// EdgeWriter begins another writer of edges. All nodes must have been added.
func (l *Loader) EdgeWriter() *EdgeWriter {
	w := &EdgeWriter{l: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		w.err = fmt.Errorf("loader: %w", ErrClosed)
	case l.kept:
		w.err = errEdgesThere
	case l.integers.off:
	case l.arcLoad != nil:
		l.beginArcs()
	default:
		w.sorter = l.beginEdges().Writer()
	}
	l.edgesBegun = true
	return w
}

// errEdgesThere is returned to who adds edges to a load that has Completed them.
var errEdgesThere = errors.New("kv: the edges are those of the load that was interrupted")

func (l *Loader) setWidth() { l.width = bits.Len64(uint64(max(l.stats.Nodes-1, 0))) }

// beginEdges returns the sorter of edges, which it makes once the number of nodes is known; l is locked.
func (l *Loader) beginEdges() *spill.Uint64 {
	if l.edges == nil {
		l.setWidth()
		l.edges = spill.NewUint64(l.work.sort(), l.sortMemory(), 2*l.width, l.opt.Workers)
	}
	return l.edges
}

// Add adds an edge between two external ids, of weight 1; unless the load is Directed, its direction does not matter.
// Self loops, and but for weighted loads edges that are there already, are dropped and counted; an id that no node has
// shows in Commit, or is told to LoadOptions.BadRow. Source is the caller's mark for errors. Add keeps neither string.
func (w *EdgeWriter) Add(src, dst string, source int64) error {
	return w.AddWeighted(src, dst, 1, source)
}

// AddWeighted is Add with a weight, which must be finite and greater than 0 and, unless the load is Weighted, 1: an
// ErrInvalidEdge otherwise. That weights add up to more than a float32 holds shows in Commit.
func (w *EdgeWriter) AddWeighted(src, dst string, weight float32, source int64) error {
	if w.err != nil {
		return w.err
	}
	if weight != 1 && (!w.l.opt.Weighted || !validWeight(weight)) {
		return fmt.Errorf("edge at %d: %w: got weight %v", source, ErrInvalidEdge, weight)
	}
	if w.l.integers.off {
		return w.join(src, dst, weight, source)
	}
	p, ok := w.l.integers.find(src)
	if !ok {
		return w.l.unknownEnd(src, source)
	}
	q, ok := w.l.integers.find(dst)
	if !ok {
		return w.l.unknownEnd(dst, source)
	}
	return w.addEdge(p, q, weight)
}

// addEdge adds an edge between two positions.
func (w *EdgeWriter) addEdge(p, q uint32, weight float32) error {
	switch {
	case p == q:
		w.selfLoops++
		return nil
	case w.sorter == nil:
		return w.addArc(p, q, weight)
	}
	return w.sorter.Add(w.l.loadEdge(min(p, q), max(p, q)))
}

// Close hands over what is left. Closing twice is harmless.
func (w *EdgeWriter) Close() error {
	w.l.mu.Lock()
	w.l.selfLoops += w.selfLoops
	w.l.mu.Unlock()
	w.selfLoops = 0
	switch {
	case w.err != nil:
		return w.err
	case len(w.rows) > 0:
		return w.flushArcs()
	case w.sorter != nil:
		return w.sorter.Close()
	}
	return nil
}

// AddEdge is EdgeWriter.Add for a caller with one goroutine, the Loader's.
func (l *Loader) AddEdge(src, dst string, source int64) error {
	if l.over {
		return fmt.Errorf("loader: %w", ErrClosed)
	}
	if l.own == nil {
		l.own = l.EdgeWriter()
	}
	return l.own.Add(src, dst, source)
}

func (l *Loader) closeOwn() error {
	if l.own == nil {
		return nil
	}
	return l.own.Close()
}

// unknownEnd deals with an edge that ends at an id that no node has.
func (l *Loader) unknownEnd(id string, source int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opt.BadRow != nil {
		return l.opt.BadRow(&UnknownNodeError{ID: strings.Clone(id), Source: source})
	}
	l.unknown.note(id, source)
	return nil
}

// join keeps an edge until the ids have been sorted.
func (w *EdgeWriter) join(src, dst string, weight float32, source int64) error {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	return w.l.join.add(src, dst, weight, source)
}
