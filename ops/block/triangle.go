package block

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

type rank = kernel.Rank

// A Corner is a range of nodes that triangles have a node in. Ranges are numbered; all nodes of a range come before
// those of a range with a greater number.
type Corner struct {
	Range     int
	Strengths []float64 // D [nodes]
	Sums      []float64 // [nodes], added to
}

// AddTriangles adds, for every triangle of nodes u > v > w in the ranges i, j and k, the product of its weights,
// divided by the strengths of its nodes, to the sums of the three:
//
//	A_uv A_vw A_uw / (D_u D_v D_w)
//
// Twice the sums over all i ≥ j ≥ k are diag(Ã³). The blocks have all rows of the first range of their name, and the
// columns of the second. If two corners are the same range, they have the same number and the same sums. Then one block
// may be given for two. Nodes are best numbered by descending strength: then triangles are found from their weakest
// node, and hubs cost little.
//
// Sums run in float64, in an order that the arguments alone determine. Beside the arguments memory holds at most 16
// bytes a node of i and of j, 25 a node of k, and 16 an entry of jk.
func AddTriangles(ctx context.Context, i, j, k Corner, ij, ik, jk *Block) error {
	if i.Range < j.Range || j.Range < k.Range {
		return fmt.Errorf("%w: got triangles of the ranges %d, %d and %d, want descending numbers",
			kernel.ErrShape, i.Range, j.Range, k.Range)
	}
	for _, c := range []Corner{i, j, k} {
		if len(c.Strengths) != len(c.Sums) {
			return fmt.Errorf("%w: got %d strengths and %d sums of range %d, want as many",
				kernel.ErrShape, len(c.Strengths), len(c.Sums), c.Range)
		}
	}
	for _, side := range []struct {
		block         *Block
		rows, columns Corner
	}{{ij, i, j}, {ik, i, k}, {jk, j, k}} {
		rows := kv.Range{End: kv.NodeID(len(side.rows.Sums))}
		if side.block.Rows() != rows || side.block.columns != len(side.columns.Sums) {
			return fmt.Errorf("%w: got the rows %d to %d of %d columns between the ranges %d and %d, want all %d rows of %d",
				kernel.ErrShape, side.block.Rows().First, side.block.Rows().End, side.block.columns,
				side.rows.Range, side.columns.Range,
				rows.End, len(side.columns.Sums))
		}
	}
	return newSearch(i, j, k, ij, ik, jk).all(ctx)
}

// A search finds the triangles u > v > w of three ranges from u: of its neighbours v and w, are they neighbours? Either
// it looks which of the list of v are neighbours of u, or it looks for those of u in the map of v, if v has one.
type search struct {
	i, j, k    Corner
	ij, ik, jk *halfBlock
	maps       *denseMaps // nil of weighted lists

	marks  kernel.RankSet   // neighbours w of u; empty between nodes
	values []float64        // by w: δ_w, in weighted lists times the weight of the neighbour of u
	words  []kernel.MapWord // of one u: its list of w
	taken  int              // of them, by the last map
	acc    []float64        // of one u, by place in its list of w: Σ δ_v of the triangles found by maps
	delta  []float64        // likewise δ_w
}

func newSearch(i, j, k Corner, ij, ik, jk *Block) *search {
	t := &search{
		i: i, j: j, k: k,
		ij: newHalfBlock(ij, i, j), ik: newHalfBlock(ik, i, k), jk: newHalfBlock(jk, j, k),
		marks: bitset.New[kernel.Rank](len(k.Sums)), values: make([]float64, len(k.Sums)),
	}
	for w, strength := range k.Strengths {
		t.values[w] = kernel.Inverse(strength)
	}
	if t.ij.weights == nil && t.ik.weights == nil && t.jk.weights == nil {
		t.maps = newDenseMaps(t.jk)
		longest := t.ik.longest() + kernel.ClosingSlack
		t.acc, t.delta = make([]float64, longest), make([]float64, longest)
	}
	return t
}

