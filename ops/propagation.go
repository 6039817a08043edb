package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A propagation runs the hops of one tile after the other. Between hops it keeps D^(-1/2)x rather than x, so that a
// row of the next hop is a plain sum of its neighbours' rows.
type propagation struct {
	walker   *walker
	degrees  []uint32
	source   Source
	op       Operator
	visit    func(Tile) error
	onStage  func(kv.Stage)
	progress meter
	edges    int64
	scratch  []rowScratch
}

// A rowScratch is what one worker writes rows into.
type rowScratch struct {
	sums   []float64 // [stride]
	values []float32 // [visitRows×width], for the visitor
	input  []float32 // [visitRows×width], read from the source
}

func (p *propagation) run(ctx context.Context, columns, width int) (err error) {
	n := p.walker.nodes
	var tiles [2]mapping[float32]
	defer func() {
		if freeErr := errors.Join(tiles[0].free(), tiles[1].free()); freeErr != nil {
			err = errors.Join(err, freeErr)
		}
	}()
	for i := range min(p.op.Hops, 2) {
		if tiles[i], err = mapMemory[float32](n * stride(width)); err != nil {
			return fmt.Errorf("propagate: memory for a tile of %d×%d: %w", n, width, err)
		}
	}
	for i := range p.scratch {
		p.scratch[i] = rowScratch{
			sums:   make([]float64, stride(width)),
			values: make([]float32, visitRows*width),
			input:  make([]float32, visitRows*width),
		}
	}
	for lo := 0; lo < columns; lo += width {
		hi := min(columns, lo+width)
		length := n * stride(hi-lo)
		from, to := tiles[0].data[:length], tiles[1].data
		start := time.Now()
		if err := p.fill(ctx, lo, hi, from); err != nil {
			return err
		}
		for hop := 1; hop <= p.op.Hops; hop++ {
			if hop == p.op.Hops {
				to = nil
			} else {
				to = to[:length]
			}
			if err := p.hop(ctx, hop, lo, hi, from, to); err != nil {
				return err
			}
			from, to = to, from
			p.finish(hop, hi-lo, start)
			start = time.Now()
		}
	}
	return nil
}

func (p *propagation) finish(hop, columns int, start time.Time) {
	bytes := p.walker.bytes.Swap(0)
	if p.onStage != nil {
		p.onStage(kv.Stage{
			Name: "propagate", Hop: hop, Seconds: time.Since(start).Seconds(),
			Edges: p.edges, Columns: columns, BytesRead: bytes,
		})
	}
}

// scale is the entry of D^(-1/2), zero for an isolated node.
func (p *propagation) scale(v kv.NodeID) float64 {
	degree := float64(p.degrees[v])
	if p.op.SelfLoops {
		degree++
	}
	if degree == 0 {
		return 0
	}
	return 1 / math.Sqrt(degree)
}

// fill writes D^(-1/2)x for the columns lo ≤ j < hi of the source. A node without neighbours is nobody's neighbour:
// its row stays zero whatever the source holds.
func (p *propagation) fill(ctx context.Context, lo, hi int, tile []float32) error {
	n, width, w := p.walker.nodes, hi-lo, stride(hi-lo)
	chunks := (n + visitRows - 1) / visitRows
	return Parallel(ctx, len(p.scratch), chunks, func(_ context.Context, worker, chunk int) error {
		first := chunk * visitRows
		rows := kv.Range{First: kv.NodeID(first), End: kv.NodeID(min(n, first+visitRows))}
		input := p.scratch[worker].input[:int(rows.End-rows.First)*width]
		if err := p.source.Read(rows, lo, hi, input); err != nil {
			return err
		}
		for v := rows.First; v < rows.End; v++ {
			row := tile[int(v)*w:][:w]
			clear(row)
			scale := p.scale(v)
			if scale == 0 {
				continue
			}
			for j, x := range input[int(v-rows.First)*width:][:width] {
				row[j] = float32(scale * float64(x))
			}
		}
		return nil
	})
}

