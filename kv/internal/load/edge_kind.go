package load

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An edgeKind is the part of sorting edges that depends on the form of their keys. Each call takes a stretch of keys or
// more.
type edgeKind[T spill.Number] interface {
	// writer begins a writer of rows.
	writer(rows *spill.Numbers[T]) edgeRows

	// count counts the edges of a stretch of rows, and their arcs, and adds to the degrees of their ends.
	count(rows []T, degrees []uint32, invalid *invalidEdge) (edges, arcs int64)

	// addEnds adds each edge of a stretch of rows under both of its ends, as NodeIDs.
	addEnds(lists *spill.NumbersWriter[T], rows []T, nodeAt []uint32) error

	// write writes all lists that have neighbours, but for the last.
	write(ctx context.Context, to *graph.ListWriter, lists *spill.Numbers[T], report func(count int)) error
}

// edgeKeys are the form of the keys of edges: two ends, followed by a direction of DirectionBits.
type edgeKeys struct {
	form  codec.ArcForm
	width int // bits of an end, known once the number of nodes is
}

// bits is the number of bits of a key.
func (k *edgeKeys) bits() int { return 2*k.width + k.form.DirectionBits() }

// ends are the two ends of the edge that a key has, without the direction.
func (k *edgeKeys) ends(edge uint64) (u, v uint32) {
	return uint32(edge >> k.width), uint32(edge & (1<<k.width - 1))
}

// plainEdges are edges that have two ends and no more.
type plainEdges struct{ *edgeKeys }

func (k plainEdges) writer(rows *spill.Numbers[uint64]) edgeRows {
	return plainRows{rows.Writer(), k.width}
}

// A plainRows is an edgeRows of plainEdges.
type plainRows struct {
	*spill.NumbersWriter[uint64]
	width int
}

func (w plainRows) add(positions []uint32, _ []float32) error {
	var rows [batchEdges]uint64
	n := len(positions) / 2
	for i := range n {
		p, q := positions[2*i], positions[2*i+1]
		rows[i] = uint64(min(p, q))<<(w.width&63) | uint64(max(p, q))
	}
	return w.AddAll(rows[:n])
}

func (k plainEdges) count(rows []uint64, degrees []uint32, _ *invalidEdge) (edges, arcs int64) {
	c := degreeCount{degrees: degrees}
	for _, key := range rows {
		c.add(k.ends(key))
	}
	c.end(0)
	return int64(len(rows)), 0
}

func (k plainEdges) addEnds(lists *spill.NumbersWriter[uint64], rows []uint64, nodeAt []uint32) error {
	var ends [2 * batchEdges]uint64
	width := k.width & 63
	for part := range slices.Chunk(rows, batchEdges) {
		for i, key := range part {
			u, v := uint64(nodeAt[key>>width]), uint64(nodeAt[key&(1<<width-1)])
			ends[2*i], ends[2*i+1] = u<<width|v, v<<width|u
		}
		if err := lists.AddAll(ends[:2*len(part)]); err != nil {
			return err
		}
	}
	return nil
}

func (k plainEdges) write(
	ctx context.Context, to *graph.ListWriter, lists *spill.Numbers[uint64], report func(count int),
) error {
	encode := func(result *graph.Lists, stretch []uint64) error {
		result.Encode(stretch, k.width)
		return nil
	}
	return spill.InOrder(ctx, lists, encode, func(result *graph.Lists, stretch []uint64) error {
		report(len(stretch))
		return to.Append(result, stretch)
	})
}

// arcEdges are edges with a direction or a weight. The value of a pair is the bits of a float32, the weight. As weights
// are positive, those of parallel edges follow each other ascending.
type arcEdges struct{ *edgeKeys }

// pair is the pair of an edge.
func (k arcEdges) pair(u, v uint32, direction int, weight float32) spill.Pair {
	key := (uint64(u)<<k.width|uint64(v))<<k.form.DirectionBits() | uint64(direction)
	return spill.Pair{Key: key, Value: math.Float32bits(weight)}
}

func (k arcEdges) writer(rows *spill.Numbers[spill.Pair]) edgeRows {
	return arcRows{rows.Writer(), k}
}

// An arcRows is an edgeRows of arcEdges.
type arcRows struct {
	*spill.NumbersWriter[spill.Pair]
	kind arcEdges
}

