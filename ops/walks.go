package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A walkJob computes the diagonals of a graph that is directed or weighted, where the closed forms of the simple one do
// not hold, and those of k ≥ 4 of any graph. With D_out the row sums of A, D_in its column sums and
//
//	p_u = (D_out_u D_in_u)^(-1/2), 0 if either is 0
//
// a closed walk of Ã = D_out^(-1/2) A D_in^(-1/2) weighs what it does in the product A P, so that
//
//	k = 2:  p_v Σ_u A_vu p_u A_uv
//	k = 3:  p_v Σ_u A_vu p_u Σ_w A_uw p_w A_wv
//	k = 4:  p_v Σ_w R_w p_w C_w                  R = row v of A P A, C = column v of it
//	k = 5:  p_v Σ_w R_w p_w Σ_x A_wx p_x C_x
//
// Sums are in float64 and in an order that neither the number of workers nor the budget has a say in.
type walkJob struct {
	walker   *walker
	survey   *survey
	hops     int
	have     int       // hops whose diagonals are known
	scale    []float64 // p [n]
	capacity int64     // entries of rows that are held at a time for k = 3
	workers  []meeting
	price    walkPrice
	progress *meter
}

// A walkPrice is the work of a walkJob in elementary steps, counted before any of it is done. What K does not need is 0.
type walkPrice struct {
	wedges  float64 // k ≥ 3: paths v→u→w
	squares float64 // k ≥ 4: the wedges of rows, and of columns where A is not symmetric
	ball    float64 // k = 5: squares again, and the entries of all rows w that a row of A² reaches, at most
}

func (p walkPrice) steps() float64 { return p.wedges + p.squares + p.ball }

