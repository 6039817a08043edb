package cleaner

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A smoothing is how far predictions P [n×c] give way to what is known around a node (correct and smooth: Huang, He,
// Singh, Lim, Benson, arXiv:2010.13993). L are the nodes whose labels are known, Y their labels and
// W = Σ_k decay^(k-1) Ã^k, k = 1..smoothHops:
//
//	E[u] = Y[u] − P[u] on L, 0 elsewhere     R[v] = (W E)[v] / (W 1)[v]     C = P + correct·R
//	G[u] = Y[u] on L, C[u] elsewhere         V[v] = (W G)[v] / (W 1)[v]     (1−smooth)·C + smooth·V
//
// A node without neighbours keeps its prediction. What C takes from a class is bounded (leastRest), and its rows are
// scaled to sum 1.
//
// Neither the label of a node nor its residual comes back to it: every network of a crossFit is smoothed by itself, with
// the labels of the nodes it has learned from for L, and answers only for nodes outside L. So no walk that returns, and
// no neighbour whose prediction has learned from the node, carries the node's own label.
type smoothing struct{ correct, smooth float32 }

// The candidates are few: on little data the choice is not worth more.
var (
	corrections = []float32{0, 0.5, 1}
	smoothings  = []float32{0, 0.25, 0.5, 0.75}
)

const (
	smoothHops  = 3
	smoothDecay = 0.8
	leastRest   = 0.1 // of a prediction, after a correction
)

// knows reports whether a network has learned the label of a node.
func (f *crossFit) knows(net int, v kv.NodeID) bool {
	rank, drawn := f.nodes.has(v)
	return drawn && int(f.folds[rank]) != net
}

// A refiner corrects and smooths the predictions of one network after the other.
type refiner struct {
	*baseProblem
	fit    *crossFit
	opt    PredictOptions
	budget int64
	choice *smoothing // by the first network
}

// refine corrects and smooths the predictions of a network in place. The first network's choose how far: those with the
// least cross-entropy on the validation nodes and on the nodes of its fold, none of whose labels it has seen.
func (r *refiner) refine(ctx context.Context, net int, predictions *rowstore.Store) error {
	choosing := r.choice == nil
	if choosing {
		r.choice = &smoothing{}
	}
	if choosing || r.choice.correct > 0 {
		residuals := func(v kv.NodeID, row []float32) {
			if !r.fit.knows(net, v) {
				clear(row)
				return
			}
			for j := range row {
				row[j] = -row[j]
			}
			row[r.labels[v]]++
		}
		err := r.blend(ctx, net, predictions, residuals, corrections, &r.choice.correct, choosing, correct)
		if err != nil {
			return err
		}
	}
	if choosing || r.choice.smooth > 0 {
		guesses := func(v kv.NodeID, row []float32) {
			if r.fit.knows(net, v) {
				clear(row)
				row[r.labels[v]] = 1
			}
		}
		return r.blend(ctx, net, predictions, guesses, smoothings, &r.choice.smooth, choosing, smooth)
	}
	return nil
}

// correct adds a share of the mean residual around to a row.
func correct(row, around []float32, share float32) {
	var sum float32
	for j, p := range row {
		row[j] = max(p+float32(share*around[j]), leastRest*p)
		sum += row[j]
	}
	for j := range row {
		row[j] /= sum
	}
}

// smooth mixes a row with the mean guess around.
func smooth(row, around []float32, share float32) {
	for j, p := range row {
		row[j] = p + float32(share*(around[j]-p))
	}
}

// blend replaces every row of predictions by one that is mixed with the mean over the neighbourhood of what turn makes of
// the rows. If the share of it is to be chosen, it is the first of shares with the least cross-entropy.
func (r *refiner) blend(
	ctx context.Context, net int, predictions *rowstore.Store, turn func(kv.NodeID, []float32), shares []float32,
	share *float32, choosing bool, mix func(row, around []float32, share float32),
) (err error) {
	around, err := r.neighbourhood(ctx, predictions, turn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, around.Close()) }()
	if choosing {
		if *share, err = r.choose(ctx, net, predictions, around, shares, mix); err != nil {
			return err
		}
	}
	if *share == 0 {
		return nil
	}
	c := r.classes
	return r.eachPair(ctx, predictions, around, r.opt.Workers, func(rows kv.Range, values, means []float32) error {
		for at := 0; at < len(values); at += c {
			if mean := means[at/c*(c+1):]; mean[c] > 0 {
				mix(values[at:at+c], mean[:c], *share)
			}
		}
		return predictions.Write(rows, 0, c, values)
	})
}

