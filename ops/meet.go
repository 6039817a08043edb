package ops

import (
	"context"

	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops/internal/kernel"
)

// meetChunk is the number of nodes that a worker takes at a time: some rows of A² are as long as all others together.
const meetChunk = 16

// A sparseSum is a vector of few entries among n. They are greater than 0: the product of two float32 and p is never
// too small for a float64.
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
	rows, err := job.hold(ctx, kv.Range{End: kv.NodeID(job.walker.nodes)})
	if err != nil {
		return err
	}
	defer func() { err = joinErrors(err, rows.free()) }()
	n := job.walker.nodes
	chunks := (n + meetChunk - 1) / meetChunk
	return parallel.Do(ctx, len(job.workers), chunks, func(ctx context.Context, worker, chunk int) error {
		for v := chunk * meetChunk; v < min(n, (chunk+1)*meetChunk); v++ {
			var err error
			if sums[v], err = job.meetAt(ctx, k, kv.NodeID(v), rows, &job.workers[worker]); err != nil {
				return err
			}
			job.progress.add(int(job.survey.degrees[v]))
		}
		return ctx.Err()
	})
}

// meetAt sums the walks from v, whose row of A P A goes to row.
func (job *walkJob) meetAt(
	ctx context.Context, k int, v kv.NodeID, rows *heldRows, row *sparseSum,
) (sum float64, err error) {
	defer row.clear()
	if err := job.square(ctx, row, rows, v); err != nil {
		return 0, err
	}
	if k == 4 {
		for _, w := range row.nodes {
			sum += float64(row.values[w] * job.scale[w] * row.values[w])
		}
		return sum, nil
	}
	row.multiply(job.scale)
	steps := kernel.Pace(0)
	for _, w := range row.nodes {
		sum += float64(row.values[w] * dot(rows, w, row.values))
		if err := steps.Walk(ctx, int(job.survey.degrees[w])+1); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// square sets s to row v of A P A.
func (job *walkJob) square(ctx context.Context, s *sparseSum, matrix *heldRows, v kv.NodeID) error {
	nodes, weights := matrix.of(v)
	steps := kernel.Pace(0)
	for i, u := range nodes {
		s.add(matrix, u, weightAt(weights, i)*job.scale[u])
		if err := steps.Walk(ctx, int(job.survey.degrees[u])); err != nil {
			return err
		}
	}
	return nil
}
