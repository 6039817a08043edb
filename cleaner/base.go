package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
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
	TrainNodes, ValidationNodes, TestNodes          int64   // labelled nodes: learned from, and of the other splits
	TrainAccuracy, ValidationAccuracy, TestAccuracy float64 // as predicted: see Predict; NaN for an empty split
	Epochs                                          int     // until training stopped
	Seconds                                         float64
}

// What the base classifier sees of a node.
const (
	InputFeatures  = "features"  // the stored features, smoothed over its neighbourhood
	InputStructure = "structure" // the training labels around it
)

// Predict trains the built-in base classifier on the given labels of all nodes outside the validation and test splits,
// and writes its predictions of every node, in place of those the store has. It is a network with one hidden layer,
// whose input is
//
//	Σ_k Ŝ^k X, k = 0..Hops, Ŝ = (D+I)^(-1/2)(A+I)(D+I)^(-1/2), X the features, each row scaled to length 1
//	(simple spectral graph convolution, Zhu and Koniusz 2021)
//
// (of a directed graph along a direction, with the row sums of A+I on the left and its column sums on the right),
// and on a graph without features, or with features of less than half of its nodes,
//
//	S_k Y_train, k = 1..3 (1..4 where less than a tenth of the nodes are learned from),
//	each row scaled to sum 1, and the logarithm of the degree
//
// in which no node sees its own label. Training stops, and the best network is kept, by the cross-entropy on the
// validation split. A store without a column "split" is split at random (see Splits).
//
// It is trained several times over, each time on all but a part of the nodes (cross-fitting), so that every node is
// predicted by a network that has not learned its label, wrong as it may be; nodes that none has learned are predicted by
// the mean of all. From features, each network's predictions are corrected and smoothed by the labels it has learned, as
// far as this lowers the cross-entropy on labels that it has not seen (see smoothing). Fewer than 40 nodes to learn from
// are learned by one network.
//
// Below the least MemoryBudget for the graph it fails with an *ops.BudgetError before it learns anything.
//
// It needs labels outside the validation and test splits: ErrNoLabels. ErrFeatures names a node whose features are no numbers to learn
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

// structureAlone is what a notice says of a graph whose features are not used.
const structureAlone = "the base classifier learns from the structure and the training labels alone"

