package load

import (
	"context"
	"errors"
	"fmt"
	"math"
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

	// write sorts the edges under both of their ends, and writes the lists of all nodes.
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

// sortedEdges is an edgeSorter. A key is two ends, followed by the direction in a directed graph. Without weights keys
// are numbers, of which the sorter drops repeated ones. With weights they are pairs, whose value is the bits of the
// weight: those of parallel edges follow each other, ascending.
type sortedEdges[T spill.Number] struct {
	l           *Load
	form        codec.ArcForm
	width       int // bits of an end, known once the number of nodes is
	rows, lists *spill.Numbers[T]
}

// maxArcNodes is how many nodes a directed load may have: a key has two of them and a direction.
const maxArcNodes = 1 << 31

func newEdgeSorter(l *Load) edgeSorter {
	form := codec.ArcForm{Directed: l.opt.Directed, Weighted: l.opt.Weighted}
	if form.Weighted {
		return &sortedEdges[spill.Pair]{l: l, form: form}
	}
	return &sortedEdges[uint64]{l: l, form: form}
}

// newNumbers makes a sorter.
func (e *sortedEdges[T]) newNumbers(memory int64) *spill.Numbers[T] {
	return spill.NewNumbers[T](e.l.opt.Dir, memory, 2*e.width+e.form.DirectionBits(), e.l.opt.Workers)
}

// begin makes the sorter of rows.
func (e *sortedEdges[T]) begin() {
	if e.rows == nil {
		e.width = bits.Len64(uint64(max(e.l.stats.Nodes-1, 0)))
		e.rows = e.newNumbers(e.l.sortMemory())
	}
}

// A rowWriter is an edgeRows.
type rowWriter[T spill.Number] struct {
	*spill.NumbersWriter[T]
	edges *sortedEdges[T]
}

func (e *sortedEdges[T]) writer() edgeRows {
	e.begin()
	return rowWriter[T]{e.rows.Writer(), e}
}

func (w rowWriter[T]) add(positions []uint32, weights []float32) error {
	var keys [batchEdges]uint64
	for i := range weights {
		p, q, direction := positions[2*i], positions[2*i+1], 0
		if p > q {
			p, q, direction = q, p, w.edges.form.DirectionBits()
		}
		keys[i] = w.edges.key(p, q, direction)
	}
	switch to := any(w.NumbersWriter).(type) {
	case *spill.NumbersWriter[uint64]:
		return to.AddAll(keys[:len(weights)])
	case *spill.NumbersWriter[spill.Pair]:
		for i, weight := range weights {
			if err := to.Add(spill.Pair{Key: keys[i], Value: math.Float32bits(weight)}); err != nil {
				return err
			}
		}
	}
	return nil
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
		c := degreeCount{degrees: degrees}
		var joined, directed int64
		if keys := e.plain(stretch); keys != nil {
			for _, key := range keys {
				c.add(e.ends(key))
			}
			joined, stretch = int64(len(keys)), nil
		}
		for b := range e.bundles(stretch) {
			a, err := e.arcOf(b)
			if err != nil {
				invalid.note(b.u, b.v, err)
			}
			c.add(b.u, b.v)
			joined++
			directed += a.Count()
		}
		c.end(0)
		edges.Add(joined)
		arcs.Add(directed)
		l.progress(StageEdges, done.Add(joined), e.rows.Len())
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

// sortLists sorts the edges under both of their ends, and gives the memory and the file of the rows back.
func (e *sortedEdges[T]) sortLists(ctx context.Context) error {
	bytes := 16 * max(e.l.stats.Edges, e.l.stats.Arcs) // each is under both of its ends
	if e.form.Weighted {
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
		if keys := e.plain(stretch); keys != nil {
			return e.addPlain(any(writers[worker]).(*spill.NumbersWriter[uint64]), keys)
		}
		return e.addArcs(writers[worker], stretch)
	})
}

// addPlain gives the plain keys of edges to the sorter of lists.
func (e *sortedEdges[T]) addPlain(to *spill.NumbersWriter[uint64], keys []uint64) error {
	var ends [2 * batchEdges]uint64
	width, nodeAt := e.width&63, e.l.nodeAt.Data
	for part := range slices.Chunk(keys, batchEdges) {
		for i, key := range part {
			u, v := uint64(nodeAt[key>>width]), uint64(nodeAt[key&(1<<width-1)])
			ends[2*i], ends[2*i+1] = u<<width|v, v<<width|u
		}
		if err := to.AddAll(ends[:2*len(part)]); err != nil {
			return err
		}
	}
	return nil
}

// addArcs gives edges that have a direction or a weight to the sorter of lists.
func (e *sortedEdges[T]) addArcs(to *spill.NumbersWriter[T], stretch []T) error {
	// Both ends have the arc from u to v: its other end as the one that it comes in at.
	add := func(u, v uint32, weight float32) error {
		if weight == 0 {
			return nil
		}
		return to.AddAll([]T{e.entry(u, v, 0, weight), e.entry(v, u, e.form.DirectionBits(), weight)})
	}
	for b := range e.bundles(stretch) {
		a, err := e.arcOf(b)
		if err != nil {
			return err
		}
		u, v := e.l.nodeAt.Data[b.u], e.l.nodeAt.Data[b.v]
		err = add(u, v, a.Out)
		if err == nil && e.form.Directed {
			err = add(v, u, a.In)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *sortedEdges[T]) write(ctx context.Context, put Put, g record.Generation) error {
	if err := e.sortLists(ctx); err != nil {
		return err
	}
	l := e.l
	w := graph.NewWriter(put, g, e.form)
	out := graph.NewListWriter(w)
	done := int64(0)
	for stretch, err := range e.lists.Stretches(ctx) {
		if err != nil {
			return err
		}
		done += int64(len(stretch))
		l.progress(StageAdjacency, done, e.lists.Len())
		for b := range e.bundles(stretch) {
			a := codec.Arc{Out: float32(b.out), In: float32(b.in)}.Directed(e.form)
			if err := out.Add(record.NodeID(b.u), record.NodeID(b.v), a); err != nil {
				return err
			}
		}
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