// walkDiagonals is ComputeDiagonals of a graph that is directed or weighted.
func walkDiagonals(ctx context.Context, w *walker, s *survey, hops int, opt Options) (_ *Diagonals, err error) {
	job := &walkJob{walker: w, survey: s, hops: hops, have: len(opt.Have)}
	if err := job.divideBudget(opt); err != nil {
		return nil, err
	}
	// The product of two roots: that of the strengths could overflow. The array of strengths is not needed any more.
	job.scale = s.rows
	for v, strength := range s.rows {
		if root := math.Sqrt(strength) * math.Sqrt(s.columns[v]); root > 0 {
			job.scale[v] = 1 / root
		} else {
			job.scale[v] = 0
		}
	}
	if hops >= 3 {
		start := time.Now()
		if err := job.count(ctx); err != nil {
			return nil, err
		}
		w.finish(opt.OnStage, start, Stage{Name: "price", Edges: s.edges()})
		if steps := job.price.steps(); steps > opt.MaxPrice {
			return nil, &PriceError{Hops: hops, Price: steps, Limit: opt.MaxPrice}
		}
	}
	job.progress = &meter{progress: opt.Progress, stage: "diagonal", total: job.walkedEntries()}
	all := &Diagonals{}
	defer func() {
		if err != nil {
			err = joinErrors(err, all.Close())
		}
	}()
	all.hops = append(all.hops, opt.Have...)
	for k := len(opt.Have) + 1; k <= hops; k++ {
		start := time.Now()
		out, err := scratch.New[float64](opt.Scratch, fmt.Sprintf("diagonal-%d", k), w.nodes)
		if err != nil {
			return nil, err
		}
		all.hops, all.arrays = append(all.hops, out.Data), append(all.arrays, out)
		if k > 1 {
			if err := job.hop(ctx, k, out.Data); err != nil {
				return nil, err
			}
			w.finish(opt.OnStage, start, Stage{Name: "diagonal", Hop: k, Edges: s.edges()})
		}
		if err := opt.hasDiagonal(k, out.Data); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// walkHeldBytes is all that so many workers hold but rows of A, and the least of these.
func (s *Sizes) walkHeldBytes(hops, workers int, onDisk bool) (arrays, least int64) {
	n, sides := int64(s.nodes), s.sides()
	arrays, worker := n*s.scaleBytes(), s.bufferBytes()
	if !onDisk {
		arrays += 8 * n * int64(hops)
	}
	if hops >= 3 {
		arrays += 8 * n // offsets, or counts for the price
		worker += 8 * n
		least = s.entryBytes() * int64(s.maxDegree)
	}
	if hops >= 4 {
		arrays += 8 * n * (sides - 1)
		worker += 8*n*(sides-1) + 4*n*sides
		least = s.entryBytes() * s.entries * sides
	}
	return arrays + int64(workers)*worker, least
}

// divideBudget sets how many workers run and how much of A is held.
func (job *walkJob) divideBudget(opt Options) error {
	if job.hops < 3 {
		return nil
	}
	sizes := &job.survey.Sizes
	for workers := opt.Workers; workers > 0; workers-- {
		arrays, least := sizes.walkHeldBytes(job.hops, workers, opt.Scratch != nil)
		if rest := opt.MemoryBudget - arrays; rest >= least {
			job.limit(workers)
			job.capacity = rest / sizes.entryBytes()
			return nil
		}
	}
	arrays, least := sizes.walkHeldBytes(job.hops, 1, opt.Scratch != nil)
	return &BudgetError{Job: "diagonal", Budget: opt.MemoryBudget, Least: arrays + least}
}

// limit keeps so many workers and makes what they hold.
func (job *walkJob) limit(workers int) {
	job.walker.limit(workers)
	job.workers = make([]meeting, workers)
	n := job.walker.nodes
	for i := range job.workers {
		m := &job.workers[i]
		if m.row.values = make([]float64, n); job.hops < 4 {
			continue
		}
		m.row.nodes = make([]kv.NodeID, 0, n)
		if job.survey.directed {
			m.column = sparseSum{make([]float64, n), make([]kv.NodeID, 0, n)}
		}
	}
}

// count sets the price.
func (job *walkJob) count(ctx context.Context) error {
	for u, degree := range job.survey.degrees {
		job.price.wedges += float64(float64(degree) * float64(job.survey.columnDegrees[u]))
	}
	if job.hops >= 4 {
		job.price.squares = job.price.wedges * float64(job.survey.sides())
	}
	if job.hops < 5 {
		return nil
	}
	reach := job.survey.degrees // entries of the rows that v reaches in a step, then in two, at most those of A
	for range 2 {
		next := make([]uint32, len(reach))
		limit := uint64(min(job.survey.entries, math.MaxUint32))
		err := job.walker.walk(ctx, func(ctx context.Context, _ int, adj *kv.Adjacency) error {
			for v := adj.First; v < adj.End; v++ {
				sum := uint64(0)
				for _, u := range adj.Of(v) {
					sum += uint64(reach[u])
				}
				next[v] = uint32(min(sum, limit))
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		reach = next
	}
	for _, entries := range reach {
		job.price.ball += float64(entries)
	}
	job.price.ball += job.price.squares
	return nil
}

// walkedEntries is the total of the progress.
func (job *walkJob) walkedEntries() int64 { return int64(job.walks()) * job.survey.entries }

// walks is how often the graph is walked once its price is known: for k = 2, once a span for k = 3, once each for k = 4
// and 5.
func (job *walkJob) walks() int {
	walks := max(0, job.hops-max(1, job.have))
	if job.hops >= 3 && job.have < 3 {
		walks += len(job.spans()) - 1
	}
	return walks
}

// hop makes diag(Ã^k) [n] of zeros, k ≥ 2.
func (job *walkJob) hop(ctx context.Context, k int, out []float64) (err error) {
	switch k {
	case 2:
		err = job.there(ctx, out)
	case 3:
		err = job.around(ctx, out)
	default:
		err = job.meet(ctx, k, out)
	}
	for v := range out {
		out[v] *= job.scale[v]
	}
	return err
}

// there sums the walks v→u→v.
func (job *walkJob) there(ctx context.Context, sums []float64) error {
	return job.walker.walkBoth(ctx, func(ctx context.Context, _ int, rows, columns *kv.Adjacency) error {
		steps := pace(0)
		for i := range rows.Len() {
			v := rows.First + kv.NodeID(i)
			row, column := rows.Of(v), columns.Of(v)
			rowWeights, columnWeights := weightsOf(rows, i), weightsOf(columns, i)
			sum, j := 0.0, 0
			for at, u := range row {
				for j < len(column) && column[j] < u {
					j++
				}
				if j == len(column) {
					break
				}
				if column[j] == u {
					sum += float64(weightAt(rowWeights, at) * job.scale[u] * weightAt(columnWeights, j))
				}
			}
			sums[v] = sum
			if err := steps.walk(ctx, len(row)+len(column)+1); err != nil {
				return err
			}
		}
		job.progress.add(len(rows.Neighbors))
		return nil
	})
}

// weightAt is a weight of a list, 1 if it has none.
func weightAt(weights []float32, i int) float64 {
	if weights == nil {
		return 1
	}
	return float64(weights[i])
}

// spans cuts the nodes so that the rows of each span have at most capacity entries together, or are one row.
func (job *walkJob) spans() []kv.Range {
	var out []kv.Range
	first, entries := 0, int64(0)
	for u, length := range job.survey.degrees {
		if entries+int64(length) > job.capacity && u > first {
			out = append(out, kv.Range{First: kv.NodeID(first), End: kv.NodeID(u)})
			first, entries = u, 0
		}
		entries += int64(length)
	}
	return append(out, kv.Range{First: kv.NodeID(first), End: kv.NodeID(job.walker.nodes)})
}

// heldRows are some rows of A, or of its columns, in memory.
type heldRows struct {
	first   kv.NodeID
	offsets []int64
	nodes   offheap.Array[kv.NodeID]
	weights offheap.Array[float32] // empty where all are 1
}

// of returns the row of u, and its weights or nil.
func (h *heldRows) of(u kv.NodeID) ([]kv.NodeID, []float32) {
	i := u - h.first
	from, to := h.offsets[i], h.offsets[i+1]
	if h.weights.Data == nil {
		return h.nodes.Data[from:to], nil
	}
	return h.nodes.Data[from:to], h.weights.Data[from:to]
}

func (h *heldRows) free() error { return errors.Join(h.nodes.Free(), h.weights.Free()) }

// hold reads the rows r of a walker's graph, whose lengths are given for all nodes.
func (job *walkJob) hold(ctx context.Context, w *walker, r kv.Range, lengths []uint32) (h *heldRows, err error) {
	h = &heldRows{first: r.First, offsets: make([]int64, r.Len()+1)}
	for i, length := range lengths[r.First:r.End] {
		h.offsets[i+1] = h.offsets[i] + int64(length)
	}
	defer func() {
		if err != nil {
			err = joinErrors(err, h.free())
		}
	}()
	entries := int(h.offsets[len(h.offsets)-1])
	if h.nodes, err = offheap.New[kv.NodeID](entries); err != nil {
		return h, fmt.Errorf("diagonal: %d entries: %w", entries, err)
	}
	if job.survey.weighted {
		if h.weights, err = offheap.New[float32](entries); err != nil {
			return h, fmt.Errorf("diagonal: %d weights: %w", entries, err)
		}
	}
	err = parallel.Do(ctx, len(w.bufs), len(w.blocks), func(_ context.Context, worker, block int) error {
		if b := w.blocks[block]; b.End <= r.First || b.First >= r.End {
			return nil
		}
		adj := &w.bufs[worker]
		if err := w.read(block, adj); err != nil {
			return err
		}
		for u := max(adj.First, r.First); u < min(adj.End, r.End); u++ {
			nodes, weights := h.of(u)
			if len(adj.Of(u)) != len(nodes) {
				return fmt.Errorf("%w: the list of node %d changed while it was read", ErrGraph, u)
			}
			copy(nodes, adj.Of(u))
			copy(weights, weightsOf(adj, int(u-adj.First)))
		}
		return nil
	})
	return h, err
}

// around sums the walks v→u→w→v: it holds the rows of one span of u after the other, and continues the sum of each v.
func (job *walkJob) around(ctx context.Context, sums []float64) error {
	for _, s := range job.spans() {
		if err := job.aroundSpan(ctx, s, sums); err != nil {
			return err
		}
	}
	return nil
}

func (job *walkJob) aroundSpan(ctx context.Context, r kv.Range, sums []float64) (err error) {
	matrix, err := job.hold(ctx, job.walker, r, job.survey.degrees)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, matrix.free()) }()
	return job.walker.walkBoth(ctx, func(ctx context.Context, worker int, rows, columns *kv.Adjacency) error {
		back, steps := job.workers[worker].row.values, pace(0) // p_w A_wv by w
		for i := range rows.Len() {
			v := rows.First + kv.NodeID(i)
			row, column := rows.Of(v), columns.Of(v)
			if err := steps.walk(ctx, len(row)+2*len(column)+1); err != nil {
				return err
			}
			if len(row) == 0 || len(column) == 0 {
				continue
			}
			weights := weightsOf(columns, i)
			for j, w := range column {
				back[w] = job.scale[w] * weightAt(weights, j)
			}
			weights = weightsOf(rows, i)
			for j, u := range row {
				if u < r.First || u >= r.End {
					continue
				}
				sums[v] += float64(weightAt(weights, j) * job.scale[u] * dot(matrix, u, back))
				if err := steps.walk(ctx, int(job.survey.degrees[u])); err != nil {
					return err
				}
			}
			for _, w := range column {
				back[w] = 0
			}
		}
		job.progress.add(len(rows.Neighbors))
		return nil
	})
}

// dot is Σ_w A_uw x_w.
func dot(matrix *heldRows, u kv.NodeID, x []float64) float64 {
	nodes, weights := matrix.of(u)
	sum := 0.0
	if weights == nil {
		for _, w := range nodes {
			sum += x[w]
		}
		return sum
	}
	for i, w := range nodes {
		sum += float64(float64(weights[i]) * x[w])
	}
	return sum
}

// meetChunk is the number of nodes that a worker takes at a time: some rows of A² are as long as all others together.
const meetChunk = 16

// A meeting is what one worker holds for a row and a column of A P A; all is zero between nodes.
type meeting struct{ row, column sparseSum }

// A sparseSum is a vector of few entries among n. They are greater than 0: the product of two float32 and p is never too
// small for a float64.
type sparseSum struct {
	values []float64   // [n]
	nodes  []kv.NodeID // those of the entries, in the order in which they came
}

// add adds a times row u.
func (s *sparseSum) add(matrix *heldRows, u kv.NodeID, a float64) {
	nodes, weights := matrix.of(u)
	for i, w := range nodes {
		if s.values[w] == 0 {
			s.nodes = append(s.nodes, w)
		}
		s.values[w] += float64(a * weightAt(weights, i))
	}
}

func (s *sparseSum) multiply(scale []float64) {
	for _, w := range s.nodes {
		s.values[w] *= scale[w]
	}
}

func (s *sparseSum) clear() {
	for _, w := range s.nodes {
		s.values[w] = 0
	}
	s.nodes = s.nodes[:0]
}

// meet sums the walks of k = 4 or 5 steps: two from v, and two to v.
func (job *walkJob) meet(ctx context.Context, k int, sums []float64) (err error) {
	all := kv.Range{End: kv.NodeID(job.walker.nodes)}
	rows, err := job.hold(ctx, job.walker, all, job.survey.degrees)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, rows.free()) }()
	columns := rows
	if job.survey.directed {
		if columns, err = job.hold(ctx, job.walker.columns, all, job.survey.columnDegrees); err != nil {
			return err
		}
		defer func() { err = joinErrors(err, columns.free()) }()
	}
	n := job.walker.nodes
	return parallel.Do(ctx, len(job.workers), (n+meetChunk-1)/meetChunk, func(ctx context.Context, worker, chunk int) error {
		for v := chunk * meetChunk; v < min(n, (chunk+1)*meetChunk); v++ {
			var err error
			if sums[v], err = job.meetAt(ctx, k, kv.NodeID(v), rows, columns, &job.workers[worker]); err != nil {
				return err
			}
			job.progress.add(int(job.survey.degrees[v]))
		}
		return ctx.Err()
	})
}

// meetAt sums the walks from v.
func (job *walkJob) meetAt(
	ctx context.Context, k int, v kv.NodeID, rows, columns *heldRows, m *meeting,
) (sum float64, err error) {
	if job.survey.degrees[v] == 0 || job.survey.columnDegrees[v] == 0 {
		return 0, nil
	}
	defer m.row.clear()
	if err := job.square(ctx, &m.row, rows, v, job.survey.degrees); err != nil {
		return 0, err
	}
	column := &m.row
	if job.survey.directed {
		column = &m.column
		defer column.clear()
		if err := job.square(ctx, column, columns, v, job.survey.columnDegrees); err != nil {
			return 0, err
		}
	}
	if k == 4 {
		for _, w := range m.row.nodes {
			sum += float64(m.row.values[w] * job.scale[w] * column.values[w])
		}
		return sum, nil
	}
	if m.row.multiply(job.scale); column != &m.row {
		column.multiply(job.scale)
	}
	steps := pace(0)
	for _, w := range m.row.nodes {
		sum += float64(m.row.values[w] * dot(rows, w, column.values))
		if err := steps.walk(ctx, int(job.survey.degrees[w])+1); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// square sets s to row v of A P A, or to its column where the columns are held.
func (job *walkJob) square(ctx context.Context, s *sparseSum, matrix *heldRows, v kv.NodeID, lengths []uint32) error {
	nodes, weights := matrix.of(v)
	steps := pace(0)
	for i, u := range nodes {
		s.add(matrix, u, weightAt(weights, i)*job.scale[u])
		if err := steps.walk(ctx, int(lengths[u])); err != nil {
			return err
		}
	}
	return nil
}