// baseFeatures returns the stored features, or nil and why they are not used. A node without a row, which reads as all
// NaN, has none; any other number that is not finite, or beyond mostFeature, is ErrFeatures.
func baseFeatures(ctx context.Context, tx *kv.Tx) (features ops.Source, notice string, err error) {
	matrix, err := tx.Matrix(FeaturesMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, "no features: " + structureAlone, nil
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
	labels   []kv.Class // [n] given labels: see teaches and stops
	classes  int
	splits   []Split // [n]
	place    *workplace

	// observe, where not nil, sees the network after every epoch of training, with what it learns from. Both are borrowed
	// for the call, whose error ends the training.
	observe func(epoch int, net *Network, train *learned) error

	sizes *ops.Sizes // of graph; nil until measured
}

// A role is what the label of a node does to the base classifier.
type role func(v kv.NodeID) bool

// teaches reports whether the network learns the label of a node: one outside the validation and test splits.
func (p *baseProblem) teaches(v kv.NodeID) bool {
	return p.labels[v] != kv.NoClass && p.splits[v] != SplitValidation && p.splits[v] != SplitTest
}

// stops reports whether the label of a node tells when to stop.
func (p *baseProblem) stops(v kv.NodeID) bool {
	return p.labels[v] != kv.NoClass && p.splits[v] == SplitValidation
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
	baseDropout  = 0.5 // of hidden activations
	baseWide     = 64  // features of which some can be spared: see inputDropouts
	leastFolded  = 40  // nodes that are learned from in folds
	leastFolds   = 4
	mostFolds    = 10
	foldedRows   = 2048 // are shared out to that many folds: few nodes cannot spare a quarter of them
	baseEpochs   = 200
	basePatience = 10    // epochs without a better validation loss
	baseLeast    = 400   // steps before training may stop
	baseMost     = 40000 // steps
	baseLook     = 8     // steps at least from one look at the validation nodes to the next

	// Of the training nodes no more are learned from, and of the validation nodes no more looked at, drawn uniformly:
	// a network of this size learns nothing from others, and their inputs would not fit into memory.
	baseTraining   = 1 << 19
	baseValidation = 1 << 17
)

// inputDropouts are tried on the first fold, and the one with the least validation loss is kept: few labels want much,
// many want little. Where there is no validation it is the first.
var inputDropouts = []float64{0.5, 0.2}

// trainBase trains the base classifier and predicts every node. The caller closes the result.
func trainBase(
	ctx context.Context, p baseProblem, opt PredictOptions,
) (predictions *basePredictions, report *PredictReport, err error) {
	began := time.Now()
	t, err := p.train(ctx, opt)
	if err != nil {
		return nil, nil, err
	}
	predictions, err = p.predictAll(ctx, t.fit, t.inputs, t.opt, t.budget)
	err = errors.Join(err, t.inputs.Close())
	if err == nil {
		err = p.measure(ctx, predictions, t.report)
	}
	if err != nil && predictions != nil {
		err = errors.Join(err, predictions.Close())
	}
	if err != nil {
		return nil, nil, err
	}
	t.report.Seconds = time.Since(began).Seconds()
	return predictions, t.report, nil
}

// watchBase trains the base classifier for what observe sees of it, and predicts nothing.
func watchBase(ctx context.Context, p baseProblem, opt PredictOptions) error {
	t, err := p.train(ctx, opt)
	if err != nil {
		return err
	}
	return t.inputs.Close()
}

// A trainedBase is a base classifier before it predicts.
type trainedBase struct {
	fit    *crossFit
	inputs *rowStore      // of every node; whoever has trained closes it
	opt    PredictOptions // with defaults
	budget int64          // what is left of the memory for inputs and predictions
	report *PredictReport // without accuracies
}

// train trains the base classifier.
func (p *baseProblem) train(ctx context.Context, opt PredictOptions) (*trainedBase, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if p.count(p.teaches) == 0 {
		return nil, fmt.Errorf(
			"no labelled node in the training split or in none, want some to learn from: %w", ErrNoLabels)
	}
	least, err := p.leastForTraining(ctx)
	if err != nil {
		return nil, err
	}
	if err := requireBudget("predict", opt.MemoryBudget, least); err != nil {
		return nil, err
	}
	t := &trainedBase{
		opt: opt, budget: opt.MemoryBudget - trainingBytes*int64(p.graph.NumNodes()),
		report: &PredictReport{Inputs: InputFeatures},
	}
	if p.hasFeatures() {
		t.inputs, err = p.smoothedFeatures(ctx, opt, t.budget)
	} else {
		t.report.Inputs = InputStructure
		t.inputs, err = p.structure(ctx, opt, t.budget)
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if t.fit, err = p.fitBase(ctx, t.inputs, opt, t.report); err != nil {
		return nil, errors.Join(err, t.inputs.Close())
	}
	if opt.OnStage != nil {
		opt.OnStage(kv.Stage{Name: "train", Seconds: time.Since(began).Seconds(), Columns: t.inputs.width})
	}
	return t, nil
}

// count is how many nodes have a role.
func (p *baseProblem) count(has role) (count int) {
	for v := range p.labels {
		if has(kv.NodeID(v)) {
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
	nodes  *nodeSet                // whose ranks are the rows
}

// learn copies the inputs of the nodes that have a role, or of so many of them drawn with seed.
func (p *baseProblem) learn(
	ctx context.Context, inputs *rowStore, has role, most int, opt PredictOptions,
) (l *learned, err error) {
	nodes, order, err := drawNodes(p.order, len(p.labels), p.count(has), most, opt.Seed, has)
	if err != nil {
		return nil, err
	}
	l = &learned{width: inputs.width, right: make([]kv.Class, len(order)), order: order, nodes: nodes}
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

// gather copies the inputs and labels of rows.
func (l *learned) gather(rows []uint32, workers int, x []float32, right []int) {
	inParts(min(workers, 1+len(rows)*l.width/parallelNumbers), len(rows), func(_, first, end int) {
		for i, row := range rows[first:end] {
			copy(x[(first+i)*l.width:], l.inputs.Data[int(row)*l.width:][:l.width])
			right[first+i] = int(l.right[row])
		}
	})
}

// A crossFit is networks of which each has learned from all nodes but those of its fold, so that there is one for every
// node that has not seen the node's label. A single network has learned from all.
type crossFit struct {
	nets  []*Network
	nodes *nodeSet // that were learned from
	folds []uint8  // of them, by rank
}

// judge is the network that a node is predicted by, and false where all of them are to be asked.
func (f *crossFit) judge(v kv.NodeID) (net int, alone bool) {
	if len(f.nets) == 1 {
		return 0, true
	}
	if rank, ok := f.nodes.has(v); ok {
		return int(f.folds[rank]), true
	}
	return 0, false
}

// foldsOf is how many networks learn from so many nodes.
func foldsOf(rows int) int {
	if rows < leastFolded {
		return 1
	}
	return min(max(foldedRows/rows, leastFolds), mostFolds)
}

// assignFolds deals the rows of every class to the folds in turn, in a random order.
func (l *learned) assignFolds(random *rand.Rand, classes, folds int) []uint8 {
	order := slices.Clone(l.order)
	random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	next, assigned := make([]int, classes), make([]uint8, len(order))
	for _, row := range order {
		y := int(l.right[row])
		assigned[row] = uint8((y + next[y]) % folds)
		next[y]++
	}
	sizes := make([]int, folds)
	for _, fold := range assigned {
		sizes[fold]++
	}
	if 2*slices.Max(sizes) > len(order) && folds > 2 { // classes of so few nodes that the deal is uneven
		for i, row := range order {
			assigned[row] = uint8(i % folds)
		}
	}
	return assigned
}

// fitBase trains on inputs. Each network is the one with the least validation loss, or the last where there is no
// validation.
func (p *baseProblem) fitBase(
	ctx context.Context, inputs *rowStore, opt PredictOptions, report *PredictReport,
) (fit *crossFit, err error) {
	train, err := p.learn(ctx, inputs, p.teaches, baseTraining, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, train.inputs.Close()) }()
	validation, err := p.learn(ctx, inputs, p.stops, baseValidation, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, validation.inputs.Close()) }()

	random := rand.New(rand.NewPCG(opt.Seed, streamBase))
	folds := foldsOf(len(train.order))
	if p.observe != nil {
		folds = 1
	}
	fit = &crossFit{nodes: train.nodes, folds: train.assignFolds(random, p.classes, folds)}
	dropouts := []float64{0}
	if report.Inputs == InputFeatures && inputs.width >= baseWide {
		dropouts = inputDropouts
	}
	if p.observe != nil || len(validation.order) == 0 {
		dropouts = dropouts[:1]
	}
	fit.nets = make([]*Network, folds)
	seeds := make([]uint64, folds)
	for fold := range seeds {
		seeds[fold] = random.Uint64()
	}
	progress := &foldProgress{progress: opt.Progress, epochs: make([]int, folds)}
	one := func(ctx context.Context, fold, workers int, dropout float64) (*training, error) {
		t := &training{
			baseProblem: p, train: train, rows: fit.rowsFor(fold, train.order), validation: validation, dropout: dropout,
			random: rand.New(rand.NewPCG(seeds[fold], 0)), workers: workers,
			progress: func(epoch, most int) { progress.tell(fold, epoch, most) },
		}
		return t, t.fit(ctx)
	}
	var chosen *training
	for _, dropout := range dropouts {
		t, err := one(ctx, 0, opt.Workers, dropout)
		if err != nil {
			return nil, err
		}
		if chosen == nil || t.loss < chosen.loss {
			chosen = t
		}
	}
	fit.nets[0], report.Epochs = chosen.net, chosen.epochs
	// The other folds do as the first has chosen, side by side.
	epochs := make([]int, folds)
	workers := min(ops.Workers(opt.Workers), max(folds-1, 1))
	err = ops.Parallel(ctx, workers, folds-1, func(ctx context.Context, _, i int) error {
		t, err := one(ctx, i+1, max(ops.Workers(opt.Workers)/workers, 1), chosen.dropout)
		if err == nil {
			fit.nets[i+1], epochs[i+1] = t.net, t.epochs
		}
		return err
	})
	report.Epochs = max(report.Epochs, slices.Max(epochs))
	return fit, err
}

// rowsFor are the rows that the network of a fold learns from.
func (f *crossFit) rowsFor(fold int, rows []uint32) []uint32 {
	rows = slices.Clone(rows)
	if len(f.nets) == 1 {
		return rows
	}
	return slices.DeleteFunc(rows, func(row uint32) bool { return int(f.folds[row]) == fold })
}

// foldProgress adds up how far the trainings of the folds are.
type foldProgress struct {
	progress kv.Progress // nil: nobody is told
	mu       sync.Mutex  // guards epochs, and calls of progress
	epochs   []int
}

func (f *foldProgress) tell(fold, epoch, most int) {
	if f.progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epochs[fold] = epoch
	done := 0
	for _, epochs := range f.epochs {
		done += epochs
	}
	f.progress("train", int64(done), int64(len(f.epochs)*most))
}

// A training makes one network.
type training struct {
	*baseProblem
	train, validation *learned
	rows              []uint32 // of train, that are learned from
	dropout           float64  // of inputs
	random            *rand.Rand
	workers           int
	progress          func(epoch, most int)

	net    *Network
	loss   float64 // on the validation nodes
	epochs int
}

// fit trains the network and keeps the one with the least validation loss.
func (f *training) fit(ctx context.Context) error {
	width := f.train.width
	t := newTrainer(newNetwork(f.random, width, baseHidden, f.classes), f.random)
	t.rate, t.decay, t.dropout, t.inputs = baseRate, baseDecay, baseDropout, f.dropout
	t.forward.product.workers = ops.Workers(f.workers)
	rows := f.rows
	batch := min(baseBatch, len(rows))
	perEpoch, most := baseSteps(len(rows))
	between := (baseLook + perEpoch - 1) / perEpoch
	x, right := make([]float32, batch*width), make([]int, batch)
	f.net, f.loss = t.net.clone(), math.Inf(1)
	since := 0
	for epoch := range most {
		f.random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for first := 0; first < len(rows); first += batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			count := min(batch, len(rows)-first)
			f.train.gather(rows[first:first+count], ops.Workers(f.workers), x, right)
			t.step(x[:count*width], count, func(logits []float32) float64 {
				return softmaxLoss(logits, right[:count])
			})
		}
		f.epochs = epoch + 1
		f.progress(f.epochs, most)
		if f.observe != nil {
			if err := f.observe(epoch, t.net, f.train); err != nil {
				return err
			}
		}
		since++
		if f.epochs%between == 0 || f.epochs == most {
			loss, err := f.validation.meanLoss(ctx, t.net, f.workers)
			if err != nil {
				return err
			}
			if loss < f.loss || len(f.validation.order) == 0 {
				f.net, f.loss, since = t.net.clone(), loss, 0
			}
		}
		if steps := f.epochs * perEpoch; since >= basePatience && steps >= baseLeast || steps >= baseMost {
			break
		}
	}
	return nil
}

// baseSteps is how many steps an epoch has, and how many epochs there are at most, where so many nodes are learned from.
func baseSteps(rows int) (perEpoch, epochs int) {
	batch := min(baseBatch, rows)
	perEpoch = (rows + batch - 1) / batch
	return perEpoch, max(baseEpochs, (baseLeast+perEpoch-1)/perEpoch)
}

// meanLoss is the mean cross-entropy of a network.
func (l *learned) meanLoss(ctx context.Context, net *Network, workers int) (float64, error) {
	layers := activations{product: multiplier{workers: ops.Workers(workers)}}
	var sum float64
	batch := min(baseBatch, len(l.order))
	x, right := make([]float32, batch*l.width), make([]int, batch)
	for first := 0; first < len(l.order); first += batch {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		count := min(batch, len(l.order)-first)
		l.gather(l.order[first:first+count], ops.Workers(workers), x, right)
		logits := layers.forward(net, x, count, nil)
		sum += softmaxLoss(logits, right[:count]) * float64(count)
	}
	return sum / float64(max(len(l.order), 1)), nil
}

// predictAll predicts every row of inputs: a node that was learned from by the network that has not seen it, others by
// the mean of all networks. Where there are several they are corrected and smoothed, unless the inputs are of labels.
func (p *baseProblem) predictAll(
	ctx context.Context, fit *crossFit, inputs *rowStore, opt PredictOptions, budget int64,
) (out *basePredictions, err error) {
	all, err := newRowStore(p.place.temporary(), p.graph.NumNodes(), p.classes)
	if err != nil {
		return nil, err
	}
	own, err := newRowStore(p.place.temporary(), p.graph.NumNodes(), p.classes)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	refiner := refiner{baseProblem: p, fit: fit, opt: opt, budget: budget}
	for net := range fit.nets {
		err := p.predictBy(ctx, fit.nets[net], inputs, own, opt.Workers)
		if err == nil && len(fit.nets) > 1 && p.hasFeatures() {
			err = refiner.refine(ctx, net, own)
		}
		if err == nil {
			err = fit.gather(ctx, net, own, all, opt.Workers)
		}
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return &basePredictions{all}, nil
}

// gather takes into all [n×c] what a network predicts.
func (f *crossFit) gather(ctx context.Context, net int, own, all *rowStore, workers int) error {
	return eachRows(ctx, own, own.rows, workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			judge, alone := f.judge(v)
			if alone && judge != net {
				continue
			}
			share := float32(1)
			if !alone {
				share /= float32(len(f.nets))
			}
			row := values[int(v-rows.First)*own.width:][:own.width]
			if err := all.add(kv.Range{First: v, End: v + 1}, 0, own.width, share, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// predictBy applies a network to every row of inputs.
func (p *baseProblem) predictBy(ctx context.Context, net *Network, inputs, out *rowStore, workers int) error {
	// A block of narrow inputs has very many rows, whose activations together would not fit.
	layers := make([]activations, ops.Workers(workers))
	x := make([][]float32, len(layers))
	n := inputs.rows
	return ops.Parallel(ctx, len(layers), (n+baseBatch-1)/baseBatch, func(_ context.Context, worker, b int) error {
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
			split := p.splits[v]
			if p.teaches(v) {
				split = SplitTrain
			}
			nodes[split]++
			if best, _ := largest(row); best == p.labels[v] {
				right[split]++
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
