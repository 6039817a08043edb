package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
)

// An arcLoad sorts the edges of a directed or weighted load, which have more to them than two ends. Both of its sorters
// hold the arcKey of two ends with the bits of a float32, the weight, which is 1 where there are none. As weights are
// positive, those of parallel edges follow each other ascending.
type arcLoad struct {
	form  codec.ArcForm
	rows  *spill.Pairs // the rows of the edges files, by positions, the lesser first; nil before there are nodes
	lists *spill.Pairs // in Commit: every arc, collapsed, under both of its ends, by NodeIDs
}

// maxArcNodes is how many nodes a directed load may have: an arcKey has two of them and a direction.
const maxArcNodes = 1 << 31

// arcKey is the loadEdge of two ends with a direction of DirectionBits.
func (l *Loader) arcKey(u, v uint32, direction int) uint64 {
	return l.loadEdge(u, v)<<l.arcLoad.form.DirectionBits() | uint64(direction)
}

// addArc adds the row of an edge between two positions.
func (w *EdgeWriter) addArc(p, q uint32, weight float32) error {
	direction := counted(p > q) & w.l.arcLoad.form.DirectionBits()
	return w.arcs.Add(spill.Pair{Key: w.l.arcKey(min(p, q), max(p, q), direction), Value: math.Float32bits(weight)})
}

// newPairs makes a sorter of arcs.
func (l *Loader) newPairs(memory int64) *spill.Pairs {
	return spill.NewNumbers[spill.Pair](l.work.sort(), memory, l.arcWidth(), l.opt.Workers)
}

// arcWidth is the number of bits of an arcKey.
func (l *Loader) arcWidth() int { return 2*l.width + l.arcLoad.form.DirectionBits() }

// beginArcs returns the sorter of rows, which it makes once the number of nodes is known; l is locked.
func (l *Loader) beginArcs() *spill.Pairs {
	if l.arcLoad.rows == nil {
		l.setWidth()
		l.arcLoad.rows = l.newPairs(l.sortMemory())
	}
	return l.arcLoad.rows
}