func (w arcRows) add(positions []uint32, weights []float32) error {
	for i, weight := range weights {
		p, q, direction := positions[2*i], positions[2*i+1], 0
		if p > q {
			p, q, direction = q, p, w.kind.form.DirectionBits()
		}
		if err := w.Add(w.kind.pair(p, q, direction, weight)); err != nil {
			return err
		}
	}
	return nil
}

// A bundle is all edges between two ends, with the sums of the weights of those from the first to the second, and back.
type bundle struct {
	u, v    uint32
	out, in float64
}

// bundles yields the bundles of a stretch, of rows or of lists, ascending. The pairs of two ends are in one stretch.
func (k arcEdges) bundles(pairs []spill.Pair) iter.Seq[bundle] {
	return func(yield func(bundle) bool) {
		shift := k.form.DirectionBits()
		for len(pairs) > 0 {
			edge := pairs[0].Key >> shift
			var sums [2]float64
			n := 0
			for ; n < len(pairs) && pairs[n].Key>>shift == edge; n++ {
				sums[pairs[n].Key&uint64(shift)] += float64(math.Float32frombits(pairs[n].Value))
			}
			u, v := k.ends(edge)
			if !yield(bundle{u, v, sums[0], sums[1]}) {
				return
			}
			pairs = pairs[n:]
		}
	}
}

// arc is the arc of the sums.
func (b bundle) arc(form codec.ArcForm) codec.Arc {
	return codec.Arc{Out: float32(b.out), In: float32(b.in)}.Directed(form)
}

// arcOf is the arc that a bundle of rows makes. The error says why there is none.
func (k arcEdges) arcOf(b bundle) (codec.Arc, error) {
	if !k.form.Weighted {
		return bundle{out: min(b.out, 1), in: min(b.in, 1)}.arc(k.form), nil
	}
	got := b.arc(k.form)
	for _, w := range []float32{got.Out, got.In} {
		if w != 0 && !codec.ValidWeight(w) {
			return got, fmt.Errorf("%w: the weights add up to %.4g, want at most %.8g", graph.ErrInvalidEdge, max(b.out, b.in),
				float32(math.MaxFloat32))
		}
	}
	if _, ok := got.Sum(); !ok && k.form.Directed {
		return got, fmt.Errorf("%w: the weights of both directions add up to %.4g, want at most %.8g", graph.ErrInvalidEdge,
			b.out+b.in, float32(math.MaxFloat32))
	}
	return got, nil
}

func (k arcEdges) count(rows []spill.Pair, degrees []uint32, invalid *invalidEdge) (edges, arcs int64) {
	c := degreeCount{degrees: degrees}
	for b := range k.bundles(rows) {
		a, err := k.arcOf(b)
		if err != nil {
			invalid.note(b.u, b.v, err)
		}
		c.add(b.u, b.v)
		edges++
		arcs += a.Count()
	}
	c.end(0)
	return edges, arcs
}

func (k arcEdges) addEnds(lists *spill.NumbersWriter[spill.Pair], rows []spill.Pair, nodeAt []uint32) error {
	// Both ends have the arc from u to v: its other end as the one that it comes in at.
	add := func(u, v uint32, weight float32) error {
		if weight == 0 {
			return nil
		}
		if err := lists.Add(k.pair(u, v, 0, weight)); err != nil {
			return err
		}
		return lists.Add(k.pair(v, u, k.form.DirectionBits(), weight))
	}
	for b := range k.bundles(rows) {
		a, err := k.arcOf(b)
		if err != nil {
			return err
		}
		u, v := nodeAt[b.u], nodeAt[b.v]
		err = add(u, v, a.Out)
		if err == nil && k.form.Directed {
			err = add(v, u, a.In)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k arcEdges) write(
	ctx context.Context, to *graph.ListWriter, lists *spill.Numbers[spill.Pair], report func(count int),
) error {
	for stretch, err := range lists.Stretches(ctx) {
		if err != nil {
			return err
		}
		for b := range k.bundles(stretch) {
			if err := to.Add(record.NodeID(b.u), record.NodeID(b.v), b.arc(k.form)); err != nil {
				return err
			}
		}
		report(len(stretch))
	}
	return nil
}
