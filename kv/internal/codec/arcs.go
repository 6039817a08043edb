package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// An Arc joins a node to a neighbour: out is the weight of the arc from the node, in that of the arc to it,
// zero if there is none. In an undirected graph both are the weight of the edge; in an unweighted one weights are 1.
type Arc struct{ Out, In float32 }

// Reversed is the arc as the neighbour has it.
func (a Arc) Reversed() Arc { return Arc{a.In, a.Out} }

// Bits tells arcs apart.
func (a Arc) Bits() uint64 {
	return uint64(math.Float32bits(a.Out))<<32 | uint64(math.Float32bits(a.In))
}

// Count is the number of arcs in a directed graph.
func (a Arc) Count() int64 { return int64(Bit(a.Out != 0) + Bit(a.In != 0)) }

// ValidWeight reports whether a weight is one that an arc can have.
func ValidWeight(w float32) bool { return w > 0 && w <= math.MaxFloat32 }

// Sum is the weight of the undirected edge that two arcs make, rounded once; false if it is none.
func (a Arc) Sum() (float32, bool) {
	w := float32(float64(a.Out) + float64(a.In))
	return w, ValidWeight(w)
}

// An ArcForm says what the arcs of a graph hold beyond its lists of neighbours.
type ArcForm struct{ Directed, Weighted bool }

// Any reports whether they hold anything.
func (f ArcForm) Any() bool { return f.Directed || f.Weighted }

// Arcs are stored beside the lists, in one record for each part of a block of adjacency: for the entries of its lists,
// in order,
//
//	uvarint                        entries
//	⌈entries/4⌉ bytes              of a directed graph: two bits an entry, from the lowest: 1 out, 2 in, 3 both
//	the weights                    of a weighted graph: of a directed one each arc's, out before in
//
// The weights of a record are
//
//	uvarint k                      distinct weights in the table, at most 256; 0: no table
//	k × float32                    the table, ascending
//	weights × uint8                their places in the table, unless k = 1
//
// and without a table a float32 each, little-endian.
const maxWeightTable = 256

// An ArcEncoder collects arcs and writes them as such a record.
type ArcEncoder struct {
	Form       ArcForm
	entries    int
	directions []byte
	weights    []float32
	table      []float32 // of AppendTo
}

// Append takes the next arcs of the record.
func (e *ArcEncoder) Append(arcs []Arc) {
	for _, a := range arcs {
		if e.Form.Directed {
			if e.entries%4 == 0 {
				e.directions = append(e.directions, 0)
			}
			direction := Bit(a.Out != 0) | Bit(a.In != 0)<<1
			e.directions[e.entries/4] |= byte(direction) << (e.entries % 4 * 2)
		}
		e.entries++
		if !e.Form.Weighted {
			continue
		}
		if a.Out != 0 {
			e.weights = append(e.weights, a.Out)
		}
		if a.In != 0 && e.Form.Directed {
			e.weights = append(e.weights, a.In)
		}
	}
}

// Size bounds the number of bytes that AppendTo will write.
func (e *ArcEncoder) Size() int {
	return 2*binary.MaxVarintLen32 + len(e.directions) + 4*len(e.weights)
}

// AppendTo writes the record's body after dst and forgets the arcs.
func (e *ArcEncoder) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.entries))
	dst = append(dst, e.directions...)
	if e.Form.Weighted {
		dst = e.appendWeights(dst)
	}
	e.entries, e.directions, e.weights = 0, e.directions[:0], e.weights[:0]
	return dst
}

func (e *ArcEncoder) appendWeights(dst []byte) []byte {
	e.tabulate()
	whole := e.table
	if len(whole) == 0 {
		whole = e.weights
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.table)))
	for _, w := range whole {
		dst = AppendFloat32(dst, w)
	}
	if len(e.table) > 1 {
		for _, w := range e.weights {
			i, _ := slices.BinarySearch(e.table, w)
			dst = append(dst, byte(i))
		}
	}
	return dst
}

// tabulate fills the table, and empties it if it saves nothing.
func (e *ArcEncoder) tabulate() {
	e.table = e.table[:0]
	for _, w := range e.weights {
		i, found := slices.BinarySearch(e.table, w)
		if !found && len(e.table) == maxWeightTable {
			e.table = e.table[:0]
			return
		}
		if !found {
			e.table = slices.Insert(e.table, i, w)
		}
	}
	if len(e.table) != 1 && 3*len(e.weights) <= 4*len(e.table) {
		e.table = e.table[:0]
	}
}

// AppendFloat32 appends a float32 as four bytes, little-endian.
func AppendFloat32(dst []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
}

// AppendArcs decodes the body of a record and appends it to dst, which grows by at most limit entries. The error says
// what is wrong with it.
func (f ArcForm) AppendArcs(dst []Arc, body []byte, limit int) ([]Arc, error) {
	r := Reader{Rest: body}
	entries := int(r.Uvarint(uint64(max(limit, 0))))
	directions := []byte(nil)
	if f.Directed {
		directions = r.Bytes((entries + 3) / 4)
	}
	if r.Failed {
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
		if f.Directed {
			direction = directions[i/4] >> (i % 4 * 2) & 3
		}
		var a Arc
		if direction&1 != 0 {
			a.Out = weights.at(next)
			next++
		}
		if direction&2 != 0 {
			a.In = weights.at(next)
			next++
		}
		if !f.Directed {
			a.In = a.Out
		}
		arcs[i] = a
	}
	return dst, nil
}

// arcWeights are the weights of a record, which it borrows.
type arcWeights struct {
	table  []float32 // empty if there is none
	places []byte    // if the table has more than one
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
func (f ArcForm) parseWeights(r *Reader, entries int, directions []byte) (arcWeights, error) {
	arcs := entries
	if f.Directed {
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
	if f.Weighted {
		w.table = make([]float32, r.Uvarint(maxWeightTable))
		last := float32(0)
		for i := range w.table {
			w.table[i] = ReadFloat32(r)
			if !r.Failed && (!ValidWeight(w.table[i]) || w.table[i] <= last) {
				return arcWeights{}, fmt.Errorf("its table has weight %v after %v", w.table[i], last)
			}
			last = w.table[i]
		}
		switch len(w.table) {
		case 0:
			w.raw = r.Bytes(4 * arcs)
		case 1:
		default:
			w.places = r.Bytes(arcs)
		}
	}
	if r.Failed || len(r.Rest) > 0 {
		return arcWeights{}, fmt.Errorf("it does not hold the weights of %d arcs", arcs)
	}
	for i, place := range w.places {
		if int(place) >= len(w.table) {
			return arcWeights{}, fmt.Errorf("arc %d has weight number %d of %d", i, place, len(w.table))
		}
	}
	for i := range len(w.raw) / 4 {
		if x := math.Float32frombits(binary.LittleEndian.Uint32(w.raw[4*i:])); !ValidWeight(x) {
			return arcWeights{}, fmt.Errorf("arc %d has weight %v", i, x)
		}
	}
	return w, nil
}

// ReadFloat32 is the inverse of AppendFloat32.
func ReadFloat32(r *Reader) float32 {
	b := r.Bytes(4)
	if r.Failed {
		return 0
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(b))
}

// Directed is the arc itself in a directed graph; in another both directions are the one that there is.
func (a Arc) Directed(f ArcForm) Arc {
	if !f.Directed {
		a.In = a.Out
	}
	return a
}

// Bit is 1 for true.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
