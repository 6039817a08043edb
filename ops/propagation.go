package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A propagation runs the hops of one tile after the other. Between hops it keeps D^(-1/2)x rather than x, so that a
// row of the next hop is a plain sum of its neighbours' rows, weighted where the graph is. Of a directed graph the D by
// which rows are kept is that of the columns of A, and the other that of its rows.
type propagation struct {
	walker   *walker
	degrees  []uint32
	sums     *strengths // nil of a simple graph, where they are the degrees
	parts    []sourcePart
	op       Operator
	plan     PropagatePlan
	visit    func(Tile) error
	onStage  func(Stage)
	progress meter
	edges    int64
	workers  []rowScratch

	// read holds the rows of a stripe of the tile that a hop reads. What it writes goes to next, from which the hop after
	// it reads again as previous: another tile in memory, or scratch arrays, which are one where read holds whole tiles.
	read           []float32
	previous, next []float32
	// inputs has room for the source's columns of a tile [nodes×width], nil if each hop reads them again.
	inputs []float32
	// stripeSums are the sums of all rows over the stripes walked so far.
	stripeSums []float64
}

// A rowScratch is what one worker writes rows into. Where rows are not whole groups, the last one has room for its own.
type rowScratch struct {
	sums    []float64 // [stride], and one for marks that are in no column
	values  []float32 // [visitRows×width], for the visitor
	input   []float32 // [visitRows×width], read from the source
	part    []float32 // [visitRows×width], read from one of the sources side by side
	columns []int     // wanted
	groups  []int     // of wanted columns
}

// propagate is Propagate by a plan for the columns that Operator.First leaves.
func propagate(
	ctx context.Context, w *walker, s *survey, src Source, op Operator, opt Options, plan PropagatePlan,
	visit func(Tile) error,
) (err error) {
	w.limit(plan.Workers)
	p := &propagation{
		walker: w, degrees: s.degrees, sums: s.strengths, edges: s.Edges(), parts: partsOf(src), op: op, plan: plan,
		visit: visit, onStage: opt.OnStage, workers: make([]rowScratch, plan.Workers),
	}
	p.progress = meter{progress: opt.Progress, stage: "propagate", total: s.Entries * int64(plan.Passes)}
	room := visitRows*plan.Width + kernel.GroupColumns
	for i := range p.workers {
		p.workers[i] = rowScratch{
			sums:   make([]float64, kernel.Stride(plan.Width)+1),
			values: make([]float32, room),
			input:  make([]float32, room),
			part:   make([]float32, room),
		}
	}
	free, err := p.allocate(opt.Scratch)
	defer func() {
		if freeErr := free(); freeErr != nil {
			err = errors.Join(err, freeErr)
		}
	}()
	if err != nil {
		return fmt.Errorf("propagate: %w", err)
	}
	columns := src.Width()
	for lo := op.First; lo < columns; lo += plan.Width {
		hi := min(columns, lo+plan.Width)
		if err := p.tile(ctx, lo, hi); err != nil {
			return err
		}
		if op.OnTile != nil {
			if err := op.OnTile(hi); err != nil {
				return err
			}
		}
	}
	return nil
}

