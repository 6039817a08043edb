package ops

import (
	"context"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A rowScratch has the rows that one worker writes. Where rows are not whole groups, the last one has room for its own.
type rowScratch struct {
	sums    []float64 // [stride], and one for marks that are in no column
	values  []float32 // [visitRows×width], for the visitor
	input   []float32 // [visitRows×width], read from the source
	part    []float32 // [visitRows×width], read from one of the sources side by side
	columns []int     // wanted
}

// walk adds the rows of a turn to those of their neighbours; after the last stripe these are visited and, except the
// last hop, kept for the next.
func (p *propagation) walk(ctx context.Context, t *turn) error {
	return p.walker.walk(ctx, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		for first := adj.First; first < adj.End; {
			s, visit, end := &p.workers[worker], p.rows, adj.End
			if linked := kv.NodeID(p.plan.Rows); first >= linked {
				visit = p.zeroRows
			} else {
				end = min(end, linked)
			}
			rows := blockFrom(first, end)
			if err := visit(ctx, s, adj, t, rows); err != nil {
				return err
			}
			first = rows.End
		}
		p.progress.add(len(adj.Neighbors))
		return nil
	})
}

// rows works on rows that adj holds.
func (p *propagation) rows(ctx context.Context, s *rowScratch, adj *kv.Adjacency, t *turn, rows kv.Range) error {
	width, w := t.width(), kernel.Stride(t.width())
	tile := Tile{Hop: t.hop, Lo: t.lo, Hi: t.hi, Rows: rows, Values: s.values[:rows.Len()*width]}
	inputs, diagonal, err := p.input(s, t, rows)
	if err != nil {
		return err
	}
	wanted := p.op.Want != nil && t.hop == p.op.Hops
	sums := s.sums[:w+1]
	for v := rows.First; v < rows.End; v++ {
		if v%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if wanted {
			s.want(p.op.Want, v, t.lo, width)
			if len(s.columns) == 0 { // as of most rows where a tile has few of the columns
				fillNaN(tile.Values[int(v-rows.First)*width:][:width])
				continue
			}
		}
		clear(sums)
		if !t.begin {
			copy(sums, p.stripeSums[int(v)*w:][:w])
		}
		from, to := adj.Offsets[v-adj.First], adj.Offsets[v-adj.First+1]
		from, to = t.within(adj.Neighbors, from, to)
		var weights []float32
		if p.walker.weighted {
			weights = adj.Weights[from:to]
		}
		if err := s.sum(ctx, t, adj.Neighbors[from:], weights, int(to-from), sums); err != nil {
			return err
		}
		if !t.end {
			copy(p.stripeSums[int(v)*w:][:w], sums)
			continue
		}
		at := int(v-rows.First) * width
		input := inputs[at : at+width]
		end := p.ending(v)
		if p.op.SelfLoops {
			p.addOwn(sums[:width], t, v, input)
		}
		if diagonal != nil {
			end.Diagonal = diagonal[v]
		}
		row := tile.Values[at : at+width]
		if wanted {
			fillNaN(row)
			for _, j := range s.columns {
				row[j] = end.Value(sums[j], input[j])
			}
			continue
		}
		var next []float32
		if t.next != nil {
			next = t.next[int(v)*w:][:w]
		}
		kernel.FinishRow(row, next, input, sums[:w], end)
	}
	if !t.end {
		return nil
	}
	return p.visit(tile)
}

// zeroRows visits rows of nodes without neighbours.
func (p *propagation) zeroRows(_ context.Context, s *rowScratch, _ *kv.Adjacency, t *turn, rows kv.Range) error {
	if !t.end {
		return nil
	}
	tile := Tile{Hop: t.hop, Lo: t.lo, Hi: t.hi, Rows: rows, Values: s.values[:rows.Len()*t.width()]}
	clear(tile.Values)
	return p.visit(tile)
}

// fillNaN makes columns NaN that nobody wants.
func fillNaN(row []float32) {
	for j := range row {
		row[j] = float32(math.NaN())
	}
}

// input returns the source's rows where a row needs its own, and what of it is cleared, if anything.
func (p *propagation) input(s *rowScratch, t *turn, rows kv.Range) (values []float32, diagonal []float64, err error) {
	if p.op.Diagonals != nil && t.hop > 1 {
		diagonal = p.op.Diagonals.At(t.hop)
	}
	if t.inputs != nil {
		return t.inputs[int(rows.First)*t.width() : int(rows.End)*t.width()], diagonal, nil
	}
	values = s.input[:rows.Len()*t.width()]
	if t.end && (diagonal != nil || p.op.SelfLoops && t.hop == 1) {
		err = readParts(p.parts, rows, t.lo, t.hi, values, s.part)
	}
	return values, diagonal, err
}

// addOwn adds the row of the node itself, as the last of its neighbours, with weight 1.
func (p *propagation) addOwn(sums []float64, t *turn, v kv.NodeID, input []float32) {
	if t.hop == 1 {
		scale := p.scaleOf(v)
		for j, x := range input {
			sums[j] += float64(float32(scale * float64(x)))
		}
		return
	}
	w := kernel.Stride(t.width())
	own := p.previous
	if p.plan.Stripes == 1 {
		own = p.read
	}
	for j, x := range own[int(v)*w:][:len(sums)] {
		sums[j] += float64(x)
	}
}

// within cuts a list, Neighbors[from:to], to the rows in memory.
func (t *turn) within(neighbors []kv.NodeID, from, to int64) (begin, end int64) {
	list := neighbors[from:to]
	if !t.end {
		i, _ := slices.BinarySearch(list, t.rows.End)
		list = list[:i]
	}
	i := 0
	if !t.begin {
		i, _ = slices.BinarySearch(list, t.rows.First)
	}
	return from + int64(i), from + int64(len(list))
}

// want sets the wanted columns of a tile for node v.
func (s *rowScratch) want(want func(kv.NodeID, []int) []int, v kv.NodeID, lo, width int) {
	all := want(v, s.columns[:0])
	s.columns = all[:0]
	for _, column := range all {
		if j := column - lo; 0 <= j && j < width {
			s.columns = append(s.columns, j)
		}
	}
}

// sum adds the rows of the first count neighbours to sums, each times its weight unless there are none; those after
// are only read ahead.
func (s *rowScratch) sum(
	ctx context.Context, t *turn, neighbors []kv.NodeID, weights []float32, count int, sums []float64,
) error {
	for count > 0 {
		part := min(count, kernel.Stretch)
		list, readable := neighbors[:part], len(neighbors)
		of, rest := cutWeights(weights, part)
		kernel.AddRows(sums[:t.from.Stride], t.from, 0, list, of, readable)
		if t.marks != nil {
			kernel.AddMarks(sums, t.marks, t.from.First, list, of, readable)
		}
		neighbors, weights = neighbors[part:], rest
		if count -= part; count > 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// cutWeights cuts the first n weights off, of a list that has some.
func cutWeights(weights []float32, n int) (head, rest []float32) {
	if weights == nil {
		return nil, nil
	}
	return weights[:n], weights[n:]
}