// A halfBlock is a block with lists that end before the row's own node.
type halfBlock struct {
	columns       int
	within        bool    // rows and columns are of the same range
	offsets, ends []int64 // of the lists
	ranks         []rank
	weights       []float32 // nil if all are 1
}

func newHalfBlock(b *Block, rows, columns Corner) *halfBlock {
	neighbors := b.lists.Neighbors
	h := &halfBlock{
		columns: b.columns, within: rows.Range == columns.Range, offsets: b.lists.Offsets, ends: b.lists.Offsets[1:],
		ranks: unsafe.Slice((*rank)(unsafe.SliceData(neighbors)), len(neighbors)),
	}
	if len(b.lists.Weights) > 0 {
		h.weights = b.lists.Weights
	}
	if h.within {
		h.ends = make([]int64, h.rows())
		for v := range h.ends {
			list := h.ranks[h.offsets[v]:h.offsets[v+1]]
			h.ends[v] = h.offsets[v] + int64(len(kernel.Below(list, rank(v))))
		}
	}
	return h
}

func (h *halfBlock) rows() int { return len(h.offsets) - 1 }

func (h *halfBlock) of(v rank) []rank { return h.ranks[h.offsets[v]:h.ends[v]] }

// weightsOf returns the weights of a row, nil if all are 1.
func (h *halfBlock) weightsOf(v rank) []float32 {
	if h.weights == nil {
		return nil
	}
	return h.weights[h.offsets[v]:h.ends[v]]
}

func (h *halfBlock) longest() (longest int) {
	for v := range h.ends {
		longest = max(longest, int(h.ends[v]-h.offsets[v]))
	}
	return longest
}

// mapColumns is how many columns a row may have for each of its neighbours, so that it gets a map. A map then takes at
// most four times the memory of its list.
const mapColumns = 128

// denseMaps hold the sets of neighbours of the dense rows of a block.
type denseMaps struct {
	starts []int // of the words of each row, and where the last ones end; a row without a map has none
	words  []uint64
}

func newDenseMaps(h *halfBlock) *denseMaps {
	m := &denseMaps{starts: make([]int, h.rows()+1)}
	for v := range h.rows() {
		columns, length := h.columns, len(h.of(rank(v)))
		if h.within {
			columns = v
		}
		m.starts[v+1] = m.starts[v]
		if length > 0 && length >= columns/mapColumns {
			m.starts[v+1] += (columns + 63) / 64
		}
	}
	m.words = make([]uint64, m.starts[h.rows()])
	for v := range h.rows() {
		if set := m.of(rank(v)); set != nil {
			for _, w := range h.of(rank(v)) {
				set.Add(w)
			}
		}
	}
	return m
}

// of is the map of a row, nil if it has none.
func (m *denseMaps) of(v rank) kernel.RankMap {
	if m == nil || m.starts[v] == m.starts[v+1] {
		return nil
	}
	return m.words[m.starts[v]:m.starts[v+1]]
}

