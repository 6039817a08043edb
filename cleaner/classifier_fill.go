package cleaner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// errNoClassifier says that nodes without predictions cannot be predicted without training.
var errNoClassifier = errors.New("no classifier is kept that could predict them")

// A filler gives nodes without predictions those of the classifier that the store keeps. If the last run joined it with
// imported predictions, it gives them joined ones, as the run would have made them: see combination.
type filler struct {
	*kv.Matrix // P, of the predictions that scores are taken from
	tx         *kv.Tx
	by         *classifier // its network is read by open
	imported   ops.Source  // U, with the columns of P; nil: P is of the classifier alone
}

// openFiller returns errNoClassifier if the store keeps no classifier, has no predictions, or has some from outside
// that are not joined.
func openFiller(tx *kv.Tx) (*filler, error) {
	source, err := predictionSource(tx)
	if err != nil {
		return nil, err
	}
	f := &filler{tx: tx, by: new(classifier)}
	var stored *kv.Matrix
	if err = tx.Documents(predictionsSpace).Get(classifierKey, f.by); err == nil {
		stored, err = tx.Matrix(PredictionsMatrix)
	}
	isJoined := f.by.Weights != nil
	if f.Matrix = stored; err == nil && isJoined {
		f.Matrix, err = mixtureInForce(tx, nil)
	}
	if errors.Is(err, kv.ErrNotFound) || err == nil && (f.Matrix == nil || isJoined == (source == SourceBuiltIn)) {
		err = errNoClassifier
	}
	if err != nil {
		return nil, err
	}
	if isJoined {
		f.imported = ofClasses(stored, f.Width())
	}
	return f, nil
}

// open reads the network, which a filler needs to predict, and not to count nodes without predictions.
func (f *filler) open() error { return f.by.readNetwork(f.tx) }

// row makes the row of a node to store from the classifier's prediction [width]: of joined predictions that alone if
// there is no imported row.
func (f *filler) row(v kv.NodeID, predicted []float32) ([]float32, error) {
	row := make([]float32, f.Width())
	copy(row, predicted) // a class that it has not learned comes after the others
	if f.imported == nil {
		return row, nil
	}
	imported := make([]float32, len(row))
	if err := f.imported.Read(kv.Range{First: v, End: v + 1}, 0, len(imported), imported); err != nil {
		return nil, err
	}
	mix(f.by.Weights, row, imported)
	return row, nil
}

// unpredicted are the nodes without predictions among those that the classifier has not seen, ascending.
func (f *filler) unpredicted(ctx context.Context) (nodes []kv.NodeID, err error) {
	removed, err := f.tx.Removed()
	if err != nil {
		return nil, err
	}
	var added []kv.NodeID
	for v := kv.NodeID(f.by.Nodes); int(v) < f.tx.NumNodes(); v++ {
		if !removed.Has(v) {
			added = append(added, v)
		}
	}
	err = rowstore.EachOf(ctx, f.Matrix, added, func(v kv.NodeID, row []float32) error {
		if hasNaN(row) {
			nodes = append(nodes, v)
		}
		return nil
	})
	return nodes, err
}

// filledAtOnce is how many nodes are predicted by one worker, or written in one transaction.
const filledAtOnce = 1024

