package load

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	// begin returns the sorter of rows, which it makes once the number of nodes is known. The Load is locked.
	begin() sorter

	// writer begins a writer of rows. The Load is locked.
	writer() edgeRows

	// number collapses parallel edges, and numbers the nodes by descending degree, ties in file order.
	number(ctx context.Context) error

	// sortLists sorts the edges under both of their ends, and gives the memory and the file of the rows back.
	sortLists(ctx context.Context) error

	// write writes the lists of all nodes.
	write(ctx context.Context, put Put, g record.Generation) error

	// restore opens the rows, or the lists, that a checkpoint names.
	restore(ctx context.Context, c checkpoint) error

	close() error
}

// A sorter is a spill.Numbers of either type.
type sorter interface {
	Sort(ctx context.Context) error
	Keep(ctx context.Context, always bool) (kept spill.Kept, ok bool, err error)
	Held() int64
	Close() error
}

// edgeRows takes the rows of edges files.
type edgeRows interface {
	add(p, q uint32, weight float32) error
	Close() error
}

// sortedEdges is an edgeSorter of numbers, which have two ends, if edges have no more to them; else of pairs, whose
// ends are followed by a direction of DirectionBits, and whose values are the bits of a float32, the weight. As weights
// are positive, those of parallel edges follow each other ascending.
type sortedEdges[T spill.Number] struct {
	l           *Load
	form        codec.ArcForm
	width       int // bits of a position
	rows, lists *spill.Numbers[T]
}

// maxArcNodes is how many nodes a directed load may have: the key of a pair has two of them and a direction.
const maxArcNodes = 1 << 31

func newEdgeSorter(l *Load) edgeSorter {
	form := codec.ArcForm{Directed: l.opt.Directed, Weighted: l.opt.Weighted}
	if form.Any() {
		return &sortedEdges[spill.Pair]{l: l, form: form}
	}
	return &sortedEdges[uint64]{l: l, form: form}
}

// pair is the pair of an edge.
func (e *sortedEdges[T]) pair(u, v uint32, direction int, weight float32) spill.Pair {
	key := (uint64(u)<<e.width|uint64(v))<<e.form.DirectionBits() | uint64(direction)
	return spill.Pair{Key: key, Value: math.Float32bits(weight)}
}

// keyWidth is the number of bits of a key.
func (e *sortedEdges[T]) keyWidth() int { return 2*e.width + e.form.DirectionBits() }

// newNumbers makes a sorter.
func (e *sortedEdges[T]) newNumbers(memory int64) *spill.Numbers[T] {
	return spill.NewNumbers[T](e.l.opt.Dir, memory, e.keyWidth(), e.l.opt.Workers)
}

func (e *sortedEdges[T]) begin() sorter {
	if e.rows == nil {
		e.width = positionBits(e.l.stats.Nodes)
		e.rows = e.newNumbers(e.l.sortMemory())
	}
	return e.rows
}

func (e *sortedEdges[T]) writer() edgeRows {
	e.begin()
	if rows, ok := any(e.rows).(*spill.Numbers[uint64]); ok {
		return numberRows{rows.Writer(), e.width}
	}
	rows, _ := any(e.rows).(*spill.Numbers[spill.Pair])
	return pairRows[T]{e, rows.Writer()}
}

// A numberRows is an edgeRows of edges that have two ends and no more.
type numberRows struct {
	*spill.NumbersWriter[uint64]
	width int
}

func (w numberRows) add(p, q uint32, _ float32) error {
	return w.Add(uint64(min(p, q))<<w.width | uint64(max(p, q)))
}

// A pairRows is an edgeRows of edges with a direction or a weight.
type pairRows[T spill.Number] struct {
	e *sortedEdges[T]
	*spill.NumbersWriter[spill.Pair]
}

func (w pairRows[T]) add(p, q uint32, weight float32) error {
	direction := 0
	if p > q {
		p, q, direction = q, p, w.e.form.DirectionBits()
	}
	return w.Add(w.e.pair(p, q, direction, weight))
}

