package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// What arXiv:2001.10528 fixes of AUM.
const (
	thresholdPercentile = 0.99
	areaRuns            = 2 // with threshold samples of their own
)

// How the network is trained that is watched.
const (
	areaUnits   = 64
	areaRate    = 0.01
	areaDecay   = 0.05
	areaDropout = 0.5 // of hidden activations, and of features if they are areaWide
	areaWide    = 64
	areaBatch   = 256 // rows
	areaEpochs  = 200 // at least; and steps, of which tests have fewer:
	areaMost    = 40000
)

var areaLeast = 400

// areaRunSeed is the bit of the seed that tells the trainings of two runs apart. Model seeds, which are fewer, use the
// bits from 32 on.
const areaRunSeed = 63

// Second words of the seed, so that other draws with the seed are independent.
const (
	streamThreshold uint64 = 0x74687265 // "thre"
	streamNetwork   uint64 = 0x62617365 // "base"
)

// areaUnderMargin is AUM (Pleiss, Zhang, Elenberg, Weinberger: "Identifying Mislabeled Data using the Area Under the
// Margin Ranking", arXiv:2001.10528). A network with one hidden layer learns all labels from the inputs of the
// built-in base classifier, with one class more: n/(c+1) of the n labelled nodes, the threshold samples, are given it
// instead of their label. With z the logits after an epoch,
//
//	AUM[v] = mean over epochs of z[v][y] − max over j ≠ y of z[v][j]
//
// y the label that was learned. The publication ends the mean at the first drop of the learning rate; here it does not
// drop, and all epochs count. A node is flagged where its AUM is at most the 99th percentile of those of the threshold
// samples. Two runs have different samples. A node takes the first run in which it is no sample. The score is
// sigmoid(threshold − AUM), which has the two runs on one scale.
//
// Logits come from the network as it learns, so predictions from outside are not looked at. Too few labels for a
// threshold sample give ErrNoLabels. More than the base classifier can learn from give ErrOptions.
func areaUnderMargin(ctx context.Context, t *trial, m *Measurement) error {
	classes := t.lab.Classes
	samples, err := t.thresholdSamples(classes)
	if err != nil {
		return err
	}
	for run := range uint8(areaRuns) {
		labels := slices.Clone(t.Labels)
		for v, sample := range samples {
			if sample == run+1 {
				labels[v] = kv.Class(classes)
			}
		}
		areas, err := t.areas(ctx, labels, classes+1, t.Seed^uint64(run)<<areaRunSeed)
		if err != nil {
			return err
		}
		var sampled []float64
		for v, area := range areas {
			if samples[v] == run+1 {
				sampled = append(sampled, area)
			}
		}
		slices.Sort(sampled)
		threshold := percentile(sampled, thresholdPercentile)
		for v, area := range areas {
			if t.Labels[v] != kv.NoClass && (run == 0) == (samples[v] != 1) {
				m.Scores[v], m.Flagged[v] = elementary.Sigmoid(threshold-area), area <= threshold
			}
		}
	}
	return nil
}

// thresholdSamples draws the threshold samples of each run from the labelled nodes, by their places in the file. It
// returns, by node, the run (from 1) that has it as a sample, or 0.
func (t *trial) thresholdSamples(classes int) ([]uint8, error) {
	var nodes []kv.NodeID
	for v, err := range t.lab.Order {
		if err != nil {
			return nil, err
		}
		if t.Labels[v] != kv.NoClass {
			nodes = append(nodes, v)
		}
	}
	switch {
	case len(nodes) > cleaner.MostLessons:
		return nil, fmt.Errorf("%d labelled nodes, and the base classifier learns from %d at most: %w",
			len(nodes), cleaner.MostLessons, cleaner.ErrOptions)
	case len(nodes) <= classes:
		return nil, fmt.Errorf("%d labelled nodes of %d classes, too few for a threshold sample, want %d or more: %w",
			len(nodes), classes, classes+1, cleaner.ErrNoLabels)
	}
	random := rand.New(rand.NewPCG(t.Seed, streamThreshold))
	random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })
	samples, size := make([]uint8, len(t.Labels)), len(nodes)/(classes+1)
	for run := range areaRuns {
		for _, v := range nodes[run*size : (run+1)*size] {
			samples[v] = uint8(run + 1)
		}
	}
	return samples, nil
}

