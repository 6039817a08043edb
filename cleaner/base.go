package cleaner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// hasFeatures reports whether the inputs of the built-in classifier are the features.
func (p *problem) hasFeatures() bool { return p.features != nil && p.features.Width() > 0 }

const (
	baseHops  = 2   // of the smoothing of features; more would make all nodes alike
	baseBatch = 256 // rows

	// Of the training nodes no more are learned from, drawn uniformly: their inputs would not fit into memory.
	baseTraining = 1 << 19
)

// trainAndPredict trains the base classifier and predicts every node. The caller closes the predictions.
func (p *problem) trainAndPredict(
	ctx context.Context, opt Options,
) (predictions *rowstore.Store, t *trainedBase, err error) {
	began := time.Now()
	if t, err = p.train(ctx, opt); err != nil {
		return nil, nil, err
	}
	predictions, err = p.predictAll(ctx, t, opt)
	err = errors.Join(err, t.Close())
	if err == nil {
		err = p.measureAccuracy(ctx, predictions, t.report)
	}
	if err != nil {
		return nil, nil, errors.Join(err, predictions.Close())
	}
	t.report.Seconds = time.Since(began).Seconds()
	opt.stage("predict")
	return predictions, t, nil
}

// A trainedBase is a base classifier before it predicts. It predicts every node that it learned by the fit without it.
type trainedBase struct {
	*nn.Ridge
	learned *nodeSet
	inputs  *rowstore.Store // of every node
	report  *PredictReport  // without the accuracy
}

// Close gives the inputs back. Closing nil is harmless.
func (t *trainedBase) Close() error {
	if t == nil {
		return nil
	}
	return t.inputs.Close()
}

// train trains the base classifier on each of its inputs, and returns the best.
func (p *problem) train(ctx context.Context, opt Options) (best *trainedBase, err error) {
	if p.countTaught() == 0 {
		return nil, fmt.Errorf(
			"no labelled node in the training split or in none, want some to learn from: %w", ErrNoLabels)
	}
	if err := p.requireForTraining(ctx, opt); err != nil {
		return nil, err
	}
	candidates, err := p.candidates(ctx, opt)
	if err != nil {
		return nil, err
	}
	opt.stage("count")
	for _, input := range candidates {
		t, err := p.trainOn(ctx, input, opt)
		if err == nil && (best == nil || t.Loss < best.Loss) {
			best, t = t, best
		}
		if err = errors.Join(err, t.Close()); err != nil { // of the worse one
			return nil, errors.Join(err, best.Close())
		}
	}
	return best, nil
}

