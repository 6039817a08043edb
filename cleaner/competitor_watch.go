package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A watch is what becomes of every labelled node while the built-in base classifier learns all labels, with no validation
// to stop it: a number after each epoch, of the logits of the node, without dropout, and of the label that it learns.
type watch struct {
	labels  []kv.Class // [n]; NoClass is not learned
	classes int
	seed    uint64
	epochs  int // after which it ends; 0: as many as the base classifier has
	of      func(logits []float32, y kv.Class) float64
}

// errWatched ends a training of which enough was seen.
var errWatched = errors.New("cleaner: watched")

// watch returns the means over the epochs [n] by NodeID; 0 if there is no label.
func (t trial) watch(ctx context.Context, w watch, opt Options) ([]float64, error) {
	base := t.base
	base.labels, base.classes, base.splits = w.labels, w.classes, make([]Split, len(w.labels))
	sums := make([]float64, len(w.labels))
	epochs := 0
	base.observe = func(_ int, net *nn.Network, train *lessons) error {
		if err := train.addEach(ctx, net, w.of, sums); err != nil {
			return err
		}
		if epochs++; epochs == w.epochs {
			return errWatched
		}
		return nil
	}
	err := watchBase(ctx, base, PredictOptions{
		Seed: w.seed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress,
	})
	if err != nil && !errors.Is(err, errWatched) {
		return nil, err
	}
	for v := range sums {
		sums[v] /= float64(epochs)
	}
	return sums, nil
}

// checkWatch says that so many labelled nodes are more than the base classifier learns from (ErrOptions).
func checkWatch(labels, _ int) error {
	if labels > baseTraining {
		return fmt.Errorf("%d labelled nodes, and the base classifier that it watches learns from %d at most: %w",
			labels, baseTraining, ErrOptions)
	}
	return nil
}

// addEach adds a number of the logits and the label of every row to sums [n], by node.
func (l *lessons) addEach(
	ctx context.Context, net *nn.Network, of func(logits []float32, y kv.Class) float64, sums []float64,
) error {
	var layers nn.Activations
	classes := net.Widths[len(net.Widths)-1]
	var logits []float32
	var err error
	l.nodes.each(kv.Range{End: kv.NodeID(len(sums))}, func(row int, v kv.NodeID) {
		if row%baseBatch == 0 && err == nil {
			count := min(baseBatch, len(l.right)-row)
			logits = layers.Outputs(net, l.inputs.Slice(row, row+count))
			err = ctx.Err()
		}
		if err == nil {
			at := row % baseBatch * classes
			sums[v] += of(logits[at:at+classes], l.right[row])
		}
	})
	return err
}

// lossEpochs is how many epochs the losses are of (arXiv:2506.12468).
const lossEpochs = 100

// lossMixture is the detector of BeGIN (Kim and others: "Delving into Instance-Dependent Label Noise in Graph Data: A
// Comprehensive Study and Benchmark", arXiv:2506.12468): the cross-entropy of every labelled node, as a classifier learns
// all noisy labels, is averaged over the first 100 epochs and taken for a mixture of two Gaussians; see byMixture. The
// classifier is the built-in base classifier, with its small batches, in place of a graph network that learns in full
// ones.
//
// Predictions from outside are not looked at. There may be as many labels as the base classifier learns; see checkWatched.
func lossMixture(ctx context.Context, t trial, opt Options) (*judgement, error) {
	losses, err := t.watch(ctx, watch{
		labels: t.labels, classes: t.classes, seed: opt.Seed, epochs: lossEpochs, of: crossEntropy,
	}, opt)
	if err != nil {
		return nil, err
	}
	return t.byMixture(ctx, losses)
}

// crossEntropy is −log of the softmax of the logits at a label.
func crossEntropy(logits []float32, y kv.Class) float64 {
	most := float64(slices.Max(logits))
	var sum float64
	for _, z := range logits {
		sum += elementary.Exp(float64(z) - most)
	}
	return most + elementary.Log(sum) - float64(logits[y])
}
