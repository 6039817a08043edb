package load

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An edgeSorter has the edges of a load, sorted twice: their rows by the positions of their ends, and later each edge
// under both of its ends, by NodeIDs.
type edgeSorter interface {
	// writer begins a writer of rows, once the number of nodes is known. The Load is locked.
	writer() edgeRows

	// sortRows sorts the rows. All writers are closed.
	sortRows(ctx context.Context) error

	// number collapses parallel edges, and numbers the nodes by descending degree, ties in file order.
	number(ctx context.Context) error

	// sortLists sorts the edges under both of their ends, and gives the memory and the file of the rows back.
	sortLists(ctx context.Context) error

	// write writes the lists of all nodes.
	write(ctx context.Context, put Put, g record.Generation) error

	close() error
}

// edgeRows takes the rows of edges files.
type edgeRows interface {
	// add adds batchEdges edges at most that are no self loops, whose ends are at positions two by two, with their
	// weights.
	add(positions []uint32, weights []float32) error
	Close() error
}

// sortedEdges is an edgeSorter of edges of one kind.
type sortedEdges[T spill.Number] struct {
	*edgeKeys

	l           *Load
	kind        edgeKind[T]
	rows, lists *spill.Numbers[T]
}

// maxArcNodes is how many nodes a directed load may have: the key of a pair has two of them and a direction.
const maxArcNodes = 1 << 31

func newEdgeSorter(l *Load) edgeSorter {
	keys := &edgeKeys{form: codec.ArcForm{Directed: l.opt.Directed, Weighted: l.opt.Weighted}}
	if keys.form.Any() {
		return &sortedEdges[spill.Pair]{edgeKeys: keys, l: l, kind: arcEdges{keys}}
	}
	return &sortedEdges[uint64]{edgeKeys: keys, l: l, kind: plainEdges{keys}}
}

// newNumbers makes a sorter.
func (e *sortedEdges[T]) newNumbers(memory int64) *spill.Numbers[T] {
	return spill.NewNumbers[T](e.l.opt.Dir, memory, e.bits(), e.l.opt.Workers)
}

// begin makes the sorter of rows.
func (e *sortedEdges[T]) begin() {
	if e.rows == nil {
		e.width = bits.Len64(uint64(max(e.l.stats.Nodes-1, 0)))
		e.rows = e.newNumbers(e.l.sortMemory())
	}
}

func (e *sortedEdges[T]) writer() edgeRows {
	e.begin()
	return e.kind.writer(e.rows)
}

func (e *sortedEdges[T]) sortRows(ctx context.Context) error {
	e.begin()
	return e.rows.Sort(ctx)
}

func (e *sortedEdges[T]) close() error {
	var errs []error
	for _, s := range []*spill.Numbers[T]{e.rows, e.lists} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

func (e *sortedEdges[T]) number(ctx context.Context) (err error) {
	l := e.l
	if l.nodeAt, err = offheap.New[uint32](int(l.stats.Nodes)); err != nil {
		return err
	}
	degrees := l.nodeAt.Data
	var edges, arcs, done atomic.Int64
	var invalid invalidEdge
	err = e.rows.Each(ctx, func(_ int, stretch []T) error {
		joined, directed := e.kind.count(stretch, degrees, &invalid)
		edges.Add(joined)
		arcs.Add(directed)
		l.progress(StageEdges, done.Add(int64(len(stretch))), e.rows.Len())
		return nil
	})
	if err != nil {
		return err
	}
	if invalid.err != nil {
		return l.describeEdge(ctx, &invalid)
	}
	l.stats.Edges = edges.Load()
	collapsed := l.stats.Edges
	if e.form.Directed {
		l.stats.Arcs = arcs.Load()
		collapsed = l.stats.Arcs
	}
	l.stats.ParallelEdges, l.stats.SelfLoops = e.rows.Len()-collapsed, l.selfLoops
	numberByDegree(degrees)
	return nil
}

// A degreeCount counts the edges of nodes. Those of a first end follow each other, so that it is counted once.
type degreeCount struct {
	degrees []uint32
	first   uint32
	edges   uint32 // of first, not in degrees yet
}

func (c *degreeCount) add(p, q uint32) {
	if p != c.first {
		c.end(p)
	}
	c.edges++
	atomic.AddUint32(&c.degrees[q], 1)
}

// end adds the edges of the first end, and goes on with those of another.
func (c *degreeCount) end(next uint32) {
	if c.edges > 0 {
		atomic.AddUint32(&c.degrees[c.first], c.edges)
	}
	c.first, c.edges = next, 0
}

// An invalidEdge is the edge whose weights are none, of several that of the least positions.
type invalidEdge struct {
	mu   sync.Mutex
	p, q uint32
	err  error
}

func (e *invalidEdge) note(p, q uint32, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil || p < e.p || p == e.p && q < e.q {
		e.p, e.q, e.err = p, q, err
	}
}

// describeEdge says between which nodes an edge is invalid.
func (l *Load) describeEdge(ctx context.Context, e *invalidEdge) error {
	first, _, err := l.rowAt(ctx, int(e.p))
	second, _, also := l.rowAt(ctx, int(e.q))
	if err := errors.Join(err, also); err != nil {
		return errors.Join(e.err, err)
	}
	return fmt.Errorf("edges between nodes %q and %q: %w", first, second, e.err)
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

func (e *sortedEdges[T]) sortLists(ctx context.Context) error {
	bytes := 16 * max(e.l.stats.Edges, e.l.stats.Arcs) // each is under both of its ends
	if e.form.Any() {
		bytes *= 2 // a pair takes as much as two numbers
	}
	memory := e.l.sortMemory()
	if 2*bytes > memory {
		// The rows are gone once the lists are sorted, so that only what is written meanwhile must leave room for them.
		memory = max(memory-e.rows.MemoryBytes(), memory/4)
	}
	e.lists = e.newNumbers(memory)
	if err := e.addLists(ctx); err != nil {
		return err
	}
	if err := e.rows.Close(); err != nil {
		return err
	}
	return e.lists.Sort(ctx)
}

// addLists gives every edge under both of its ends, as NodeIDs, to the sorter of lists.
func (e *sortedEdges[T]) addLists(ctx context.Context) (err error) {
	writers := make([]*spill.NumbersWriter[T], e.rows.Workers())
	for i := range writers {
		writers[i] = e.lists.Writer()
	}
	defer func() {
		for _, w := range writers {
			err = errors.Join(err, w.Close())
		}
	}()
	return e.rows.Each(ctx, func(worker int, stretch []T) error {
		return e.kind.addEnds(writers[worker], stretch, e.l.nodeAt.Data)
	})
}

func (e *sortedEdges[T]) write(ctx context.Context, put Put, g record.Generation) error {
	l := e.l
	w := graph.NewWriter(put, g, e.form)
	out := graph.NewListWriter(w, e.width)
	done := int64(0)
	err := e.kind.write(ctx, out, e.lists, func(count int) {
		done += int64(count)
		l.progress(StageAdjacency, done, e.lists.Len())
	})
	if err != nil {
		return err
	}
	for node := record.NodeID(0); int(node) < len(l.nodeAt.Data); {
		if err := ctx.Err(); err != nil {
			return err
		}
		node = record.NodeID(min(int(node)+contextEvery, len(l.nodeAt.Data)))
		if err := out.UpTo(node); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return e.lists.Close()
}