// trainOn trains the base classifier on an input.
func (p *problem) trainOn(ctx context.Context, input string, opt Options) (t *trainedBase, err error) {
	budget := opt.MemoryBudget - p.heldInTraining()
	if err := limitSeries(p.graph, budget); err != nil {
		return nil, err
	}
	t = &trainedBase{report: &PredictReport{Inputs: input}}
	if t.inputs, err = p.inputs(ctx, input, opt, budget); err != nil {
		return nil, err
	}
	opt.stage("smooth")
	lessons, err := p.lessons(t.inputs, opt.Seed)
	if err == nil {
		t.learned = lessons.nodes
		rows := nn.Examples{
			Count: len(lessons.Right), Width: t.inputs.Width(), Classes: p.classes, Read: lessons.Read,
			Class: func(row int) int { return int(lessons.Right[row]) },
		}
		progress := func(done, total int64) { opt.progress("train", done, total) }
		t.Ridge, err = nn.FitRidge(ctx, rows, parallel.Workers(opt.Workers), progress)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	opt.clock.end(ops.Stage{Name: "train", Columns: t.inputs.Width()})
	return t, nil
}

// countTaught is how many labels the classifier learns.
func (p *problem) countTaught() (count int) {
	for v := range p.labels {
		if p.teachesBase(kv.NodeID(v)) {
			count++
		}
	}
	return count
}

// crossFits reports whether the fits without a node that is learned, for each of these, are good for anything.
func (p *problem) crossFits() bool { return p.countTaught() >= leastFitting }

// predictAll predicts every node.
func (p *problem) predictAll(ctx context.Context, t *trainedBase, opt Options) (*rowstore.Store, error) {
	n, width := p.graph.NumNodes(), t.inputs.Width()
	out, err := rowstore.New(p.place.Scratch(), n, p.classes)
	if err != nil {
		return nil, err
	}
	// A block of narrow inputs has very many rows, whose activations together would not fit.
	layers := make([]nn.Activations, parallel.Workers(opt.Workers))
	x := make([][]float32, len(layers))
	return out.OrClose(parallel.Do(ctx, len(layers), (n+baseBatch-1)/baseBatch,
		func(_ context.Context, worker, b int) error {
			rows := kv.Range{First: kv.NodeID(b * baseBatch), End: kv.NodeID(min((b+1)*baseBatch, n))}
			x[worker] = slices.Grow(x[worker][:0], rows.Len()*width)[:rows.Len()*width]
			if err := t.inputs.Read(rows, 0, width, x[worker]); err != nil {
				return err
			}
			logits := layers[worker].Outputs(t.Net, x[worker], rows.Len())
			t.learned.each(rows, func(row int, v kv.NodeID) {
				t.LeaveOut(row, int(p.labels[v]), logits[int(v-rows.First)*p.classes:][:p.classes])
			})
			nn.Softmaxes(logits, p.classes)
			return out.Write(rows, 0, p.classes, logits)
		}))
}

// measureAccuracy fills the report's count and accuracy.
func (p *problem) measureAccuracy(ctx context.Context, predictions ops.Source, report *PredictReport) error {
	right := 0.0
	err := rowstore.EachRow(ctx, predictions, len(p.labels), 1, func(v kv.NodeID, row []float32) error {
		if p.labels[v] == kv.NoClass {
			return nil
		}
		report.Labelled++
		if best, _, tied := largest(row); best == p.labels[v] && !tied {
			right++
		}
		return nil
	})
	report.Accuracy = right / float64(report.Labelled)
	return err
}

// fitBytes is the memory of fitting a base classifier: sums and weights, and two batches of both ends. It has so
// many columns of features, none if it learns from training labels over so many hops. Neighbours of few classes may
// disagree.
func fitBytes(features, classes, hops int) int64 {
	switch {
	case features == 0:
	case classes <= mostHeardClasses:
		features, hops = 2*features, 1
	default:
		hops = 0
	}
	columns := int64(features) + int64(hops)*int64(classes)
	return 2*4*baseBatch*(columns+int64(classes)) + nn.RidgeBytes(columns, int64(classes))
}

// leastForTraining is the least memory of trainAndPredict. The graph is measured.
func (p *problem) leastForTraining() int64 {
	least := p.heldInTraining() + p.sizes.LeastForPropagate()
	if p.hasFeatures() {
		return least
	}
	return max(least, p.heldInTraining()+p.sizes.LeastForDiagonals(p.labelHops()))
}

// heldInTraining is the memory that trainAndPredict holds all the time, in bytes.
func (p *problem) heldInTraining() int64 {
	features := 0
	if p.hasFeatures() {
		features = p.features.Width()
	}
	return trainingBytes*int64(len(p.labels)) + fitBytes(features, p.classes, p.labelHops())
}

// requireForTraining says that a budget is less than trainAndPredict needs, for which the graph is measured.
func (p *problem) requireForTraining(ctx context.Context, opt Options) error {
	if err := p.measure(ctx, opt.ops(0)); err != nil {
		return err
	}
	return requireBudget("predict", opt.MemoryBudget, p.leastForTraining())
}

// streamSplit is the second word of the PCG seed, as streamSample is.
const streamSplit uint64 = 0x73706c74 // "splt"

// defaultShares are the shares of training, validation and test nodes in a split that is drawn.
var defaultShares = [3]float64{0.8, 0.1, 0.1}

// leastValidation is the size that the validation split drawn from a small graph is raised to, at the price of training
// nodes: as long as it does not take more than a third of the labelled ones, nor more than half of those for training.
const leastValidation = 30

// A nodeOrder yields every node in the order of the node file.
type nodeOrder = iter.Seq2[kv.NodeID, error]

// splitSizes are numbers of training, validation and test nodes.
type splitSizes struct{ training, validation, test int }

// sizesOf are shares of n labelled nodes, rounded, which together are no more than n, with the validation nodes of a
// small graph.
func sizesOf(n int, shares [3]float64) (sizes splitSizes) {
	sizes.validation = min(int(float64(shares[1]*float64(n))+0.5), n)
	sizes.test = min(int(float64(shares[2]*float64(n))+0.5), n-sizes.validation)
	sizes.training = min(int(float64((shares[0]+shares[1]+shares[2])*float64(n))+0.5), n) - sizes.validation - sizes.test
	if raise := min(min(leastValidation, n/3)-sizes.validation, sizes.training/2); raise > 0 {
		sizes.validation += raise
		sizes.training -= raise
	}
	return sizes
}

// drawSplits splits the labelled nodes of order at random by shares of training, validation and test nodes, which need
// not add up to 1: the rest is unused. See teachClasses and fitClasses for small classes. The draw depends on the
// places in order, not on NodeIDs.
func drawSplits(order nodeOrder, labels []kv.Class, shares [3]float64, seed uint64) ([]Split, error) {
	nodes := make([]kv.NodeID, 0, countLabelled(labels))
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if labels[v] != kv.NoClass {
			nodes = append(nodes, v)
		}
	}
	random := rand.New(rand.NewPCG(seed, streamSplit))
	random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })

	sizes := sizesOf(len(nodes), shares)
	splits := make([]Split, len(labels))
	for i, v := range nodes {
		switch {
		case i < sizes.validation:
			splits[v] = SplitValidation
		case i < sizes.validation+sizes.test:
			splits[v] = SplitTest
		case i < sizes.validation+sizes.test+sizes.training:
			splits[v] = SplitTrain
		default:
			splits[v] = SplitUnused
		}
	}
	teachClasses(nodes, labels, splits)
	fitClasses(nodes, labels, splits)
	return splits, nil
}

