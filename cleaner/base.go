package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/kv/scratch"
	"github.com/graphcleaner/graphcleaner/ops"
)

// PredictOptions tunes the built-in base classifier. The zero value is ready to use.
type PredictOptions struct {
	// Seed fixes everything that is drawn at random.
	Seed uint64

	// Hops is over how many hops features are smoothed, 1 to 10; zero means 2. More would make all nodes alike.
	Hops int

	// Workers is the number of goroutines that compute; zero means GOMAXPROCS. It does not change the predictions.
	Workers int

	// MemoryBudget is that of Options. Inputs and predictions lie in temporary files. It does not change the
	// predictions.
	MemoryBudget int64

	// Direction says which arcs of a directed graph are walked; the zero value is kv.Both.
	Direction kv.Direction

	// Encoding says how the predictions are stored.
	Encoding PredictionEncoding

	// Progress, OnStage and Notice are those of Options.
	Progress kv.Progress
	OnStage  func(kv.Stage)
	Notice   func(string)
}

// withDefaults completes the options, or says what is wrong with all of them (ErrOptions).
func (o PredictOptions) withDefaults() (PredictOptions, error) {
	if o.Hops == 0 {
		o.Hops = baseHops
	}
	problems := checkResources(o.Workers, &o.MemoryBudget)
	if o.Hops < 1 || o.Hops > mostBaseHops {
		problems = append(problems, fmt.Errorf("hops %d: want 1 to %d", o.Hops, mostBaseHops))
	}
	if o.Encoding.TopK < 0 {
		problems = append(problems, fmt.Errorf("top-k %d: want 0 or more", o.Encoding.TopK))
	}
	return o, joinOptions(problems)
}

// A PredictReport says how the base classifier was trained and how often it agrees with the given labels.
type PredictReport struct {
	Inputs                                          string  // InputFeatures or InputStructure
	TrainNodes, ValidationNodes, TestNodes          int64   // labelled nodes of the splits
	TrainAccuracy, ValidationAccuracy, TestAccuracy float64 // NaN for an empty split
	Epochs                                          int     // until training stopped
	Seconds                                         float64
}

// What the base classifier sees of a node.
const (
	InputFeatures  = "features"  // the stored features, smoothed over its neighbourhood
	InputStructure = "structure" // the training labels around it
)

// Predict trains the built-in base classifier on the given labels of the training split and writes its predictions of
// every node, in place of those the store has. It is a network with one hidden layer, whose input is
//
//	(D+I)^(-1/2)(A+I)(D+I)^(-1/2) applied Hops times to the features, each row scaled to length 1
//	(simplified graph convolution, arXiv:1902.07153)
//
// (of a directed graph along a direction, with the row sums of A+I on the left and its column sums on the right),
// and on a graph without features, or with features of less than half of its nodes,
//
//	S_k Y_train, k = 1..3 (1..4 where less than a tenth of the nodes are in the training split),
//	each row scaled to sum 1, and the logarithm of the degree
//
// in which no node sees its own label. Training stops, and the best network is kept, by the cross-entropy on the
// validation split. A store without a column "split" is split at random (see Splits).
//
// Below the least MemoryBudget for the graph it fails with an *ops.BudgetError before it learns anything.
//
// It needs labels in the training split: ErrNoLabels. ErrFeatures names a node whose features are no numbers to learn
// from, and ErrOptions what is wrong with the options. Predictions are of the nodes and classes there are when it
// begins: where others are added meanwhile it fails with ErrMissingRows or ErrUnknownClass. Cancelled or failed, it
// leaves the store as it was.
func Predict(ctx context.Context, s *kv.Store, opt PredictOptions) (report *PredictReport, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	if s.ReadOnly() {
		return nil, fmt.Errorf("predict: %w", kv.ErrReadOnly) // now, not when everything is computed
	}
	tx := s.Begin()
	defer tx.Close()
	place, err := openWorkplace(ctx, s, tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	p := baseProblem{classes: len(tx.Classes()), place: place, order: tx.InFileOrder()}
	if p.graph, err = along(tx, opt.Direction); err != nil {
		return nil, err
	}
	if p.labels, err = readLabels(tx); err != nil {
		return nil, err
	}
	if p.splits, _, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return nil, err
	}
	var notice string
	if p.features, notice, err = baseFeatures(ctx, tx); err != nil {
		return nil, err
	}
	if opt.Notice != nil && notice != "" {
		opt.Notice(notice)
	}
	predictions, report, err := trainBase(ctx, p, opt)
	if err != nil {
		return nil, err
	}
	return report, errors.Join(writePredictions(ctx, s, tx, predictions, opt.Encoding), predictions.Close())
}

