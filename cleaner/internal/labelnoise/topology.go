package labelnoise

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// roundingShare of what a node has of its own is more than roundings to float32 change it by.
const roundingShare = 1e-6

// The diffusion of BeGIN's topology noise.
const (
	diffusionStay = 0.9 // the chance to end at each step
	diffusionHops = 2
)

// spoilByTopology gives labels that the nodes around have, as BeGIN's noise of that name (Kim and others, arXiv:2506.12468).
// With T = (D+I)^(-1) (A+I), the walk that may rest, and α = 0.9, the personalised PageRank of a node is Σ_k α (1−α)^k T^k;
// what other nodes have of it is added up by their class, and the softmax of these masses, divided by 0.01, are the shares of
// bySharesOfOthers. A node without labelled nodes
// around it keeps its label. A graph with directions is walked both ways.
//
// The sum ends with k = 2. What is left out is (1−α)³ = 0.001 of the PageRank, by which a share changes by a tenth of
// itself at most.
func spoilByTopology(ctx context.Context, s *spoiling) (err error) {
	d, err := s.diffuse(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.masses.Close()) }()
	return s.bySharesOfOthers(ctx, s.around(d))
}

// around is the nearness of what is around a node.
func (s *spoiling) around(d *diffusion) nearness {
	return nearness{d.masses, func(v kv.NodeID, row []float32, shares []float64) {
		root, around := math.Sqrt(d.strengths[v]), -d.returns[v]
		for j := range shares {
			shares[j] = float64(row[j]) / root
			around += shares[j]
		}
		if around <= roundingShare*d.returns[v] {
			clear(shares)
			return
		}
		shares[s.Labels[v]] -= d.returns[v]
		s.softmax(shares, noiseTemperature)
	}}
}

// A diffusion is where walks end.
type diffusion struct {
	strengths []float64       // [n] of A+I
	returns   []float64       // [n] what a node has of its own PageRank, but for the walk of no step
	masses    *rowstore.Store // [n×c] what all classes have of it, but for that, times √strength
}

// diffuse does so. The caller closes the masses.
func (s *spoiling) diffuse(ctx context.Context) (*diffusion, error) {
	n := len(s.Labels)
	d := &diffusion{strengths: make([]float64, n), returns: make([]float64, n)}
	if err := d.walk(ctx, s.Adjacency); err != nil {
		return nil, err
	}
	var err error
	if d.masses, err = rowstore.New(s.Scratch, n, s.Classes); err != nil {
		return nil, err
	}
	// T^k = (D+I)^(-1/2) S^k (D+I)^(1/2), where S is what ops propagates by.
	op := ops.Operator{Hops: diffusionHops, SelfLoops: true}
	opt := ops.Options{
		MemoryBudget: s.opt.MemoryBudget - diffusionBytes*int64(n), Workers: s.opt.Workers, Scratch: s.Scratch,
		Progress: s.opt.Progress,
	}
	roots := rootedLabels{ops.OneHot(s.Labels, s.Classes), d.strengths}
	err = ops.Propagate(ctx, s.Adjacency, roots, op, opt, func(t ops.Tile) error {
		return d.masses.Add(t.Rows, t.Lo, t.Hi-t.Lo, float32(ending(t.Hop)), t.Values)
	})
	d.masses, err = d.masses.OrClose(err)
	return d, err
}

// ending is α (1−α)^k, the weight of walks of so many steps.
func ending(hop int) float64 { return diffusionStay * elementary.Pow(1-diffusionStay, hop) }

// diffusionBytes a node are those of a diffusion.
const diffusionBytes = 8 + 8

// leastForDiffusion is what diffuse needs.
func leastForDiffusion(ctx context.Context, p *Graph) (int64, error) {
	least, err := p.LeastToPropagate(ctx)
	return diffusionBytes*int64(p.Adjacency.NumNodes()) + least, err
}

// walk reads the adjacency for the strengths, and with them for the returns of one step and two: 1/s_v, and
// Σ_u a_vu² / (s_v s_u).
func (d *diffusion) walk(ctx context.Context, g ops.Graph) error {
	err := eachList(ctx, g, func(v kv.NodeID, list []kv.NodeID, weight func(i int) float64) {
		d.strengths[v] = 1
		for i := range list {
			d.strengths[v] += weight(i)
		}
	})
	if err != nil {
		return err
	}
	return eachList(ctx, g, func(v kv.NodeID, list []kv.NodeID, weight func(i int) float64) {
		two := 1 / d.strengths[v]
		for i, u := range list {
			two += weight(i) * weight(i) / d.strengths[u]
		}
		d.returns[v] = (float64(ending(1)) + float64(ending(2)*two)) / d.strengths[v]
	})
}

// eachList visits the list of every node, ascending, with the weights of its entries.
func eachList(
	ctx context.Context, g ops.Graph, visit func(v kv.NodeID, list []kv.NodeID, weight func(i int) float64),
) error {
	blocks, err := g.AdjacencyBlocks()
	if err != nil {
		return err
	}
	var lists kv.Adjacency
	for _, block := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.ReadAdjacency(block, &lists); err != nil {
			return err
		}
		for v := block.First; v < block.End; v++ {
			from, to := lists.Offsets[v-block.First], lists.Offsets[v-block.First+1]
			visit(v, lists.Neighbors[from:to], func(i int) float64 {
				if lists.Weights == nil {
					return 1
				}
				return float64(lists.Weights[from+int64(i)])
			})
		}
	}
	return nil
}

// rootedLabels are rows of labels, each times the root of the node's strength.
type rootedLabels struct {
	ops.Source
	strengths []float64
}

func (r rootedLabels) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := r.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	for i := range dst[:rows.Len()*(hi-lo)] {
		if dst[i] != 0 {
			dst[i] = float32(math.Sqrt(r.strengths[int(rows.First)+i/(hi-lo)]))
		}
	}
	return nil
}