// teachClasses gives a training node to every class of several nodes that was drawn without one: the first of its nodes
// as drawn, in exchange for the last training node of a class that keeps others.
func teachClasses(order []kv.NodeID, labels []kv.Class, splits []Split) {
	classes := kv.Class(0)
	for _, v := range order {
		classes = max(classes, labels[v]+1)
	}
	nodes, taught := make([]int, classes), make([]int, classes)
	for _, v := range order {
		if nodes[labels[v]]++; splits[v] == SplitTrain {
			taught[labels[v]]++
		}
	}
	giver := len(order) - 1
	for _, v := range order {
		y := labels[v]
		if nodes[y] < 2 || taught[y] > 0 {
			continue
		}
		for giver >= 0 && (splits[order[giver]] != SplitTrain || taught[labels[order[giver]]] < 2) {
			giver--
		}
		if giver < 0 {
			return
		}
		from := order[giver]
		splits[v], splits[from] = splits[from], splits[v]
		taught[y]++
		taught[labels[from]]--
	}
}

// fitClasses gives a second class to a validation split that was drawn of one class alone: the first node of another
// class that keeps a training node, in exchange for the first validation node. Noise is not fitted on one class.
func fitClasses(order []kv.NodeID, labels []kv.Class, splits []Split) {
	first := slices.IndexFunc(order, func(v kv.NodeID) bool { return splits[v] == SplitValidation })
	if first < 0 {
		return
	}
	only, taught := labels[order[first]], make(map[kv.Class]int)
	for _, v := range order {
		switch splits[v] {
		case SplitValidation:
			if labels[v] != only {
				return
			}
		case SplitTrain:
			taught[labels[v]]++
		}
	}
	for _, v := range order {
		y := labels[v]
		if y != only && (taught[y] > 1 || taught[y] == 1 && splits[v] != SplitTrain) {
			splits[v], splits[order[first]] = SplitValidation, splits[v]
			return
		}
	}
}
