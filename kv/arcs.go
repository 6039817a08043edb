package kv

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// An arc is what joins a node to a neighbour: out is the weight of the arc from the node, in that of the arc to it, zero
// where there is none. In an undirected graph both are the weight of the edge; in an unweighted one weights are 1.
type arc struct{ out, in float32 }

// reversed is the arc as the neighbour has it.
func (a arc) reversed() arc { return arc{a.in, a.out} }

// bits tells arcs apart.
func (a arc) bits() uint64 {
	return uint64(math.Float32bits(a.out))<<32 | uint64(math.Float32bits(a.in))
}

// count is the number of arcs in a directed graph.
func (a arc) count() int64 { return int64(counted(a.out != 0) + counted(a.in != 0)) }

// validWeight reports whether a weight is one that an arc can have.
func validWeight(w float32) bool { return w > 0 && w <= math.MaxFloat32 }

// sum is the weight of the undirected edge that two arcs make, rounded once; false where it is none.
func (a arc) sum() (float32, bool) {
	w := float32(float64(a.out) + float64(a.in))
	return w, validWeight(w)
}

// An arcForm says what the arcs of a graph hold beyond its lists of neighbours.
type arcForm struct{ directed, weighted bool }

// any reports whether they hold anything.
func (f arcForm) any() bool { return f.directed || f.weighted }

// Arcs are stored beside the lists, in one record for each part of a block of adjacency: for the entries of its lists,
// in order,
//
//	uvarint                        entries
//	⌈entries/4⌉ bytes              of a directed graph: two bits an entry, from the lowest: 1 out, 2 in, 3 both
//	the weights                    of a weighted graph: of a directed one each arc's, out before in
//
// where the weights are
//
//	uvarint k                      distinct weights in the table, at most 256; 0: no table
//	k × float32                    the table, ascending
//	weights × uint8                their places in the table, unless k = 1
//
// and without a table a float32 each, little-endian.
const maxWeightTable = 256

// An arcEncoder collects arcs and writes them as such a record.
type arcEncoder struct {
	form       arcForm
	entries    int
	directions []byte
	weights    []float32
	table      []float32 // of appendTo
}

func (e *arcEncoder) append(arcs []arc) {
	for _, a := range arcs {
		if e.form.directed {
			if e.entries%4 == 0 {
				e.directions = append(e.directions, 0)
			}
			direction := counted(a.out != 0) | counted(a.in != 0)<<1
			e.directions[e.entries/4] |= byte(direction) << (e.entries % 4 * 2)
		}
		e.entries++
		if !e.form.weighted {
			continue
		}
		if a.out != 0 {
			e.weights = append(e.weights, a.out)
		}
		if a.in != 0 && e.form.directed {
			e.weights = append(e.weights, a.in)
		}
	}
}

// size bounds the number of bytes that appendTo will write.
func (e *arcEncoder) size() int {
	return 2*binary.MaxVarintLen32 + len(e.directions) + 4*len(e.weights)
}

// appendTo writes the record's body behind dst and forgets the arcs.
func (e *arcEncoder) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.entries))
	dst = append(dst, e.directions...)
	if e.form.weighted {
		dst = e.appendWeights(dst)
	}
	e.entries, e.directions, e.weights = 0, e.directions[:0], e.weights[:0]
	return dst
}

func (e *arcEncoder) appendWeights(dst []byte) []byte {
	if !e.tabulate() {
		dst = append(dst, 0)
		for _, w := range e.weights {
			dst = appendFloat32(dst, w)
		}
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.table)))
	for _, w := range e.table {
		dst = appendFloat32(dst, w)
	}
	if len(e.table) > 1 {
		for _, w := range e.weights {
			i, _ := slices.BinarySearch(e.table, w)
			dst = append(dst, byte(i))
		}
	}
	return dst
}

