package cleaner

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// What arXiv:2001.10528 fixes of AUM.
const (
	thresholdPercentile = 0.99
	areaRuns            = 2 // with threshold samples of their own
)

// areaRunSeed is the bit of the seed that tells the trainings of two runs apart. Model seeds, which are fewer, use the
// bits from 32 on.
const areaRunSeed = 63

// areaUnderMargin is AUM (Pleiss, Zhang, Elenberg, Weinberger: "Identifying Mislabeled Data using the Area Under the
// Margin Ranking", arXiv:2001.10528). The built-in base classifier learns all labels, and no validation stops it, with
// one class more: n/(c+1) of the n labelled nodes, the threshold samples, are given it instead of their label. With z
// the logits after an epoch,
//
//	AUM[v] = mean over epochs of z[v][y] − max over j ≠ y of z[v][j]
//
// y the label that was learned. The publication ends the mean at the first drop of the learning rate; that of the base
// classifier does not drop, and all its epochs count. A node is flagged where its AUM is at most the 99th percentile of
// those of the threshold samples. It is done twice, with other samples, and a node takes the first run of which it is
// none. The score is sigmoid(threshold − AUM), which has the two runs on one scale.
//
// Logits come from the network as it learns, so predictions from outside are not looked at. The labels must suffice;
// see checkAreaUnderMargin.
func areaUnderMargin(ctx context.Context, t trial, opt Options) (*judgement, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	samples, err := thresholdSamples(t.order, t.labels, thresholdSize(countLabelled(t.labels), t.classes), opt.Seed)
	if err != nil {
		return nil, err
	}
	result := newJudgement(len(t.labels))
	for run := range uint8(areaRuns) {
		areas, err := t.areas(ctx, samples, run+1, opt)
		if err != nil {
			return nil, err
		}
		threshold := areaThreshold(areas, samples, run+1)
		for v, area := range areas {
			if t.labels[v] != kv.NoClass && (run == 0 && samples[v] != 1 || run == 1 && samples[v] == 1) {
				result.scores[v], result.flagged[v] = elementary.Sigmoid(threshold-area), area <= threshold
			}
		}
	}
	return result, nil
}

// thresholdSize is how many threshold samples a run has.
func thresholdSize(labels, classes int) int { return labels / (classes + 1) }

// checkAreaUnderMargin says that the labels of so many nodes are too few for a threshold sample (ErrNoLabels), or more
// than the base classifier learns from (ErrOptions).
func checkAreaUnderMargin(labels, classes int) error {
	if labels > baseTraining {
		return fmt.Errorf("%d labelled nodes, and the base classifier that it watches learns from %d at most: %w",
			labels, baseTraining, ErrOptions)
	}
	if thresholdSize(labels, classes) < 1 {
		return fmt.Errorf("%d labelled nodes of %d classes, too few for a threshold sample, want %d or more: %w",
			labels, classes, classes+1, ErrNoLabels)
	}
	return nil
}

// thresholdSamples draws size labelled nodes for each run, by their places in order [n]: the run that a node is a
// sample of, from 1, or 0.
func thresholdSamples(order nodeOrder, labels []kv.Class, size int, seed uint64) ([]uint8, error) {
	nodes := make([]kv.NodeID, 0, countLabelled(labels))
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if labels[v] != kv.NoClass {
			nodes = append(nodes, v)
		}
	}
	random := rand.New(rand.NewPCG(seed, streamThreshold))
	random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })
	samples := make([]uint8, len(labels))
	for run := range areaRuns {
		for _, v := range nodes[run*size : (run+1)*size] {
			samples[v] = uint8(run + 1)
		}
	}
	return samples, nil
}

// streamThreshold is the second word of the seed of threshold samples; see streamSample.
const streamThreshold uint64 = 0x74687265 // "thre"

// areas are the AUM [n] of the labelled nodes in a run; 0 if there is no label.
func (t trial) areas(ctx context.Context, samples []uint8, run uint8, opt Options) ([]float64, error) {
	base := t.base
	base.labels, base.classes, base.splits = slices.Clone(t.labels), t.classes+1, make([]Split, len(t.labels))
	for v, sample := range samples {
		if sample == run {
			base.labels[v] = kv.Class(t.classes)
		}
	}
	areas, epochs := make([]float64, len(t.labels)), 0
	err := base.watch(ctx, PredictOptions{
		Seed: opt.Seed ^ uint64(run-1)<<areaRunSeed, Workers: opt.Workers, MemoryBudget: opt.MemoryBudget, Progress: opt.Progress,
	}, func(net *nn.Network, train *lessons) error {
		epochs++
		return train.addMargins(ctx, net, areas)
	})
	if err != nil {
		return nil, err
	}
	for v := range areas {
		areas[v] /= float64(epochs)
	}
	return areas, nil
}

// addMargins adds the margin of every row, without dropout, to sums [n], by node.
func (l *lessons) addMargins(ctx context.Context, net *nn.Network, sums []float64) error {
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
			sums[v] += logitMargin(logits[at:at+classes], l.right[row])
		}
	})
	return err
}

// areaThreshold is the percentile of the samples of a run.
func areaThreshold(areas []float64, samples []uint8, run uint8) float64 {
	var of []float64
	for v, area := range areas {
		if samples[v] == run {
			of = append(of, area)
		}
	}
	slices.Sort(of)
	return percentile(of, thresholdPercentile)
}

// logitMargin is the logit of a label less the largest of the others.
func logitMargin(row []float32, y kv.Class) float64 {
	other := math.Inf(-1)
	for j, z := range row {
		if kv.Class(j) != y {
			other = max(other, float64(z))
		}
	}
	return float64(row[y]) - other
}