// areas are the AUM [n] of the labelled nodes in a run; 0 if there is no label.
func (t *trial) areas(ctx context.Context, labels []kv.Class, classes int, seed uint64) (areas []float64, err error) {
	all := cleaner.Trial{Labels: labels, Splits: make([]cleaner.Split, len(labels)), Seed: seed}
	lessons, ofFeatures, err := t.lab.Lessons(ctx, all, classes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lessons.Inputs.Close()) }()
	rows, width := len(lessons.Right), lessons.Inputs.Width()
	inputs, err := scratch.New[float32](t.lab.Scratch, "learned", rows*width)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inputs.Close()) }()
	if err := lessons.Read(0, rows, inputs.Data); err != nil {
		return nil, err
	}
	sums, epochs := make([]float64, rows), 0
	dropped := 0.0
	if ofFeatures && width >= areaWide {
		dropped = areaDropout
	}
	err = watch(ctx, lessons, inputs.Data, classes, seed, dropped, t.lab.Operators().Workers, func(net *nn.Network) error {
		epochs++
		return addMargins(ctx, lessons.Right, inputs.Data, net, sums)
	})
	areas = make([]float64, len(labels))
	lessons.Each(func(row int, v kv.NodeID) { areas[v] = sums[row] / float64(epochs) })
	return areas, err
}

// watch trains a network on inputs [rows×width], and shows it after every epoch. A share of the inputs is dropped.
func watch(
	ctx context.Context, l *cleaner.Lessons, inputs []float32, classes int, seed uint64, dropped float64, workers int,
	observe func(*nn.Network) error,
) error {
	random := rand.New(rand.NewPCG(seed, streamNetwork))
	width := l.Inputs.Width()
	net := nn.New(random, width, areaUnits, classes)
	t := nn.NewTrainer(net, random)
	t.Rate, t.Decay, t.Workers = areaRate, areaDecay, parallel.Workers(workers)
	t.Dropout, t.InputDropout = areaDropout, dropped
	rows := slices.Clone(l.Order)
	batch := min(areaBatch, len(rows))
	perEpoch := (len(rows) + batch - 1) / batch
	x, right := make([]float32, batch*width), make([]int, batch)
	for epoch := range max(areaEpochs, (areaLeast+perEpoch-1)/perEpoch) {
		random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for some := range slices.Chunk(rows, batch) {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i, row := range some {
				right[i] = int(l.Right[row])
				copy(x[i*width:][:width], inputs[int(row)*width:])
			}
			t.Step(x[:len(some)*width], len(some), func(logits []float32) float64 {
				return nn.SoftmaxLoss(logits, right[:len(some)])
			})
		}
		if err := observe(net); err != nil {
			return err
		}
		if (epoch+1)*perEpoch >= areaMost {
			break
		}
	}
	return nil
}

// addMargins adds the margin of every row, without dropout, to sums [rows]: the logit of its label less the
// largest of the others.
func addMargins(ctx context.Context, right []kv.Class, inputs []float32, net *nn.Network, sums []float64) error {
	var layers nn.Activations
	width, classes := net.Widths[0], net.Widths[len(net.Widths)-1]
	for first := 0; first < len(sums); first += areaBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+areaBatch, len(sums))
		logits := layers.Outputs(net, inputs[first*width:end*width], end-first)
		for row := first; row < end; row++ {
			of, y, other := logits[(row-first)*classes:][:classes], right[row], math.Inf(-1)
			for j, z := range of {
				if kv.Class(j) != y {
					other = max(other, float64(z))
				}
			}
			sums[row] += float64(of[y]) - other
		}
	}
	return nil
}