// fillPredictions predicts nodes that were added since the built-in classifier was trained by that, as it was kept, and
// counts them. If the last run has joined them with imported ones, so does it where joined is set, and nothing
// otherwise. It returns errNoClassifier as openFiller does.
func fillPredictions(ctx context.Context, s *kv.Store, opt Options, joined bool) (filled int, err error) {
	tx := s.Begin()
	defer tx.Close()
	f, err := openFiller(tx)
	if err != nil || f.imported != nil && !joined {
		return 0, err
	}
	nodes, err := f.unpredicted(ctx)
	if err != nil || len(nodes) == 0 {
		return 0, err
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	rows, err := f.rowsOf(ctx, nodes, opt)
	if errors.Is(err, ops.ErrReach) {
		rows, err = f.rowsByPass(ctx, s, nodes, opt)
	}
	if err != nil {
		return 0, fmt.Errorf("predictions of added nodes: %w", err)
	}
	for first := 0; first < len(nodes); first += filledAtOnce {
		end := min(first+filledAtOnce, len(nodes))
		if err := f.write(s, nodes[first:end], rows[first:end]); err != nil {
			return 0, err
		}
		opt.progress("predict", int64(end), int64(len(nodes)))
	}
	opt.stage("predict")
	opt.notice("the kept classifier has predicted %s without predictions", plural(len(nodes), "node"))
	return len(nodes), nil
}

// Nodes are predicted one by one unless they are more than mostAlone, whose rows would take memory that a pass does
// not, or unless more than aloneSteps arcs were walked for each arc of the graph, and more than leastSteps. A pass
// costs as much: it has to find the diagonals of all nodes.
const (
	mostAlone  = 1 << 14
	aloneSteps = 2
	leastSteps = 1 << 18
)

// rowsOf makes the rows of nodes, which are predicted one by one; ops.ErrReach if a pass over the graph costs less.
func (f *filler) rowsOf(ctx context.Context, nodes []kv.NodeID, opt Options) ([][]float32, error) {
	if len(nodes) > mostAlone {
		return nil, ops.ErrReach
	}
	steps := new(atomic.Int64)
	steps.Store(max(aloneSteps*f.tx.Shape().Arcs, leastSteps))
	rows, workers := make([][]float32, len(nodes)), make([]*nodePredictor, parallel.Workers(opt.Workers))
	err := parallel.Do(ctx, len(workers), len(nodes), func(ctx context.Context, worker, i int) (err error) {
		if workers[worker] == nil {
			if workers[worker], err = newNodePredictor(ctx, f, steps); err != nil {
				return err
			}
		}
		rows[i], err = workers[worker].row(nodes[i])
		return err
	})
	return rows, err
}

// rowsByPass is rowsOf with the inputs of all nodes, in passes over the graph. Nodes ascend.
func (f *filler) rowsByPass(
	ctx context.Context, s *kv.Store, nodes []kv.NodeID, opt Options,
) (rows [][]float32, err error) {
	place, err := workplace.Open(ctx, s, f.tx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	inputs, err := f.by.inputs(ctx, f.tx, place, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, inputs.Close()) }()
	if inputs.Width() != f.by.Widths[0] { // the features are others
		return nil, errNoClassifier
	}
	rows = make([][]float32, len(nodes))
	layers := make([]nn.Activations, parallel.Workers(opt.Workers))
	err = parallel.Do(ctx, len(layers), (len(nodes)+filledAtOnce-1)/filledAtOnce,
		func(ctx context.Context, worker, part int) error {
			at := part * filledAtOnce
			return rowstore.EachOf(ctx, inputs, nodes[at:min(at+filledAtOnce, len(nodes))],
				func(v kv.NodeID, x []float32) (err error) {
					rows[at], err = f.row(v, f.by.predict(x, &layers[worker]))
					at++
					return err
				})
		})
	return rows, err
}

// write stores the rows of some nodes, as long as these have none.
func (f *filler) write(s *kv.Store, nodes []kv.NodeID, rows [][]float32) error {
	name := PredictionsMatrix
	if f.imported != nil {
		name = CombinedMatrix
	}
	return s.Update(func(tx *kv.Tx) error {
		matrix, err := tx.Matrix(name)
		if err != nil {
			return err
		}
		if !slices.Equal(matrix.Columns(), f.Columns()) {
			return nil // all predictions are others meanwhile
		}
		there := make([]float32, matrix.Width())
		for i, v := range nodes {
			if err := matrix.Read(kv.Range{First: v, End: v + 1}, 0, len(there), there); err != nil {
				return err
			}
			if !hasNaN(there) {
				continue
			}
			err := tx.SetRow(name, v, rows[i])
			if errors.Is(err, kv.ErrNotFound) { // it was removed
				continue
			}
			if err == nil && f.imported != nil {
				err = tx.TouchRow(PredictionsMatrix, v) // the joined rows are not tracked
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// predict is the prediction of the network for an input, borrowed.
func (k *classifier) predict(x []float32, layers *nn.Activations) []float32 {
	logits := layers.Outputs(k.net, x, 1)
	nn.Softmaxes(logits, len(logits))
	sum := 0.0
	for _, p := range logits {
		sum += float64(p)
	}
	for j, p := range logits { // rounded to float32, they do not quite add up to 1
		logits[j] = float32(float64(p) / sum)
	}
	return logits
}

// features are the stored features, if they are as many as the network wants.
func (k *classifier) features(tx *kv.Tx) (ops.Source, error) {
	matrix, err := tx.Matrix(FeaturesMatrix)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errNoClassifier
	}
	if err != nil {
		return nil, err
	}
	width := matrix.Width()
	if k.Input == InputMixed {
		width = 2*width + len(k.Classes) + 1
	}
	if width != k.Widths[0] {
		return nil, errNoClassifier
	}
	return zeroMissing{matrix}, nil
}

// labelHops is over how many hops the input of InputStructure has labels.
func (k *classifier) labelHops() int { return (k.Widths[0] - 1) / len(k.Classes) }

// inputs are those of the network, of every node.
func (k *classifier) inputs(
	ctx context.Context, tx *kv.Tx, place *workplace.Place, opt Options,
) (inputs *rowstore.Store, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	p, err := problemOf(tx)
	if err != nil {
		return nil, err
	}
	p.classes, p.place = len(k.Classes), place
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
	for v, label := range p.labels {
		if int(label) >= p.classes { // first used after it was trained
			p.labels[v] = kv.NoClass
		}
	}
	p.splits = make([]Split, len(p.labels))
	if !k.Drawn {
		if p.splits, _, err = Splits(tx, p.labels, opt.Seed); err != nil {
			return nil, err
		}
	}
	if k.Input == InputStructure {
		p.keptHops = k.labelHops()
	} else {
		if p.features, err = k.features(tx); err != nil {
			return nil, err
		}
		if _, err := countFeatures(ctx, tx); err != nil {
			return nil, err
		}
	}
	if err := p.requireForTraining(ctx, opt); err != nil {
		return nil, err
	}
	return p.inputs(ctx, k.Input, opt, opt.MemoryBudget-p.heldInTraining())
}
