package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
	// writer begins a writer of rows. The Load is locked.
	writer() edgeRows

	// number sorts the rows, collapses parallel edges, and numbers the nodes by descending degree, ties in file order. All
	// writers are closed.
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

// edgeKeys are the sort keys of edges: two ends, followed by the direction in a directed graph, 1 if the arc leads to
// the first end.
type edgeKeys struct {
	width int // bits of an end
	shift int // bits of a direction
}

func (k edgeKeys) key(u, v, direction uint32) uint64 {
	return (uint64(u)<<(k.width&63)|uint64(v))<<(k.shift&1) | uint64(direction)
}

// parse is the inverse of key.
func (k edgeKeys) parse(key uint64) (u, v, direction uint32) {
	edge := key >> (k.shift & 1)
	return uint32(edge >> (k.width & 63)), uint32(edge & (1<<(k.width&63) - 1)), uint32(key) & k.reverse()
}

// reverse is the direction of an arc that leads to the first end.
func (k edgeKeys) reverse() uint32 { return uint32(k.shift) }

// sameEnds reports whether two keys differ in their direction at most.
func (k edgeKeys) sameEnds(a, b uint64) bool { return (a^b)>>(k.shift&1) == 0 }

// sortedEdges is an edgeSorter. Without weights keys are numbers, of which the sorter drops repeated ones. With weights
// they are pairs, whose value is the bits of the weight: those of parallel edges follow each other, ascending.
type sortedEdges[T spill.Number] struct {
	edgeKeys
	l           *Load
	form        codec.ArcForm
	rows, lists *spill.Numbers[T]
}

// maxArcNodes is how many nodes a directed load may have: a key has two of them and a direction.
const maxArcNodes = 1 << 31

// newEdgeSorter makes a sorter of the edges between the nodes, all of which are known.
func newEdgeSorter(l *Load) edgeSorter {
	if l.opt.Weighted {
		return newSortedEdges[spill.Pair](l)
	}
	return newSortedEdges[uint64](l)
}

func newSortedEdges[T spill.Number](l *Load) edgeSorter {
	form := codec.ArcForm{Directed: l.opt.Directed, Weighted: l.opt.Weighted}
	e := &sortedEdges[T]{edgeKeys{bits.Len64(uint64(max(l.stats.Nodes-1, 0))), codec.Bit(form.Directed)}, l, form, nil,
		nil}
	e.rows = e.newNumbers(l.sortMemory())
	return e
}

// newNumbers makes a sorter.
func (e *sortedEdges[T]) newNumbers(memory int64) *spill.Numbers[T] {
	return spill.NewNumbers[T](e.l.opt.Dir, memory, 2*e.width+e.shift, e.l.opt.Workers)
}

// A rowWriter is an edgeRows.
type rowWriter[T spill.Number] struct {
	*spill.NumbersWriter[T]
	edges *sortedEdges[T]
}

func (e *sortedEdges[T]) writer() edgeRows { return rowWriter[T]{e.rows.Writer(), e} }

func (w rowWriter[T]) add(positions []uint32, weights []float32) error {
	var keys [batchEdges]T
	for i, weight := range weights {
		p, q, direction := positions[2*i], positions[2*i+1], uint32(0)
		if p > q {
			p, q, direction = q, p, w.edges.reverse()
		}
		spill.SetPair(&keys[i], w.edges.key(p, q, direction), math.Float32bits(weight))
	}
	return w.AddAll(keys[:len(weights)])
}

func (e *sortedEdges[T]) close() error {
	if e.lists == nil {
		return e.rows.Close()
	}
	return errors.Join(e.rows.Close(), e.lists.Close())
}