// neighbourhood is the mean over the walks from every node of what turn makes of the rows [n×c], and beside it the
// weight of the walks [n×1]. The caller closes it.
func (r *refiner) neighbourhood(
	ctx context.Context, predictions *rowstore.Store, turn func(v kv.NodeID, row []float32),
) (around *rowstore.Store, err error) {
	c := r.classes
	input, err := rowstore.New(r.place.temporary(), predictions.Rows, c+1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, input.Close()) }()
	err = rowstore.Each(ctx, predictions, predictions.Rows, r.opt.Workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			row := values[int(v-rows.First)*c:][:c]
			turn(v, row)
			one := kv.Range{First: v, End: v + 1}
			if err := errors.Join(input.Write(one, 0, c, row), input.Write(one, c, 1, []float32{1})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if around, err = rowstore.New(r.place.temporary(), predictions.Rows, c+1); err != nil {
		return nil, err
	}
	op := ops.Operator{Hops: smoothHops}
	err = ops.Propagate(ctx, r.graph, input, op, r.operators(r.opt, r.budget, "refine"), func(t ops.Tile) error {
		weight := float32(elementary.Pow(smoothDecay, t.Hop-1))
		return around.Add(t.Rows, t.Lo, t.Hi-t.Lo, weight, t.Values)
	})
	if err == nil {
		err = r.eachInput(ctx, around, r.opt, func(_ kv.NodeID, row []float32) {
			if weight := row[c]; weight > 0 {
				for j := range row[:c] {
					row[j] /= weight
				}
			}
		})
	}
	return around.OrClose(err)
}

// choose returns the first of shares with the least mean cross-entropy on nodes whose labels the network has not seen.
func (r *refiner) choose(
	ctx context.Context, net int, predictions, around *rowstore.Store, shares []float32,
	mix func(row, around []float32, share float32),
) (float32, error) {
	c := r.classes
	losses := make([]float64, len(shares))
	mixture := make([]float32, c)
	err := r.eachPair(ctx, predictions, around, 1, func(rows kv.Range, values, means []float32) error {
		for v := rows.First; v < rows.End; v++ {
			judge, alone := r.fit.judge(v)
			if unseen := r.stops(v) || alone && judge == net; !unseen {
				continue
			}
			mean := means[int(v-rows.First)*(c+1):][:c+1]
			if mean[c] == 0 {
				continue
			}
			for i, share := range shares {
				copy(mixture, values[int(v-rows.First)*c:])
				mix(mixture, mean[:c], share)
				losses[i] -= elementary.Log(max(float64(mixture[r.labels[v]]), math.SmallestNonzeroFloat32))
			}
		}
		return nil
	})
	best := 0
	for i, loss := range losses {
		if loss < losses[best] {
			best = i
		}
	}
	return shares[best], err
}

// eachPair visits the rows of two matrices, concurrently where workers is not 1, else ascending.
func (r *refiner) eachPair(
	ctx context.Context, left, right *rowstore.Store, workers int, visit func(rows kv.Range, left, right []float32) error,
) error {
	var buffers sync.Pool
	return rowstore.Each(ctx, left, left.Rows, workers, func(rows kv.Range, values []float32) error {
		buffer, _ := buffers.Get().(*[]float32)
		if buffer == nil {
			buffer = new([]float32)
		}
		defer buffers.Put(buffer)
		*buffer = float32s.Resize(*buffer, int(rows.End-rows.First)*right.Width())
		if err := right.Read(rows, 0, right.Width(), *buffer); err != nil {
			return err
		}
		return visit(rows, values, *buffer)
	})
}