// hop visits the rows of one hop of one tile and, unless to is nil, keeps them for the next.
func (p *propagation) hop(ctx context.Context, hop, lo, hi int, from, to []float32) error {
	return p.walker.walk(ctx, func(ctx context.Context, worker int, adj *kv.Adjacency) error {
		for first := adj.First; first < adj.End; {
			rows := kv.Range{First: first, End: min(adj.End, first+visitRows)}
			if err := p.rows(ctx, worker, adj, Tile{Hop: hop, Lo: lo, Hi: hi, Rows: rows}, from, to); err != nil {
				return err
			}
			first = rows.End
		}
		p.progress.add(len(adj.Neighbors))
		return nil
	})
}

// rows computes and visits the rows of one tile that tile.Rows names, which adj holds.
func (p *propagation) rows(ctx context.Context, worker int, adj *kv.Adjacency, tile Tile, from, to []float32) error {
	width := tile.Hi - tile.Lo
	s := &p.scratch[worker]
	tile.Values = s.values[:int(tile.Rows.End-tile.Rows.First)*width]
	var diagonal []float64
	if p.op.Diagonals != nil && tile.Hop > 1 {
		diagonal = p.op.Diagonals.At(tile.Hop)
		if err := p.source.Read(tile.Rows, tile.Lo, tile.Hi, s.input[:len(tile.Values)]); err != nil {
			return err
		}
	}
	wantedOnly := p.op.Wanted != nil && tile.Hop == p.op.Hops
	for v := tile.Rows.First; v < tile.Rows.End; v++ {
		if v%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		list := adj.Neighbors[adj.Offsets[v-adj.First]:adj.Offsets[v-adj.First+1]]
		row := tile.Values[int(v-tile.Rows.First)*width:][:width]
		input := s.input[int(v-tile.Rows.First)*width:][:width]
		cleared := 0.0
		if diagonal != nil {
			cleared = diagonal[v]
		}
		if wantedOnly {
			if err := p.wantedRow(ctx, v, list, from, tile.Lo, row, input, cleared); err != nil {
				return err
			}
			continue
		}
		sums := s.sums[:stride(width)]
		if err := p.sumRow(ctx, v, list, from, sums); err != nil {
			return err
		}
		scale := p.scale(v)
		for j := range row {
			row[j] = value(sums[j], scale, cleared, input[j])
		}
		if to != nil {
			next := to[int(v)*len(sums):][:len(sums)]
			for j := range next {
				next[j] = float32(scale * scale * sums[j])
			}
		}
	}
	return p.visit(tile)
}

// value is an entry of S_k X from the sum over v's neighbours; the difference is rounded once.
func value(sum, scale, diagonal float64, input float32) float32 {
	x := float64(scale * sum)
	if diagonal != 0 {
		x -= float64(diagonal * float64(input)) // rounded by itself, also where a processor could fuse the two
	}
	return float32(x)
}

// sumRow sets sums to the sum of the rows of v's neighbours.
func (p *propagation) sumRow(ctx context.Context, v kv.NodeID, list []kv.NodeID, from []float32, sums []float64) error {
	clear(sums)
	for len(list) > stretch {
		addRows(sums, from, list[:stretch])
		list = list[stretch:]
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	addRows(sums, from, list)
	if p.op.SelfLoops {
		addRows(sums, from, []kv.NodeID{v})
	}
	return nil
}

// wantedRow sets row to the columns that Operator.Wanted names for v, and NaN.
func (p *propagation) wantedRow(
	ctx context.Context, v kv.NodeID, list []kv.NodeID, from []float32, lo int, row, input []float32, cleared float64,
) error {
	for j := range row {
		row[j] = float32(math.NaN())
	}
	for _, wanted := range p.op.Wanted {
		j := int(wanted[v]) - lo
		if j < 0 || j >= len(row) || !math.IsNaN(float64(row[j])) { // not of this tile, or done for another vector
			continue
		}
		width, sum := stride(len(row)), 0.0
		for rest := list; len(rest) > 0; {
			part := rest[:min(stretch, len(rest))]
			for _, u := range part {
				sum += float64(from[int(u)*width+j])
			}
			if rest = rest[len(part):]; len(rest) > 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if p.op.SelfLoops {
			sum += float64(from[int(v)*width+j])
		}
		row[j] = value(sum, p.scale(v), cleared, input[j])
	}
	return nil
}