// tabulate fills the table, and reports whether one saves anything.
func (e *arcEncoder) tabulate() bool {
	e.table = e.table[:0]
	for _, w := range e.weights {
		i, found := slices.BinarySearch(e.table, w)
		if found {
			continue
		}
		if len(e.table) == maxWeightTable {
			return false
		}
		e.table = slices.Insert(e.table, i, w)
	}
	return len(e.table) > 0 && (len(e.table) == 1 || 3*len(e.weights) > 4*len(e.table))
}

func appendFloat32(dst []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
}

// appendArcs decodes the body of a record behind dst, which grows by at most limit entries. The error says what is
// wrong with it.
func (f arcForm) appendArcs(dst []arc, body []byte, limit int) ([]arc, error) {
	r := reader{b: body}
	entries := int(r.uvarint(uint64(max(limit, 0))))
	directions := []byte(nil)
	if f.directed {
		directions = r.bytes((entries + 3) / 4)
	}
	if r.failed {
		return dst, fmt.Errorf("it does not hold the arcs of at most %d neighbours", limit)
	}
	weights, err := f.parseWeights(&r, entries, directions)
	if err != nil {
		return dst, err
	}
	before := len(dst)
	dst = slices.Grow(dst, entries)[:before+entries]
	arcs, next := dst[before:], 0
	for i := range arcs {
		direction := byte(1)
		if f.directed {
			direction = directions[i/4] >> (i % 4 * 2) & 3
		}
		var a arc
		if direction&1 != 0 {
			a.out = weights.at(next)
			next++
		}
		if direction&2 != 0 {
			a.in = weights.at(next)
			next++
		}
		if !f.directed {
			a.in = a.out
		}
		arcs[i] = a
	}
	return dst, nil
}

// arcWeights are the weights of a record, which it borrows.
type arcWeights struct {
	table  []float32 // where it is not empty
	places []byte    // where the table has more than one
	raw    []byte    // float32 each, without a table
}

func (w *arcWeights) at(i int) float32 {
	switch {
	case len(w.places) > 0:
		return w.table[w.places[i]]
	case len(w.table) > 0:
		return w.table[0]
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(w.raw[4*i:]))
}

// parseWeights reads the rest of a record of so many entries, and checks all of it.
func (f arcForm) parseWeights(r *reader, entries int, directions []byte) (arcWeights, error) {
	arcs := entries
	if f.directed {
		arcs = 0
		for i := range 4 * len(directions) {
			direction := directions[i/4] >> (i % 4 * 2) & 3
			if (direction == 0) != (i >= entries) {
				return arcWeights{}, fmt.Errorf("entry %d of %d has direction %d", i, entries, direction)
			}
			arcs += int(direction&1 + direction>>1)
		}
	}
	w := arcWeights{table: []float32{1}}
	if f.weighted {
		w.table = make([]float32, r.uvarint(maxWeightTable))
		last := float32(0)
		for i := range w.table {
			w.table[i] = readFloat32(r)
			if !r.failed && (!validWeight(w.table[i]) || w.table[i] <= last) {
				return arcWeights{}, fmt.Errorf("its table has weight %v after %v", w.table[i], last)
			}
			last = w.table[i]
		}
		switch len(w.table) {
		case 0:
			w.raw = r.bytes(4 * arcs)
		case 1:
		default:
			w.places = r.bytes(arcs)
		}
	}
	if r.failed || len(r.b) > 0 {
		return arcWeights{}, fmt.Errorf("it does not hold the weights of %d arcs", arcs)
	}
	for i, place := range w.places {
		if int(place) >= len(w.table) {
			return arcWeights{}, fmt.Errorf("arc %d has weight number %d of %d", i, place, len(w.table))
		}
	}
	for i := range len(w.raw) / 4 {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(w.raw[4*i:])); !validWeight(x) {
			return arcWeights{}, fmt.Errorf("arc %d has weight %v", i, x)
		}
	}
	return w, nil
}

func readFloat32(r *reader) float32 {
	b := r.bytes(4)
	if r.failed {
		return 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}
