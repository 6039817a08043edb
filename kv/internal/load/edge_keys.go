package load

import (
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
)

// key is what an edge is sorted by.
func (e *sortedEdges[T]) key(u, v uint32, direction int) uint64 {
	return (uint64(u)<<(e.width&63)|uint64(v))<<(e.form.DirectionBits()&1) | uint64(direction)
}

// entry is what is sorted of an edge.
func (e *sortedEdges[T]) entry(u, v uint32, direction int, weight float32) (x T) {
	key := e.key(u, v, direction)
	switch x := any(&x).(type) {
	case *uint64:
		*x = key
	case *spill.Pair:
		*x = spill.Pair{Key: key, Value: math.Float32bits(weight)}
	}
	return x
}

// ends are the two ends of a key without its direction.
func (e *sortedEdges[T]) ends(edge uint64) (u, v uint32) {
	return uint32(edge >> (e.width & 63)), uint32(edge & (1<<(e.width&63) - 1))
}

// plain are the keys of a stretch of a graph without directions and weights; nil of others, or if there are none. There
// each key is an edge, so that they take a shorter way, which is a third faster.
func (e *sortedEdges[T]) plain(stretch []T) []uint64 {
	if e.form.Any() {
		return nil
	}
	keys, _ := any(stretch).([]uint64)
	return keys
}

// A bundle is all edges between two ends, with the sums of the weights of those from the first to the second, and back.
type bundle struct {
	u, v    uint32
	out, in float64
}

// bundles yields the bundles of a stretch, of rows or of lists, ascending. What has the same two ends is in one
// stretch.
func (e *sortedEdges[T]) bundles(stretch []T) iter.Seq[bundle] {
	shift := e.form.DirectionBits() & 1
	bundleOf := func(key uint64, sums [2]float64) bundle {
		u, v := e.ends(key >> shift)
		return bundle{u, v, sums[0], sums[1]}
	}
	return func(yield func(bundle) bool) {
		switch all := any(stretch).(type) {
		case []uint64:
			for i := 0; i < len(all); i++ {
				var sums [2]float64
				sums[all[i]&uint64(shift)] = 1
				if shift > 0 && i+1 < len(all) && all[i]>>shift == all[i+1]>>shift {
					i++
					sums[1] = 1
				}
				if !yield(bundleOf(all[i], sums)) {
					return
				}
			}
		case []spill.Pair:
			for len(all) > 0 {
				var sums [2]float64
				n := 0
				for ; n < len(all) && all[n].Key>>shift == all[0].Key>>shift; n++ {
					sums[all[n].Key&uint64(shift)] += float64(math.Float32frombits(all[n].Value))
				}
				if !yield(bundleOf(all[0].Key, sums)) {
					return
				}
				all = all[n:]
			}
		}
	}
}

// arcOf is the arc that the sums are. The error says why they are none.
func (e *sortedEdges[T]) arcOf(b bundle) (codec.Arc, error) {
	got := codec.Arc{Out: float32(b.out), In: float32(b.in)}.Directed(e.form)
	if !e.form.Weighted {
		return got, nil
	}
	if _, ok := got.Sum(); max(got.Out, got.In) > math.MaxFloat32 || e.form.Directed && !ok {
		return got, fmt.Errorf("%w: the weights add up to %.4g, want at most %.8g", graph.ErrInvalidEdge, b.out+b.in,
			float32(math.MaxFloat32))
	}
	return got, nil
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