func (e *sortedEdges[T]) restore(ctx context.Context, c checkpoint) (err error) {
	e.width = positionBits(c.Stats.Nodes)
	kept, to := c.Edges, &e.rows
	if c.Arcs != nil {
		kept, to = c.Arcs, &e.lists
	}
	*to, err = spill.Restore[T](ctx, e.l.opt.Dir, e.l.sortMemory(), e.keyWidth(), e.l.opt.Workers, *kept)
	return err
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

// ends are the two ends of the edge that a key has, without the direction.
func (e *sortedEdges[T]) ends(edge uint64) (u, v uint32) {
	return uint32(edge >> e.width), uint32(edge & (1<<e.width - 1))
}

// each calls use for every two ends that a stretch of either sorter joins, ascending, with the sums of their weights as the
// first has them. The rows of two ends are in one stretch.
func (e *sortedEdges[T]) each(pairs []spill.Pair, use func(u, v uint32, out, in float64) error) error {
	shift := e.form.DirectionBits()
	for len(pairs) > 0 {
		edge := pairs[0].Key >> shift
		var sums [2]float64
		n := 0
		for ; n < len(pairs) && pairs[n].Key>>shift == edge; n++ {
			sums[pairs[n].Key&uint64(shift)] += float64(math.Float32frombits(pairs[n].Value))
		}
		u, v := e.ends(edge)
		if err := use(u, v, sums[0], sums[1]); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

// arcOf is the arc that the sums of the weights in either direction make. The error says why there is none.
func (e *sortedEdges[T]) arcOf(out, in float64) (codec.Arc, error) {
	if !e.form.Weighted {
		return codec.Arc{Out: float32(min(out, 1)), In: float32(min(in, 1))}.Directed(e.form), nil
	}
	got := codec.Arc{Out: float32(out), In: float32(in)}.Directed(e.form)
	for _, w := range []float32{got.Out, got.In} {
		if w != 0 && !codec.ValidWeight(w) {
			return got, fmt.Errorf("%w: the weights add up to %.4g, want at most %.8g", graph.ErrInvalidEdge, max(out, in),
				float32(math.MaxFloat32))
		}
	}
	if _, ok := got.Sum(); !ok && e.form.Directed {
		return got, fmt.Errorf("%w: the weights of both directions add up to %.4g, want at most %.8g", graph.ErrInvalidEdge,
			out+in, float32(math.MaxFloat32))
	}
	return got, nil
}

func (e *sortedEdges[T]) number(ctx context.Context) (err error) {
	l := e.l
	if l.nodeAt, err = offheap.New[uint32](l.rows.len()); err != nil {
		return err
	}
	degrees := l.nodeAt.Data
	var edges, arcs, done atomic.Int64
	var invalid invalidEdge
	err = e.rows.Each(ctx, func(_ int, stretch []T) error {
		joined, directed := int64(0), int64(0)
		count := degreeCount{degrees: degrees}
		defer count.end(0)
		if keys, ok := any(stretch).([]uint64); ok {
			for _, key := range keys {
				count.add(e.ends(key))
			}
			joined = int64(len(keys))
		}
		pairs, _ := any(stretch).([]spill.Pair)
		err := e.each(pairs, func(p, q uint32, out, in float64) error {
			a, err := e.arcOf(out, in)
			if err != nil {
				invalid.note(p, q, err)
			}
			count.add(p, q)
			joined++
			directed += a.Count()
			return nil
		})
		edges.Add(joined)
		arcs.Add(directed)
		l.progress(StageEdges, done.Add(int64(len(stretch))), e.rows.Len())
		return err
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
	var ids [2]string
	for row, err := range l.rows.all(ctx) {
		switch {
		case err != nil:
			return errors.Join(e.err, err)
		case row.position == int(e.p):
			ids[0] = string(row.id)
		case row.position == int(e.q):
			ids[1] = string(row.id)
		}
	}
	return fmt.Errorf("edges between nodes %q and %q: %w", ids[0], ids[1], e.err)
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

func (e *sortedEdges[T]) sortLists(ctx context.Context) error {
	entries := max(e.l.stats.Edges, e.l.stats.Arcs)
	if e.form.Any() {
		entries *= 2 // a pair takes as much as two numbers
	}
	e.lists = e.newNumbers(arcsMemory(e.l.sortMemory(), entries, e.rows.Held()))
	if err := e.addLists(ctx); err != nil {
		return err
	}
	if err := e.rows.Close(); err != nil {
		return err
	}
	if err := e.lists.Sort(ctx); err != nil {
		return err
	}
	return e.l.keepArcs(ctx, e.lists)
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
	nodeAt := e.l.nodeAt.Data
	return e.rows.Each(ctx, func(worker int, stretch []T) error {
		if w, ok := any(writers[worker]).(*spill.NumbersWriter[uint64]); ok {
			keys, _ := any(stretch).([]uint64)
			return addEnds(w, keys, nodeAt, e.width)
		}
		w, _ := any(writers[worker]).(*spill.NumbersWriter[spill.Pair])
		pairs, _ := any(stretch).([]spill.Pair)
		// Both ends have the arc from u to v: its other end as the one that it comes in at.
		add := func(u, v uint32, weight float32) error {
			if weight == 0 {
				return nil
			}
			if err := w.Add(e.pair(u, v, 0, weight)); err != nil {
				return err
			}
			return w.Add(e.pair(v, u, e.form.DirectionBits(), weight))
		}
		return e.each(pairs, func(p, q uint32, out, in float64) error {
			a, err := e.arcOf(out, in)
			if err != nil {
				return err
			}
			u, v := nodeAt[p], nodeAt[q]
			if err := add(u, v, a.Out); err != nil || !e.form.Directed {
				return err
			}
			return add(v, u, a.In)
		})
	})
}

// addEnds is addLists of edges that have two ends and no more.
func addEnds(w *spill.NumbersWriter[uint64], keys []uint64, nodeAt []uint32, width int) error {
	for _, key := range keys {
		u, v := uint64(nodeAt[key>>width]), uint64(nodeAt[key&(1<<width-1)])
		if err := w.Add(u<<width | v); err != nil {
			return err
		}
		if err := w.Add(v<<width | u); err != nil {
			return err
		}
	}
	return nil
}

func (e *sortedEdges[T]) write(ctx context.Context, put Put, g record.Generation) error {
	l := e.l
	w := graph.NewWriter(put, g, e.form)
	out := graph.NewListWriter(w, e.width)
	done := int64(0)
	report := func(count int) {
		done += int64(count)
		l.progress(StageAdjacency, done, e.lists.Len())
	}
	var err error
	switch lists := any(e.lists).(type) {
	case *spill.Numbers[uint64]:
		encode := func(to *graph.Lists, stretch []uint64) error {
			to.Encode(stretch, e.width)
			return nil
		}
		err = spill.InOrder(ctx, lists, encode, func(made *graph.Lists, stretch []uint64) error {
			report(len(stretch))
			return out.Append(made, stretch)
		})
	default:
		err = e.writeArcs(ctx, out, report)
	}
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

// writeArcs writes the lists that have neighbours, with their arcs, but for the last.
func (e *sortedEdges[T]) writeArcs(ctx context.Context, to *graph.ListWriter, report func(count int)) error {
	for stretch, err := range e.lists.Ordered(ctx) {
		if err != nil {
			return err
		}
		pairs, _ := any(stretch).([]spill.Pair)
		err := e.each(pairs, func(u, v uint32, out, in float64) error {
			return to.Add(record.NodeID(u), record.NodeID(v), codec.Arc{Out: float32(out), In: float32(in)}.Directed(e.form))
		})
		if err != nil {
			return err
		}
		report(len(stretch))
	}
	return nil
}
