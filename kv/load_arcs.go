package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/spill"
)

// An arcLoad sorts the edges of a directed or weighted load, which have more to them than two ends.
type arcLoad struct {
	form  arcForm
	mu    sync.Mutex // guards rows
	rows  *spill.Sorter
	lists *spill.Sorter // in Commit: loadEdge of NodeIDs → arc
}

// An arc row is a row of an edges file,
//
//	edgeKey uint64      the lesser and the greater position
//	direction uint8     of a directed graph: 1 where the arc leads to the lesser
//	weight float32      1 where there are none
//
// big-endian, so that rows of an arc follow each other by ascending weight.
const arcRowBytes = 13

// arcRowsHeld is how many rows an EdgeWriter collects before it waits for the sorter.
const arcRowsHeld = 1 << 12

// addArc adds the row of an edge between two positions.
func (w *EdgeWriter) addArc(p, q uint32, weight float32) error {
	w.rows = w.l.appendArcRow(w.rows, p, q, weight)
	if len(w.rows) < arcRowsHeld*arcRowBytes {
		return nil
	}
	return w.flushArcs()
}

func (l *Loader) appendArcRow(dst []byte, p, q uint32, weight float32) []byte {
	dst = binary.BigEndian.AppendUint64(dst, l.loadEdge(min(p, q), max(p, q)))
	dst = append(dst, byte(counted(l.arcLoad.form.directed && p > q)))
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(weight))
}

// flushArcs hands over the rows collected.
func (w *EdgeWriter) flushArcs() error {
	a := w.l.arcLoad
	a.mu.Lock()
	defer a.mu.Unlock()
	for rows := w.rows; len(rows) > 0; rows = rows[arcRowBytes:] {
		if err := a.rows.Add(rows[:arcRowBytes], nil); err != nil {
			return err
		}
	}
	w.rows = w.rows[:0]
	return nil
}

// beginArcs makes the sorter of rows once the number of nodes is known; l is locked.
func (l *Loader) beginArcs() {
	if l.arcLoad.rows == nil {
		l.setWidth()
		l.arcLoad.rows = spill.New(l.work.sort(), l.sortMemory()/2)
	}
}

func (a *arcLoad) close() error {
	var errs []error
	for _, s := range []*spill.Sorter{a.rows, a.lists} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// eachPair calls use for every two positions p < q that rows join, ascending, with their arc as p has it.
func (l *Loader) eachPair(ctx context.Context, use func(p, q uint32, a arc) error) error {
	var sums [2]float64
	var pair uint64
	begun := false
	finish := func() error {
		if !begun {
			return nil
		}
		p, q := l.ends(pair)
		a, err := l.arcLoad.arcOf(sums)
		if err != nil {
			return l.describePair(ctx, p, q, err)
		}
		sums = [2]float64{}
		return use(p, q, a)
	}
	for r, err := range l.arcLoad.rows.Sorted(ctx) {
		if err != nil {
			return err
		}
		if key := binary.BigEndian.Uint64(r.Key); !begun || key != pair {
			if err := finish(); err != nil {
				return err
			}
			pair, begun = key, true
		}
		sums[r.Key[8]] += float64(math.Float32frombits(binary.BigEndian.Uint32(r.Key[9:])))
	}
	return finish()
}

// arcOf is the arc that the sums of the weights in either direction make. The error says why there is none.
func (a *arcLoad) arcOf(sums [2]float64) (arc, error) {
	if !a.form.weighted {
		return arc{float32(min(sums[0], 1)), float32(min(sums[1], 1))}.directed(a.form), nil
	}
	got := arc{float32(sums[0]), float32(sums[1])}.directed(a.form)
	for _, w := range []float32{got.out, got.in} {
		if w != 0 && !validWeight(w) {
			return got, fmt.Errorf("%w: the weights add up to %.4g, want at most %.8g", ErrInvalidEdge, max(sums[0], sums[1]),
				float32(math.MaxFloat32))
		}
	}
	if _, ok := got.sum(); !ok && a.form.directed {
		return got, fmt.Errorf("%w: the weights of both directions add up to %.4g, want at most %.8g", ErrInvalidEdge,
			sums[0]+sums[1], float32(math.MaxFloat32))
	}
	return got, nil
}

// directed is the arc itself in a directed graph; in another both directions are the one that there is.
func (a arc) directed(f arcForm) arc {
	if !f.directed {
		a.in = a.out
	}
	return a
}

// describePair says between which nodes an error is.
func (l *Loader) describePair(ctx context.Context, p, q uint32, err error) error {
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

// numberArcNodes is numberNodes of a directed or weighted load.
func (l *Loader) numberArcNodes(ctx context.Context) (err error) {
	if l.nodeAt, err = offheap.New[uint32](l.rows.len()); err != nil {
		return err
	}
	degrees, rows := l.nodeAt.Data, l.arcLoad.rows.Len()
	err = l.eachPair(ctx, func(p, q uint32, a arc) error {
		degrees[p]++
		degrees[q]++
		if l.stats.Edges++; l.stats.Edges%contextEvery == 0 {
			l.progress(stageEdges, l.stats.Edges, rows)
		}
		if l.arcLoad.form.directed {
			l.stats.Arcs += a.count()
		}
		return nil
	})
	if err != nil {
		return err
	}
	kept := l.stats.Edges
	if l.arcLoad.form.directed {
		kept = l.stats.Arcs
	}
	l.stats.ParallelEdges, l.stats.SelfLoops = rows-kept, l.selfLoops
	numberByDegree(degrees)
	return nil
}

// writeArcs is writeAdjacency of a directed or weighted load.
func (l *Loader) writeArcs(ctx context.Context) error {
	if err := l.sortLists(ctx); err != nil {
		return err
	}
	w := newAdjacencyWriter(l.batch.put, l.generation, l.arcLoad.form)
	var list []NodeID
	var arcs []arc
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
	for r, err := range l.arcLoad.lists.Sorted(ctx) {
		if err != nil {
			return err
		}
		u, v := l.ends(binary.BigEndian.Uint64(r.Key))
		if err := upTo(int(u)); err != nil {
			return err
		}
		out, in := binary.LittleEndian.Uint32(r.Value), binary.LittleEndian.Uint32(r.Value[4:])
		list = append(list, NodeID(v))
		arcs = append(arcs, arc{math.Float32frombits(out), math.Float32frombits(in)})
		if done++; done%contextEvery == 0 {
			l.progress(stageAdjacency, done, all)
		}
	}
	if err := upTo(len(l.nodeAt.Data)); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return err
	}
	return l.arcLoad.lists.Close()
}

// sortLists gives every pair in both directions, as NodeIDs, to a sorter, and gives the rows back.
func (l *Loader) sortLists(ctx context.Context) error {
	l.arcLoad.lists = spill.New(l.work.sort(), l.sortMemory()/2)
	var value []byte
	add := func(u, v uint32, a arc) error {
		value = appendFloat32(appendFloat32(value[:0], a.out), a.in)
		return l.arcLoad.lists.AddUint64(l.loadEdge(u, v), value)
	}
	err := l.eachPair(ctx, func(p, q uint32, a arc) error {
		u, v := l.nodeAt.Data[p], l.nodeAt.Data[q]
		return errors.Join(add(u, v, a), add(v, u, a.reversed()))
	})
	if err != nil {
		return err
	}
	return l.arcLoad.rows.Close()
}
