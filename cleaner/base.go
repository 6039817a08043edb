package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
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
func (p *problem) trainAndPredict(ctx context.Context, opt Options) (predictions *rowstore.Store, t *trainedBase, err error) {
	began := time.Now()
	if opt, err = opt.withDefaults(); err != nil {
		return nil, nil, err
	}
	if t, err = p.train(ctx, opt); err != nil {
		return nil, nil, err
	}
	predictions, err = p.predictAll(ctx, t, opt)
	err = errors.Join(err, t.inputs.Close())
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
	inputs  *rowstore.Store // of every node; whoever has trained closes it
	report  *PredictReport  // without accuracies
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
		if err == nil && t != nil { // the worse one
			err = t.inputs.Close()
		}
		if err != nil {
			if best != nil {
				err = errors.Join(err, best.inputs.Close())
			}
			return nil, err
		}
	}
	return best, nil
}

// trainOn trains the base classifier on an input.
func (p *problem) trainOn(ctx context.Context, input string, opt Options) (*trainedBase, error) {
	t := &trainedBase{report: &PredictReport{Inputs: input}}
	budget := opt.MemoryBudget - p.heldInTraining()
	err := limitSeries(p.graph, budget)
	if err != nil {
		return nil, err
	}
	if t.inputs, err = p.inputs(ctx, input, opt, budget); err != nil {
		return nil, err
	}
	opt.stage("smooth")
	if err := p.fitBase(ctx, t, opt); err != nil {
		return nil, errors.Join(err, t.inputs.Close())
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

// fitBase fits a classifier to its inputs.
func (p *problem) fitBase(ctx context.Context, t *trainedBase, opt Options) error {
	train, err := p.learn(ctx, t.inputs, opt)
	if err != nil {
		return err
	}
	class := func(row int) int { return int(train.Right[row]) }
	progress := func(done, total int64) { opt.progress("train", done, total) }
	t.learned = train.nodes
	t.Ridge, err = nn.FitRidge(ctx, &train.Inputs, class, p.classes, parallel.Workers(opt.Workers), progress)
	return errors.Join(err, train.Close())
}

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
	return out.OrClose(parallel.Do(ctx, len(layers), (n+baseBatch-1)/baseBatch, func(_ context.Context, worker, b int) error {
		rows := kv.Range{First: kv.NodeID(b * baseBatch), End: kv.NodeID(min((b+1)*baseBatch, n))}
		x[worker] = slices.Grow(x[worker][:0], rows.Len()*width)[:rows.Len()*width]
		if err := t.inputs.Read(rows, 0, width, x[worker]); err != nil {
			return err
		}
		logits := layers[worker].Outputs(t.Net, nn.Dense(x[worker], rows.Len(), width))
		t.learned.each(rows, func(row int, v kv.NodeID) {
			t.LeaveOut(row, int(p.labels[v]), logits[int(v-rows.First)*p.classes:][:p.classes])
		})
		nn.Softmaxes(logits, p.classes)
		return out.Write(rows, 0, p.classes, logits)
	}))
}

// Lessons are labelled nodes with the inputs from which the built-in classifier learns.
type Lessons struct {
	Inputs nn.Rows    // by ascending NodeID
	Right  []kv.Class // [rows], likewise
	Order  []uint32   // rows in file order
	nodes  *nodeSet   // whose ranks are the rows

	numbers *scratch.Array[float32] // memory of inputs
	columns *scratch.Array[uint32]  // likewise; nil if they are dense
}

// learn copies the inputs of the nodes that teach, or of baseTraining of them drawn with the seed.
func (p *problem) learn(ctx context.Context, inputs *rowstore.Store, opt Options) (l *Lessons, err error) {
	nodes, order, err := drawNodes(p.order, len(p.labels), p.countTaught(), baseTraining, opt.Seed, p.teachesBase)
	if err != nil {
		return nil, err
	}
	l = &Lessons{Right: make([]kv.Class, len(order)), Order: order, nodes: nodes}
	width, nonzero := inputs.Width(), make([]int, len(order))
	each := func(visit func(rank int, row []float32)) error {
		return rowstore.Each(ctx, inputs, len(p.labels), opt.Workers, func(rows kv.Range, values []float32) error {
			nodes.each(rows, func(rank int, v kv.NodeID) { visit(rank, values[int(v-rows.First)*width:][:width]) })
			return nil
		})
	}
	nodes.each(kv.Range{End: kv.NodeID(len(p.labels))}, func(rank int, v kv.NodeID) { l.Right[rank] = p.labels[v] })
	if err := each(func(rank int, row []float32) { nonzero[rank] = nn.CountNonzero(row) }); err != nil {
		return nil, err
	}
	total := 0
	for _, count := range nonzero {
		total += count
	}
	sparse := nn.AreSparse(total, len(order), width)
	if !sparse {
		total = len(order) * width
	}
	if l.numbers, err = scratch.New[float32](p.place.Scratch(), "learned", total); err != nil {
		return nil, err
	}
	if !sparse {
		l.Inputs = nn.Dense(l.numbers.Data, len(order), width)
		err = each(func(rank int, row []float32) { copy(l.numbers.Data[rank*width:], row) })
	} else if l.columns, err = scratch.New[uint32](p.place.Scratch(), "columns", total); err == nil {
		l.Inputs = nn.Sparse(width, nonzero, l.columns.Data, l.numbers.Data)
		err = each(l.Inputs.Fill)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close gives the memory of the inputs back.
func (l *Lessons) Close() error {
	err := l.numbers.Close()
	if l.columns != nil {
		err = errors.Join(err, l.columns.Close())
	}
	return err
}

// Each calls visit with the node of every row, ascending.
func (l *Lessons) Each(visit func(row int, v kv.NodeID)) {
	for row, v := range l.nodes.members {
		visit(row, v)
	}
}

// measureAccuracy fills the report's counts and accuracies.
func (p *problem) measureAccuracy(ctx context.Context, predictions ops.Source, report *PredictReport) error {
	var nodes, right [SplitUnused + 1]int64
	err := rowstore.EachRow(ctx, predictions, len(p.labels), 1, func(v kv.NodeID, row []float32) error {
		if p.labels[v] == kv.NoClass {
			return nil
		}
		split := p.splits[v]
		if p.teachesBase(v) && !p.drawn {
			split = SplitTrain
		}
		nodes[split]++
		if best, _, tied := largest(row); best == p.labels[v] && !tied {
			right[split]++
		}
		return nil
	})
	accuracy := func(s Split) float64 { return float64(right[s]) / float64(nodes[s]) }
	report.TrainNodes, report.TrainAccuracy = nodes[SplitTrain], accuracy(SplitTrain)
	report.ValidationNodes, report.ValidationAccuracy = nodes[SplitValidation], accuracy(SplitValidation)
	report.TestNodes, report.TestAccuracy = nodes[SplitTest], accuracy(SplitTest)
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