// allocate takes what the plan says, and returns what gives it back.
func (p *propagation) allocate(dir *scratch.Dir) (free func() error, err error) {
	var frees []func() error
	free = func() error {
		var errs []error
		for _, f := range frees {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	inMemory := func(rows int) ([]float32, error) {
		length := rows * kernel.Stride(p.plan.Width)
		m, err := offheap.New[float32](length)
		if err != nil {
			return nil, fmt.Errorf("%d×%d numbers: %w", rows, p.plan.Width, err)
		}
		frees = append(frees, m.Free)
		return m.Data, nil
	}
	frees = append(frees, p.walker.free)
	if p.plan.Held {
		if err := p.walker.keep(p.degrees); err != nil {
			return free, err
		}
	} else if err := p.walker.drop(); err != nil {
		return free, err
	}
	if p.read, err = inMemory(p.plan.StripeRows); err != nil {
		return free, err
	}
	if p.plan.Inputs {
		if p.inputs, err = inMemory(p.plan.Rows); err != nil {
			return free, err
		}
	}
	length := p.plan.Rows * kernel.Stride(p.plan.Width)
	if p.plan.Stripes > 1 {
		sums, err := scratch.New[float64](dir, "propagate-sums", length)
		if err != nil {
			return free, err
		}
		frees = append(frees, sums.Close)
		p.stripeSums = sums.Data
	}
	if p.op.Hops == 1 {
		return free, nil
	}
	if p.plan.Strategy == TilesInMemory {
		p.next, err = inMemory(p.plan.Rows)
		return free, err
	}
	rows, err := scratch.New[float32](dir, "propagate-next", length)
	if err != nil {
		return free, err
	}
	frees = append(frees, rows.Close)
	p.next, p.previous = rows.Data, rows.Data
	if p.plan.Stripes > 1 {
		previous, err := scratch.New[float32](dir, "propagate-previous", length)
		if err != nil {
			return free, err
		}
		frees = append(frees, previous.Close)
		p.previous = previous.Data
	}
	return free, nil
}

// A turn is a hop of a tile over one stripe of source rows.
type turn struct {
	hop, lo, hi int
	rows        kv.Range      // in memory
	from        kernel.Slab   // of them
	marks       []kernel.Mark // of them, in the columns behind those of from; nil: from has all columns
	inputs      []float32     // of all rows; nil: they are read again
	begin, end  bool          // the first, the last stripe
	next        []float32     // nil at the last hop
}

func (t *turn) width() int { return t.hi - t.lo }

// tile runs all hops of the columns lo ≤ j < hi.
func (p *propagation) tile(ctx context.Context, lo, hi int) error {
	n, length := p.plan.Rows, p.plan.Rows*kernel.Stride(hi-lo)
	inputs := p.inputs
	if labels, ok := p.labelled(lo, hi); ok && labels.at <= lo {
		inputs = nil // of labels alone, which are in memory
	}
	for hop := 1; hop <= p.op.Hops; hop++ {
		start := time.Now()
		for first := 0; first < n; first += p.plan.StripeRows {
			end := min(n, first+p.plan.StripeRows)
			t := &turn{
				hop: hop, lo: lo, hi: hi, rows: kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, inputs: inputs,
				begin: first == 0, end: end == n,
			}
			if hop < p.op.Hops {
				t.next = p.next[:length]
			}
			if err := p.load(ctx, t); err != nil {
				return err
			}
			if err := p.walk(ctx, t); err != nil {
				return err
			}
		}
		p.walker.finish(p.onStage, start, Stage{Name: "propagate", Hop: hop, Edges: p.edges, Columns: hi - lo})
		switch {
		case hop == p.op.Hops: // it wrote nothing
		case p.plan.Strategy == TilesInMemory:
			p.read, p.next = p.next, p.read
		default:
			p.previous, p.next = p.next, p.previous
		}
	}
	return nil
}

// rowScale is the entry of D^(-1/2) by which the sum of a row is multiplied, zero for one without weight.
func (p *propagation) rowScale(v kv.NodeID) float64 {
	if p.sums == nil {
		return p.scale(float64(p.degrees[v]))
	}
	return p.scale(p.sums.rows[v])
}

// columnScale is the entry of D^(-1/2) by which a node's own row is multiplied before others gather it.
func (p *propagation) columnScale(v kv.NodeID) float64 {
	if p.sums == nil {
		return p.scale(float64(p.degrees[v]))
	}
	return p.scale(p.sums.columns[v])
}

// scale is the inverse root of a strength.
func (p *propagation) scale(strength float64) float64 {
	if p.op.SelfLoops {
		strength++
	}
	return kernel.Scale(strength)
}

// ending is what becomes of the sums of v's row.
func (p *propagation) ending(v kv.NodeID) kernel.Ending {
	scale := p.rowScale(v)
	if p.sums == nil {
		return kernel.Ending{Scale: scale, Next: scale * scale}
	}
	return kernel.Ending{Scale: scale, Next: scale * p.columnScale(v)}
}

// load brings the rows of a turn into memory.
func (p *propagation) load(ctx context.Context, t *turn) error {
	w, rows := kernel.Stride(t.width()), t.rows.Len()
	t.from = kernel.Slab{Values: p.read[:rows*w], First: t.rows.First, Stride: w}
	if t.hop == 1 {
		return p.fill(ctx, t)
	}
	if p.plan.Strategy == TilesInMemory {
		return nil
	}
	return p.eachRows(ctx, t.rows, func(_ int, rows kv.Range) error {
		copy(t.from.Values[int(rows.First-t.rows.First)*w:], p.previous[int(rows.First)*w:int(rows.End)*w])
		return nil
	})
}

// eachRows calls use for the blocks of rows, concurrently for different workers.
func (p *propagation) eachRows(ctx context.Context, rows kv.Range, use func(worker int, rows kv.Range) error) error {
	begin := int(rows.First) / visitRows
	blocks := (int(rows.End)+visitRows-1)/visitRows - begin
	return parallel.Do(ctx, len(p.workers), blocks, func(_ context.Context, worker, i int) error {
		first := kv.NodeID((begin + i) * visitRows)
		return use(worker, blockFrom(max(rows.First, first), rows.End))
	})
}

// blockFrom is the rows from first to end that lie in the block of first: blocks begin at multiples of visitRows, as those of kv.Matrix do.
func blockFrom(first, end kv.NodeID) kv.Range {
	return kv.Range{First: first, End: kv.NodeID(min(int(end), (int(first)/visitRows+1)*visitRows))}
}

// labelled returns the part of a tile that is labels, where it is at the end and its marks take less memory than its
// rows.
func (p *propagation) labelled(lo, hi int) (part sourcePart, ok bool) {
	for _, part := range p.parts {
		from, to := part.within(lo, hi)
		if _, ok := part.Source.(oneHot); ok && from < to && part.at+to >= hi {
			const markWords = int(unsafe.Sizeof(kernel.Mark{}) / unsafe.Sizeof(float32(0)))
			return part, kernel.Stride(max(0, part.at-lo))+markWords <= kernel.Stride(hi-lo)
		}
	}
	return sourcePart{}, false
}

// fill writes D^(-1/2)x for columns of the source. A node without neighbours is nobody's neighbour: its row stays zero
// whatever the source holds.
func (p *propagation) fill(ctx context.Context, t *turn) error {
	labels, marked := p.labelled(t.lo, t.hi)
	dense := t.hi
	if marked {
		dense = max(t.lo, labels.at)
		t.from.Stride = kernel.Stride(dense - t.lo)
		rows := t.rows.Len()
		t.marks = unsafe.Slice((*kernel.Mark)(unsafe.Pointer(&t.from.Values[rows*t.from.Stride])), rows)
		t.from.Values = t.from.Values[:rows*t.from.Stride]
	}
	return p.eachRows(ctx, t.rows, func(worker int, rows kv.Range) error {
		if dense > t.lo {
			if err := p.fillRows(&p.workers[worker], t, rows, dense); err != nil {
				return err
			}
		}
		if marked {
			return p.fillMarks(labels, t, rows)
		}
		return nil
	})
}

func (p *propagation) fillRows(s *rowScratch, t *turn, rows kv.Range, dense int) error {
	w, hi, values := t.from.Stride, dense, s.input
	if t.inputs != nil {
		hi, values = t.hi, t.inputs[int(rows.First)*t.width():]
	}
	width := hi - t.lo
	if err := readParts(p.parts, rows, t.lo, hi, values[:rows.Len()*width], s.part); err != nil {
		return err
	}
	for v := rows.First; v < rows.End; v++ {
		row := t.from.Values[int(v-t.rows.First)*w:][:w]
		scaleRow(row, values[int(v-rows.First)*width:][:dense-t.lo], p.columnScale(v))
	}
	return nil
}

// scaleRow makes row the entries of x times scale, and zeros behind them. If scale is zero, all are, whatever x holds.
func scaleRow(row, x []float32, scale float64) {
	clear(row)
	if scale == 0 {
		return
	}
	for j, x := range x {
		row[j] = float32(scale * float64(x))
	}
}

func (p *propagation) fillMarks(labels sourcePart, t *turn, rows kv.Range) error {
	none := kernel.Mark{Column: uint32(kernel.Stride(t.width()))}
	marks := t.marks[rows.First-t.rows.First:][:rows.Len()]
	for i := range marks {
		marks[i] = none
	}
	return labels.Source.(oneHot).each(rows, func(i, class int) {
		if j := labels.at + class - t.lo; 0 <= j && j < t.width() {
			marks[i] = kernel.Mark{Column: uint32(j), Scale: float32(p.columnScale(rows.First + kv.NodeID(i)))}
		}
	})
}

// walk adds the rows of a turn to those of their neighbours; after the last stripe these are visited and, but for the
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
		if err := s.sum(ctx, t, adj.Neighbors[from:], weights, int(to-from), sums, wanted); err != nil {
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
		scale := p.columnScale(v)
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

// want sets the wanted columns of a tile for node v, and their groups.
func (s *rowScratch) want(want func(kv.NodeID, []int) []int, v kv.NodeID, lo, width int) {
	all := want(v, s.columns[:0])
	s.columns, s.groups = all[:0], s.groups[:0]
	for _, column := range all {
		j := column - lo
		if j < 0 || j >= width {
			continue
		}
		s.columns = append(s.columns, j)
		if group := j &^ (kernel.GroupColumns - 1); len(s.groups) == 0 || s.groups[len(s.groups)-1] != group {
			s.groups = append(s.groups, group)
		}
	}
}

// sum adds the rows of the first count neighbours to sums, each times its weight unless there are none; those behind are
// only read ahead.
func (s *rowScratch) sum(
	ctx context.Context, t *turn, neighbors []kv.NodeID, weights []float32, count int, sums []float64, wanted bool,
) error {
	for count > 0 {
		part := min(count, kernel.Stretch)
		list, readable := neighbors[:part], len(neighbors)
		switch w := kernel.Stride(t.width()); {
		case weights != nil:
			s.sumWeighted(t, list, weights[:part], readable, sums[:w+1], wanted)
			weights = weights[part:]
		case t.marks != nil:
			kernel.AddRows(sums[:t.from.Stride], t.from, 0, list, readable)
			kernel.AddMarks(sums, t.marks, t.from.First, list, readable)
		case wanted && len(s.groups)*kernel.GroupColumns < w && (len(s.groups) <= 2 || 2*len(s.groups)*kernel.GroupColumns < w):
			s.gather(t.from, list, readable, sums)
		default:
			kernel.AddRows(sums[:w], t.from, 0, list, readable)
		}
		neighbors = neighbors[part:]
		if count -= part; count > 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sumWeighted is sum of a part of the neighbours.
func (s *rowScratch) sumWeighted(
	t *turn, list []kv.NodeID, weights []float32, readable int, sums []float64, wanted bool,
) {
	w := len(sums) - 1
	switch {
	case t.marks != nil:
		kernel.AddWeightedRows(sums[:t.from.Stride], t.from, 0, list, weights, readable)
		kernel.AddWeightedMarks(sums, t.marks, t.from.First, list, weights)
	case wanted && len(s.groups)*kernel.GroupColumns < w:
		for _, group := range s.groups {
			kernel.AddWeightedRows(sums[group:group+kernel.GroupColumns], t.from, group, list, weights, readable)
		}
	default:
		kernel.AddWeightedRows(sums[:w], t.from, 0, list, weights, readable)
	}
}

// gather adds the groups of wanted columns.
func (s *rowScratch) gather(from kernel.Slab, list []kv.NodeID, readable int, sums []float64) {
	for len(list) > 0 {
		part := list[:min(kernel.Run, len(list))]
		for i := 0; i < len(s.groups); i += 2 {
			left := s.groups[i]
			if i+1 == len(s.groups) {
				kernel.AddRows(sums[left:left+kernel.GroupColumns], from, left, part, readable)
				break
			}
			kernel.AddTwoGroups(sums, from, left, s.groups[i+1], part, readable)
		}
		list, readable = list[len(part):], readable-len(part)
	}
}