// all finds the triangles of all rows.
func (t *search) all(ctx context.Context) error {
	steps := kernel.Pace(0)
	for row := range t.ij.rows() {
		u := rank(row)
		middle, list := t.ij.of(u), t.ik.of(u)
		if err := steps.Walk(ctx, len(middle)+len(list)+1); err != nil {
			return err
		}
		if len(middle) == 0 || len(list) == 0 {
			continue
		}
		if err := t.of(ctx, u, middle, list, &steps); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// of finds the triangles of u, with its neighbours v in middle and w in list.
func (t *search) of(ctx context.Context, u rank, middle, list []rank, steps *kernel.Pace) error {
	marked, mapped, weights := false, false, t.ij.weightsOf(u)
	atU, ofU := kernel.Inverse(t.i.Strengths[u]), 0.0
	add := func(v rank, ofV float64) {
		t.j.Sums[v] += ofV
		ofU += ofV
	}
	for place := 0; place < len(middle); {
		v, before, rows := middle[place], list, 1
		if t.maps.of(v) != nil {
			if !mapped {
				mapped = true
				t.open(list)
			}
			var closed [2]float64
			closed, rows = t.closeMapped(middle[place:])
			for i, v := range middle[place : place+rows] {
				add(v, float64(float64(atU*kernel.Inverse(t.j.Strengths[v]))*closed[i]))
			}
		} else {
			if !marked {
				marked = true
				t.mark(u, list)
			}
			w := 1.0
			if weights != nil {
				w = float64(weights[place])
			}
			before = t.jk.of(v)
			next := t.jk.of(middle[min(place+1, len(middle)-1)])
			add(v, t.lookThrough(v, before, next, float64(float64(atU*w)*kernel.Inverse(t.j.Strengths[v]))))
		}
		place += rows
		if err := steps.Walk(ctx, rows*len(before)); err != nil {
			return err
		}
	}
	if mapped {
		for i, w := range list {
			t.k.Sums[w] += float64(float64(atU*t.delta[i]) * t.acc[i])
		}
	}
	if marked {
		t.marks.RemoveAll(list)
	}
	t.i.Sums[u] += ofU
	return nil
}

// closeMapped looks for the neighbours w of u in the map of the first v of middle, and in that of the second if it has
// one. It returns Σ δ_w of the triangles of each, and in how many maps it has looked.
func (t *search) closeMapped(middle []rank) (closed [2]float64, rows int) {
	row := func(place int) kernel.ClosingRow {
		v := middle[min(place, len(middle)-1)]
		return kernel.ClosingRow{Set: t.maps.of(v), At: kernel.Inverse(t.j.Strengths[v])}
	}
	first, second := row(0), row(1)
	shared := t.take(first.Set)
	if rows = 2; len(middle) == 1 || second.Set == nil {
		second, rows = kernel.ClosingRow{Set: first.Set}, 1 // the same again, which adds zeros
	}
	all := t.take(second.Set)
	third, fourth := row(rows).Set, row(rows+1).Set
	closed[0], closed[1] = kernel.CloseWedges(t.acc, t.delta, t.words[:all], shared, first, second, third, fourth)
	return closed, rows
}

// take is how many words are in a map, of maps that do not get shorter.
func (t *search) take(set kernel.RankMap) int {
	for t.taken < len(t.words) && int(t.words[t.taken].Index) < len(set) {
		t.taken++
	}
	return t.taken
}

// open makes words, acc and delta those of a list.
func (t *search) open(list []rank) {
	t.words, t.taken = kernel.AppendMapWords(t.words[:0], list, nil), 0
	for i, w := range list {
		t.acc[i], t.delta[i] = 0, t.values[w]
	}
}

// mark makes the neighbours w of u known.
func (t *search) mark(u rank, list []rank) {
	for _, w := range list {
		t.marks.Add(w)
	}
	weights := t.ik.weightsOf(u)
	if weights == nil {
		return
	}
	for i, w := range list {
		t.values[w] = float64(float64(weights[i]) * kernel.Inverse(t.k.Strengths[w]))
	}
}

// lookThrough finds the marked ones in a list of v, and adds what their triangles weigh to their sums; at is the factor
// that they have in common. next is the list that is looked through afterwards.
func (t *search) lookThrough(v rank, list, next []rank, at float64) (sum float64) {
	values, sums := t.values, t.k.Sums
	weights := t.jk.weightsOf(v)
	for first := 0; first < len(list); first += 64 {
		part := list[first:min(first+64, len(list))]
		for hits := kernel.LookUp(t.marks, part, next); hits != 0; {
			place := bits.LeadingZeros64(hits)
			hits &^= 1 << (63 - place)
			w := part[place]
			product := float64(at * values[w])
			if weights != nil {
				product = float64(product * float64(weights[first+place]))
			}
			sums[w] += product
			sum += product
		}
	}
	return sum
}