// writePredictions stores predictions of the nodes of a snapshot, whose columns are in the order of its classes.
func writePredictions(
	ctx context.Context, s *kv.Store, snapshot *kv.Tx, predictions ops.Source, encoding PredictionEncoding,
) error {
	b, err := s.Bulk()
	if err != nil {
		return err
	}
	defer b.Abort()
	opt := PredictionOptions{Source: SourceBuiltIn, PredictionEncoding: encoding}
	w, err := NewPredictionWriter(b, snapshot.Classes(), opt)
	if err != nil {
		return err
	}
	wide := make([]float64, predictions.Width())
	err = eachRows(ctx, predictions, snapshot.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			for j := range wide {
				wide[j] = float64(values[int(v-rows.First)*len(wide)+j])
			}
			if err := w.Put(v, wide); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Finish(); err != nil {
		return err
	}
	return b.Commit(w.Mark)
}

// mostFeature bounds the size of a feature. Sums of so large numbers over the neighbourhoods of any graph are finite in
// float32.
const mostFeature = 1e30

// structureAlone is what a notice says of a store whose features are not used.
const structureAlone = "the base classifier learns from the structure and the training labels alone"

// baseFeatures returns the stored features, or nil and why they are not used. A node without a row, which reads as all
// NaN, has none; any other number that is not finite, or beyond mostFeature, is ErrFeatures.
func baseFeatures(ctx context.Context, tx *kv.Tx) (features ops.Source, notice string, err error) {
	matrix, err := tx.Matrix(FeaturesMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, "no features in the store: " + structureAlone, nil
	}
	if err != nil {
		return nil, "", err
	}
	known := 0
	width := matrix.Width()
	err = eachRows(ctx, matrix, tx.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			row := values[int(v-rows.First)*width:][:width]
			isNaN := func(value float32) bool { return value != value }
			if !slices.ContainsFunc(row, func(value float32) bool { return !isNaN(value) }) {
				continue
			}
			isBad := func(value float32) bool { return !(value >= -mostFeature && value <= mostFeature) }
			if j := slices.IndexFunc(row, isBad); j >= 0 {
				err := fmt.Errorf("feature %s is %v, want a number between %g and %g: %w",
					matrix.Columns()[j], row[j], -mostFeature, mostFeature, ErrFeatures)
				return nodeError(tx, v, err)
			}
			if slices.ContainsFunc(row, func(value float32) bool { return value != 0 }) {
				known++
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if n := tx.NumNodes(); 2*known < n {
		return nil, fmt.Sprintf("only %d of %d nodes have features: %s", known, n, structureAlone), nil
	}
	return zeroMissing{matrix}, "", nil
}

// zeroMissing reads rows that were never written as zeros.
type zeroMissing struct{ ops.Source }

func (s zeroMissing) Read(rows kv.Range, lo, hi int, dst []float32) error {
	if err := s.Source.Read(rows, lo, hi, dst); err != nil {
		return err
	}
	for i, value := range dst[:int(rows.End-rows.First)*(hi-lo)] {
		if value != value {
			dst[i] = 0
		}
	}
	return nil
}

// A baseProblem is what a base classifier is trained on.
type baseProblem struct {
	graph    ops.Graph
	features ops.Source // [n×d]; nil: structure alone
	order    nodeOrder
	labels   []kv.Class // [n] given labels: of the training split they are trained on, of the validation split they stop it
	classes  int
	splits   []Split // [n]
	place    *workplace

	sizes *ops.Sizes // of graph; nil until measured
}

// hasFeatures reports whether the inputs are the features.
func (p *baseProblem) hasFeatures() bool { return p.features != nil && p.features.Width() > 0 }

// basePredictions is the ops.Source [n×classes] of a trained base classifier.
type basePredictions struct{ *rowStore }

// How the base classifier is trained.
const (
	baseHops     = 2
	mostBaseHops = 10
	baseHidden   = 64
	baseBatch    = 256
	baseRate     = 0.01
	baseDecay    = 0.05
	baseDropout  = 0.5 // of hidden activations, and of the inputs
	baseWide     = 64  // where there are at least so many features: of few, none can be spared
	baseEpochs   = 200
	basePatience = 20    // epochs without a better validation loss
	baseLeast    = 400   // steps before training may stop
	baseMost     = 40000 // steps

	// Of the training nodes no more are learned from, and of the validation nodes no more looked at, drawn uniformly:
	// a network of this size learns nothing from others, and their inputs would not fit into memory.
	baseTraining   = 1 << 19
	baseValidation = 1 << 17
)

// trainBase trains the base classifier and predicts every node. The caller closes the result.
func trainBase(ctx context.Context, p baseProblem, opt PredictOptions) (*basePredictions, *PredictReport, error) {
	began := time.Now()
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if p.countIn(SplitTrain) == 0 {
		return nil, nil, fmt.Errorf("no labelled node in the training split, want some to learn from: %w", ErrNoLabels)
	}
	least, err := p.leastForTraining(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := requireBudget("predict", opt.MemoryBudget, least); err != nil {
		return nil, nil, err
	}
	budget := opt.MemoryBudget - trainingBytes*int64(p.graph.NumNodes())
	var inputs *rowStore
	report := &PredictReport{Inputs: InputFeatures}
	if p.hasFeatures() {
		inputs, err = p.smoothedFeatures(ctx, opt, budget)
	} else {
		report.Inputs = InputStructure
		inputs, err = p.structure(ctx, opt, budget)
	}
	if err != nil {
		return nil, nil, err
	}
	fitted := time.Now()
	net, err := p.fitBase(ctx, inputs, opt, report)
	if err == nil && opt.OnStage != nil {
		opt.OnStage(kv.Stage{Name: "train", Seconds: time.Since(fitted).Seconds(), Columns: inputs.width})
	}
	var predictions *basePredictions
	if err == nil {
		predictions, err = p.predictAll(ctx, net, inputs, opt)
	}
	if err = errors.Join(err, inputs.Close()); err != nil {
		return nil, nil, err
	}
	if err := p.measure(ctx, predictions, report); err != nil {
		return nil, nil, errors.Join(err, predictions.Close())
	}
	report.Seconds = time.Since(began).Seconds()
	return predictions, report, nil
}

// countIn is how many labelled nodes are in a split.
func (p *baseProblem) countIn(split Split) (count int) {
	for v, y := range p.labels {
		if y != kv.NoClass && p.splits[v] == split {
			count++
		}
	}
	return count
}

// A learned is labelled nodes with their inputs, in an order of its own.
type learned struct {
	width  int
	inputs *scratch.Array[float32] // [rows×width], by ascending NodeID
	right  []kv.Class              // [rows], likewise
	order  []uint32                // rows, at first in file order
}

// learn copies the inputs of the labelled nodes of a split, or of so many of them drawn with seed.
func (p *baseProblem) learn(
	ctx context.Context, inputs *rowStore, split Split, most int, opt PredictOptions,
) (l *learned, err error) {
	nodes, order, err := drawNodes(p.order, len(p.labels), p.countIn(split), most, opt.Seed, func(v kv.NodeID) bool {
		return p.labels[v] != kv.NoClass && p.splits[v] == split
	})
	if err != nil {
		return nil, err
	}
	l = &learned{width: inputs.width, right: make([]kv.Class, len(order)), order: order}
	if l.inputs, err = scratch.New[float32](p.place.temporary(), "learned", len(order)*l.width); err != nil {
		return nil, err
	}
	err = eachRows(ctx, inputs, len(p.labels), opt.Workers, func(rows kv.Range, values []float32) error {
		nodes.each(rows, func(rank int, v kv.NodeID) {
			copy(l.inputs.Data[rank*l.width:], values[int(v-rows.First)*l.width:][:l.width])
			l.right[rank] = p.labels[v]
		})
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, l.inputs.Close())
	}
	return l, nil
}

// gather copies the inputs and labels of places first ≤ i < end of the order.
func (l *learned) gather(first, end int, x []float32, right []int) {
	for i, row := range l.order[first:end] {
		copy(x[i*l.width:], l.inputs.Data[int(row)*l.width:][:l.width])
		right[i] = int(l.right[row])
	}
}

// fitBase trains on inputs and returns the network with the least validation loss, or the last where there is no
// validation.
func (p *baseProblem) fitBase(
	ctx context.Context, inputs *rowStore, opt PredictOptions, report *PredictReport,
) (best *Network, err error) {
	train, err := p.learn(ctx, inputs, SplitTrain, baseTraining, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, train.inputs.Close()) }()
	validation, err := p.learn(ctx, inputs, SplitValidation, baseValidation, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, validation.inputs.Close()) }()

	random := rand.New(rand.NewPCG(opt.Seed, streamBase))
	t := newTrainer(newNetwork(random, inputs.width, baseHidden, p.classes), random)
	t.rate, t.decay, t.dropout = baseRate, baseDecay, baseDropout
	if report.Inputs == InputFeatures && inputs.width >= baseWide {
		t.inputs = baseDropout
	}
	rows := train.order
	batch := min(baseBatch, len(rows))
	perEpoch, epochs := baseSteps(len(rows))
	x, right := make([]float32, batch*inputs.width), make([]int, batch)
	best = t.net.clone()
	bestLoss, since := math.Inf(1), 0
	for epoch := range epochs {
		random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for first := 0; first < len(rows); first += batch {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			count := min(batch, len(rows)-first)
			train.gather(first, first+count, x, right)
			t.step(x[:count*inputs.width], count, func(logits []float32) float64 {
				return softmaxLoss(logits, right[:count])
			})
		}
		report.Epochs = epoch + 1
		if opt.Progress != nil {
			opt.Progress("train", int64(epoch+1), int64(epochs))
		}
		loss, err := validation.loss(ctx, t.net)
		if err != nil {
			return nil, err
		}
		if since++; loss < bestLoss || len(validation.order) == 0 {
			best, bestLoss, since = t.net.clone(), loss, 0
		}
		if steps := (epoch + 1) * perEpoch; since >= basePatience && steps >= baseLeast || steps >= baseMost {
			break
		}
	}
	return best, nil
}

// baseSteps is how many steps an epoch has, and how many epochs there are at most, where so many nodes are learned from.
func baseSteps(rows int) (perEpoch, epochs int) {
	batch := min(baseBatch, rows)
	perEpoch = (rows + batch - 1) / batch
	return perEpoch, max(baseEpochs, (baseLeast+perEpoch-1)/perEpoch)
}

// loss is the mean cross-entropy of a network.
func (l *learned) loss(ctx context.Context, net *Network) (float64, error) {
	var layers activations
	var sum float64
	batch := min(baseBatch, len(l.order))
	x, right := make([]float32, batch*l.width), make([]int, batch)
	for first := 0; first < len(l.order); first += batch {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		count := min(batch, len(l.order)-first)
		l.gather(first, first+count, x, right)
		logits := layers.forward(net, x, count, nil)
		sum += softmaxLoss(logits, right[:count]) * float64(count)
	}
	return sum / float64(max(len(l.order), 1)), nil
}

// predictAll applies the network to every row of inputs.
func (p *baseProblem) predictAll(
	ctx context.Context, net *Network, inputs *rowStore, opt PredictOptions,
) (*basePredictions, error) {
	n := p.graph.NumNodes()
	out, err := newRowStore(p.place.temporary(), n, p.classes)
	if err != nil {
		return nil, err
	}
	// A block of narrow inputs has very many rows, whose activations together would not fit.
	layers := make([]activations, ops.Workers(opt.Workers))
	x := make([][]float32, len(layers))
	err = ops.Parallel(ctx, len(layers), (n+baseBatch-1)/baseBatch, func(_ context.Context, worker, b int) error {
		rows := kv.Range{First: kv.NodeID(b * baseBatch), End: kv.NodeID(min((b+1)*baseBatch, n))}
		count := int(rows.End - rows.First)
		x[worker] = resize(x[worker], count*inputs.width)
		if err := inputs.Read(rows, 0, inputs.width, x[worker]); err != nil {
			return err
		}
		logits := layers[worker].forward(net, x[worker], count, nil)
		for at := 0; at < len(logits); at += p.classes {
			softmaxRow(logits[at : at+p.classes])
		}
		return out.write(rows, 0, p.classes, logits)
	})
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &basePredictions{out}, nil
}

// measure fills the report's counts and accuracies.
func (p *baseProblem) measure(ctx context.Context, predictions ops.Source, report *PredictReport) error {
	var nodes, right [SplitTest + 1]int64
	err := eachRows(ctx, predictions, p.graph.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if p.labels[v] == kv.NoClass {
				continue
			}
			row := values[int(v-rows.First)*p.classes:][:p.classes]
			nodes[p.splits[v]]++
			if best, _ := largest(row); best == p.labels[v] {
				right[p.splits[v]]++
			}
		}
		return nil
	})
	accuracy := func(s Split) float64 { return float64(right[s]) / float64(nodes[s]) }
	report.TrainNodes, report.TrainAccuracy = nodes[SplitTrain], accuracy(SplitTrain)
	report.ValidationNodes, report.ValidationAccuracy = nodes[SplitValidation], accuracy(SplitValidation)
	report.TestNodes, report.TestAccuracy = nodes[SplitTest], accuracy(SplitTest)
	return err
}