func (e *sortedEdges[T]) number(ctx context.Context) (err error) {
	if err := e.rows.Sort(ctx); err != nil {
		return err
	}
	l := e.l
	if l.nodeAt, err = offheap.New[uint32](int(l.stats.Nodes)); err != nil {
		return err
	}
	degrees := l.nodeAt.Data
	var edges, arcs, done atomic.Int64
	err = e.rows.Each(ctx, func(_ int, stretch []T) error {
		var joined, directed int64
		read := int64(len(stretch))
		var first, count uint32 // of the edges of a first end, which follow each other
		add := func(u, v uint32) {
			joined++
			if u != first {
				atomic.AddUint32(&degrees[first], count)
				first, count = u, 0
			}
			count++
			atomic.AddUint32(&degrees[v], 1)
		}
		if keys := e.plain(stretch); keys != nil { // none is there twice
			for _, key := range keys {
				u, v, _ := e.parse(key)
				add(u, v)
			}
			directed, stretch = joined, nil
		}
		last := ^uint64(0) // is no key
		for i := range stretch {
			key := spill.PairOf(&stretch[i]).Key
			if key == last {
				continue
			}
			directed++
			if !e.sameEnds(key, last) {
				u, v, _ := e.parse(key)
				add(u, v)
			}
			last = key
		}
		if count > 0 {
			atomic.AddUint32(&degrees[first], count)
		}
		edges.Add(joined)
		arcs.Add(directed)
		l.progress(StageEdges, done.Add(read), e.rows.Len())
		return nil
	})
	if err != nil {
		return err
	}
	l.stats.Edges = edges.Load()
	if e.form.Directed {
		l.stats.Arcs = arcs.Load()
	}
	l.stats.ParallelEdges = e.rows.Len() - arcs.Load()
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
		var lists [2]T // an arc from u to v is one that comes in at v
		for _, edge := range e.addUp(stretch) {
			p := spill.PairOf(&edge)
			u, v, direction := e.parse(p.Key)
			u, v = e.l.nodeAt.Data[u], e.l.nodeAt.Data[v]
			spill.SetPair(&lists[0], e.key(u, v, direction), p.Value)
			spill.SetPair(&lists[1], e.key(v, u, direction^e.reverse()), p.Value)
			if err := writers[worker].AddAll(lists[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// plain are the keys of a graph without directions and weights, nil of others. There each key is an edge.
func (e *sortedEdges[T]) plain(stretch []T) []uint64 {
	if e.form.Any() {
		return nil
	}
	return any(stretch).([]uint64)
}

// addPlain does the work of addLists for the plain keys of edges, in a third of the time.
func (e *sortedEdges[T]) addPlain(to *spill.NumbersWriter[uint64], keys []uint64) error {
	var lists [2 * batchEdges]uint64
	width, nodeAt := e.width&63, e.l.nodeAt.Data
	for part := range slices.Chunk(keys, batchEdges) {
		for i, key := range part {
			u, v := uint64(nodeAt[key>>width]), uint64(nodeAt[key&(1<<width-1)])
			lists[2*i], lists[2*i+1] = u<<width|v, v<<width|u
		}
		if err := to.AddAll(lists[:2*len(part)]); err != nil {
			return err
		}
	}
	return nil
}

// addUp adds up the weights of parallel edges, in place, as nobody reads these rows again.
func (e *sortedEdges[T]) addUp(stretch []T) []T {
	if !e.form.Weighted {
		return stretch
	}
	n := 0
	for i := 0; i < len(stretch); n++ {
		key, sum := spill.PairOf(&stretch[i]).Key, 0.0
		for ; i < len(stretch) && spill.PairOf(&stretch[i]).Key == key; i++ {
			sum += e.weight(spill.PairOf(&stretch[i]))
		}
		spill.SetPair(&stretch[n], key, math.Float32bits(float32(sum)))
	}
	return stretch[:n]
}

// weight is that of an edge or arc.
func (e *sortedEdges[T]) weight(edge spill.Pair) float64 {
	if e.form.Weighted {
		return float64(math.Float32frombits(edge.Value))
	}
	return 1
}

func (e *sortedEdges[T]) write(ctx context.Context, put Put, g record.Generation) error {
	if err := e.sortLists(ctx); err != nil {
		return err
	}
	l := e.l
	out := graph.NewWriter(put, g, e.form)
	done := int64(0)
	for stretch, err := range e.lists.Stretches(ctx) {
		if err != nil {
			return err
		}
		done += int64(len(stretch))
		l.progress(StageAdjacency, done, e.lists.Len())
		if err := e.addArcs(ctx, out, stretch); err != nil {
			return err
		}
	}
	if err := out.UpTo(record.NodeID(len(l.nodeAt.Data))); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return e.lists.Close()
}

// addArcs writes the lists of a stretch, with their arcs.
func (e *sortedEdges[T]) addArcs(ctx context.Context, out *graph.Writer, stretch []T) error {
	for i := 0; i < len(stretch); {
		key := spill.PairOf(&stretch[i]).Key
		u, v, _ := e.parse(key)
		if !e.form.Any() {
			if err := out.Add(record.NodeID(u), record.NodeID(v), codec.Arc{}); err != nil {
				return err
			}
			i++
			continue
		}
		var weights [2]float32
		for ; i < len(stretch) && e.sameEnds(spill.PairOf(&stretch[i]).Key, key); i++ {
			edge := spill.PairOf(&stretch[i])
			_, _, direction := e.parse(edge.Key)
			weights[direction] = float32(e.weight(edge))
		}
		a := codec.Arc{Out: weights[0], In: weights[1]}.Directed(e.form)
		if _, ok := a.Sum(); max(a.Out, a.In) > math.MaxFloat32 || e.form.Directed && !ok {
			return e.l.tooHeavy(ctx, u, v)
		}
		if err := out.Add(record.NodeID(u), record.NodeID(v), a); err != nil {
			return err
		}
	}
	return nil
}

// tooHeavy says between which nodes the weights add up to too much.
func (l *Load) tooHeavy(ctx context.Context, u, v uint32) error {
	first, _, err := l.rowAt(ctx, slices.Index(l.nodeAt.Data, u))
	second, _, also := l.rowAt(ctx, slices.Index(l.nodeAt.Data, v))
	if err := errors.Join(err, also); err != nil {
		return err
	}
	return fmt.Errorf("edges between nodes %q and %q: %w: the weights add up to more than %.8g", first, second,
		graph.ErrInvalidEdge, float32(math.MaxFloat32))
}