func (a *arcLoad) close() error {
	var errs []error
	for _, s := range []*spill.Pairs{a.rows, a.lists} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// eachArc calls use for every two ends that a stretch of either sorter joins, ascending, with the sums of their weights
// as the first has them: out and in. The arcs of two ends are in one stretch.
func (l *Loader) eachArc(stretch []spill.Pair, use func(u, v uint32, sums [2]float64) error) error {
	shift := l.arcLoad.form.DirectionBits()
	for len(stretch) > 0 {
		edge := stretch[0].Key >> shift
		var sums [2]float64
		n := 0
		for ; n < len(stretch) && stretch[n].Key>>shift == edge; n++ {
			direction := stretch[n].Key & uint64(shift)
			sums[direction] += float64(math.Float32frombits(stretch[n].Value))
		}
		u, v := l.ends(edge)
		if err := use(u, v, sums); err != nil {
			return err
		}
		stretch = stretch[n:]
	}
	return nil
}

// arcOf is the arc that the sums of the weights in either direction make. The error says why there is none.
func (a *arcLoad) arcOf(sums [2]float64) (codec.Arc, error) {
	if !a.form.Weighted {
		return codec.Arc{Out: float32(min(sums[0], 1)), In: float32(min(sums[1], 1))}.Directed(a.form), nil
	}
	got := codec.Arc{Out: float32(sums[0]), In: float32(sums[1])}.Directed(a.form)
	for _, w := range []float32{got.Out, got.In} {
		if w != 0 && !codec.ValidWeight(w) {
			return got, fmt.Errorf("%w: the weights add up to %.4g, want at most %.8g", ErrInvalidEdge, max(sums[0], sums[1]),
				float32(math.MaxFloat32))
		}
	}
	if _, ok := got.Sum(); !ok && a.form.Directed {
		return got, fmt.Errorf("%w: the weights of both directions add up to %.4g, want at most %.8g", ErrInvalidEdge,
			sums[0]+sums[1], float32(math.MaxFloat32))
	}
	return got, nil
}

// describeEdge says between which nodes an error is.
func (l *Loader) describeEdge(ctx context.Context, p, q uint32, err error) error {
	var ids [2]string
	for row, failed := range l.rows.all(ctx) {
		switch {
		case failed != nil:
			return errors.Join(err, failed)
		case row.position == int(p):
			ids[0] = string(row.id)
		case row.position == int(q):
			ids[1] = string(row.id)
		}
	}
	return fmt.Errorf("edges between nodes %q and %q: %w", ids[0], ids[1], err)
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

// numberArcNodes is numberNodes of a directed or weighted load.
func (l *Loader) numberArcNodes(ctx context.Context) (err error) {
	if l.nodeAt, err = offheap.New[uint32](l.rows.len()); err != nil {
		return err
	}
	degrees, rows := l.nodeAt.Data, l.arcLoad.rows.Len()
	var edges, arcs, done atomic.Int64
	var invalid invalidEdge
	err = l.arcLoad.rows.Each(ctx, func(_ int, stretch []spill.Pair) error {
		joined, directed := int64(0), int64(0)
		err := l.eachArc(stretch, func(p, q uint32, sums [2]float64) error {
			a, err := l.arcLoad.arcOf(sums)
			if err != nil {
				invalid.note(p, q, err)
			}
			atomic.AddUint32(&degrees[p], 1)
			atomic.AddUint32(&degrees[q], 1)
			joined++
			directed += a.Count()
			return nil
		})
		edges.Add(joined)
		arcs.Add(directed)
		l.progress(stageEdges, done.Add(int64(len(stretch))), rows)
		return err
	})
	if err != nil {
		return err
	}
	if invalid.err != nil {
		return l.describeEdge(ctx, invalid.p, invalid.q, invalid.err)
	}
	l.stats.Edges = edges.Load()
	kept := l.stats.Edges
	if l.arcLoad.form.Directed {
		l.stats.Arcs = arcs.Load()
		kept = l.stats.Arcs
	}
	l.stats.ParallelEdges, l.stats.SelfLoops = rows-kept, l.selfLoops
	numberByDegree(degrees)
	return nil
}

// writeArcs is writeAdjacency of a directed or weighted load.
func (l *Loader) writeArcs(ctx context.Context) error {
	if l.arcLoad.lists == nil {
		if err := l.sortLists(ctx); err != nil {
			return err
		}
	}
	w := newAdjacencyWriter(l.tables.Put, l.generation, l.arcLoad.form)
	var list []NodeID
	var arcs []codec.Arc
	upTo := func(u int) error {
		for ; int(w.next) < u; list, arcs = list[:0], arcs[:0] {
			if err := ctx.Err(); int(w.next)%contextEvery == 0 && err != nil {
				return err
			}
			if err := w.append(list, arcs); err != nil {
				return err
			}
		}
		return nil
	}
	done, all := int64(0), l.arcLoad.lists.Len()
	for stretch, err := range l.arcLoad.lists.Ordered(ctx) {
		if err != nil {
			return err
		}
		err := l.eachArc(stretch, func(u, v uint32, weights [2]float64) error {
			if err := upTo(int(u)); err != nil {
				return err
			}
			list = append(list, NodeID(v))
			arcs = append(arcs, codec.Arc{Out: float32(weights[0]), In: float32(weights[1])}.Directed(l.arcLoad.form))
			return nil
		})
		if err != nil {
			return err
		}
		done += int64(len(stretch))
		l.progress(stageAdjacency, done, all)
	}
	if err := upTo(len(l.nodeAt.Data)); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	return l.arcLoad.lists.Close()
}

// sortLists collapses the rows of every two positions, sorts the arcs under both of their ends, as NodeIDs, and gives the
// memory and the file of the rows back.
func (l *Loader) sortLists(ctx context.Context) error {
	rows := l.arcLoad.rows
	entries := 2 * max(l.stats.Edges, l.stats.Arcs)
	lists := l.newPairs(arcsMemory(l.sortMemory(), entries, rows.Held())) // a pair takes as much as two numbers
	l.arcLoad.lists = lists
	if err := l.addLists(ctx, lists); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if err := lists.Sort(ctx); err != nil {
		return err
	}
	return l.keepArcs(ctx, lists)
}

// addLists gives every arc under both of its ends, as NodeIDs, to a sorter.
func (l *Loader) addLists(ctx context.Context, lists *spill.Pairs) (err error) {
	rows, directed := l.arcLoad.rows, l.arcLoad.form.Directed
	writers := make([]*spill.PairsWriter, rows.Workers())
	for i := range writers {
		writers[i] = lists.Writer()
	}
	defer func() {
		for _, w := range writers {
			err = errors.Join(err, w.Close())
		}
	}()
	return rows.Each(ctx, func(worker int, stretch []spill.Pair) error {
		w := writers[worker]
		// Both ends have the arc from u to v: its other end as the one that it comes in at.
		add := func(u, v uint32, weight float32) error {
			if weight == 0 {
				return nil
			}
			value := math.Float32bits(weight)
			if err := w.Add(spill.Pair{Key: l.arcKey(u, v, 0), Value: value}); err != nil {
				return err
			}
			return w.Add(spill.Pair{Key: l.arcKey(v, u, l.arcLoad.form.DirectionBits()), Value: value})
		}
		return l.eachArc(stretch, func(p, q uint32, sums [2]float64) error {
			a, err := l.arcLoad.arcOf(sums)
			if err != nil {
				return l.describeEdge(ctx, p, q, err)
			}
			u, v := l.nodeAt.Data[p], l.nodeAt.Data[q]
			if err := add(u, v, a.Out); err != nil || !directed {
				return err
			}
			return add(v, u, a.In)
		})
	})
}
