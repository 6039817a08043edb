package ops

import (
	"context"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// A walkJob computes the diagonals of a weighted graph, where the closed forms of the simple one do not hold, and those
// of k ≥ 4 of any graph. With p_u the inverse of the row sum of A, 0 if that is 0, a closed walk of Ã = D^(-1/2) A
// D^(-1/2) weighs what it does in the product A P, so that
//
//	k = 2:  p_v Σ_u A_vu p_u A_uv
//	k = 3:  p_v Σ_u A_vu p_u Σ_w A_uw p_w A_wv
//	k = 4:  p_v Σ_w R_w p_w R_w                  R = row v of A P A
//	k = 5:  p_v Σ_w R_w p_w Σ_x A_wx p_x R_x
//
// Sums are in float64 and in an order that neither the number of workers nor the budget has a say in.
type walkJob struct {
	walker     *walker
	survey     *survey
	hops, have int
	capacity   int64       // entries of rows that are held at a time for k = 3
	scale      []float64   // p [n]
	workers    []sparseSum // row v of A P A, or for k = 3 of A P; all is zero between nodes
	progress   *meter
}

func (job *walkJob) close() error { return nil }

// lacks tells whether diag(Ã^k) is to be computed.
func (job *walkJob) lacks(k int) bool { return job.have < k && k <= job.hops }

// prepare makes the arrays for the hops, once. The scale of a weighted graph takes the place of the strengths.
func (job *walkJob) prepare() {
	if job.scale != nil {
		return
	}
	if s := job.survey; s.strengths == nil {
		job.scale = make([]float64, s.Nodes)
		for v, degree := range s.degrees {
			job.scale[v] = inverse(degree)
		}
	} else {
		job.scale = s.strengths
		for v, strength := range s.strengths {
			job.scale[v] = 0
			// The square of a root, as of two nodes: the product of their strengths could overflow.
			if root := math.Sqrt(strength) * math.Sqrt(strength); root > 0 {
				job.scale[v] = 1 / root
			}
		}
	}
	if job.hops < 3 {
		return
	}
	n := job.walker.nodes
	job.workers = make([]sparseSum, len(job.walker.bufs))
	for i := range job.workers {
		if job.workers[i].values = make([]float64, n); job.hops >= 4 {
			job.workers[i].nodes = make([]kv.NodeID, 0, n)
		}
	}
}

// count counts, for k = 3 and k = 4, paths v→u→w; for k = 5 the same again, and the entries of all rows w that a row of
// A² reaches, at most.
func (job *walkJob) count(ctx context.Context) (steps float64, err error) {
	wedges := 0.0
	for _, degree := range job.survey.degrees {
		wedges += float64(float64(degree) * float64(degree))
	}
	if job.lacks(3) {
		steps += wedges
	}
	if job.lacks(4) {
		steps += wedges
	}
	if job.hops < 5 {
		return steps, nil
	}
	reach := job.survey.degrees // entries of the rows that v reaches in a step, then in two, at most those of A
	for range 2 {
		next := make([]uint32, len(reach))
		limit := uint64(min(job.survey.Entries, math.MaxUint32))
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
			return 0, err
		}
		reach = next
	}
	ball := wedges
	for _, entries := range reach {
		ball += float64(entries)
	}
	return steps + ball, nil
}

// passes is how often the graph is walked: for k = 2, once a span for k = 3, once each for k = 4 and 5.
func (job *walkJob) passes() int {
	passes := max(0, job.hops-max(1, job.have))
	if job.lacks(3) {
		passes += len(job.spans()) - 1
	}
	return passes
}

// hop makes diag(Ã^k) [n] of zeros, k ≥ 2.
func (job *walkJob) hop(ctx context.Context, k int, out []float64) (err error) {
	job.prepare()
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
	return job.walker.walk(ctx, func(ctx context.Context, _ int, rows *kv.Adjacency) error {
		steps := kernel.Pace(0)
		for i := range rows.Len() {
			v := rows.First + kv.NodeID(i)
			row, weights := rows.Of(v), kernel.WeightsOf(rows, i)
			sum := 0.0
			for at, u := range row {
				weight := weightAt(weights, at)
				sum += float64(weight * job.scale[u] * weight)
			}
			sums[v] = sum
			if err := steps.Walk(ctx, 2*len(row)+1); err != nil {
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
	matrix, err := job.hold(ctx, r)
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, matrix.free()) }()
	return job.walker.walk(ctx, func(ctx context.Context, worker int, rows *kv.Adjacency) error {
		back, steps := job.workers[worker].values, kernel.Pace(0) // p_w A_wv by w
		for i := range rows.Len() {
			v := rows.First + kv.NodeID(i)
			row, weights := rows.Of(v), kernel.WeightsOf(rows, i)
			if err := steps.Walk(ctx, 3*len(row)+1); err != nil {
				return err
			}
			for j, w := range row {
				back[w] = job.scale[w] * weightAt(weights, j)
			}
			for j, u := range row {
				if u < r.First || u >= r.End {
					continue
				}
				sums[v] += float64(weightAt(weights, j) * job.scale[u] * dot(matrix, u, back))
				if err := steps.Walk(ctx, int(job.survey.degrees[u])); err != nil {
					return err
				}
			}
			for _, w := range row {
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
