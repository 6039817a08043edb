package cleaner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A classifier is the part of the built-in classifier that Predict keeps, so that nodes added later are predicted
// without training. Its network is in classifierSpace.
type classifier struct {
	Input   string   // of PredictReport.Inputs
	Classes []string // the order of the outputs
	Drawn   bool     // its training nodes were drawn: of all nodes the labels are known
	Nodes   int      // nodes from this number on it has not seen
	Widths  []int    // of the layers of the network

	// Weights are those of its predictions and of the imported ones in a combination, for nodes that the classifier
	// from outside was not trained on; nil if it was not joined.
	Weights []float64

	net *nn.Network // nil until readNetwork
}

const (
	classifierKey   = "classifier"
	classifierSpace = "classifier"
)

// keep is the part to keep of a classifier, which was trained on the problem.
func (t *trainedBase) keep(p *problem, classes []string) *classifier {
	return &classifier{
		Input: t.report.Inputs, Classes: classes, Drawn: p.drawn,
		Nodes: len(p.labels), Widths: t.Net.Widths, net: t.Net,
	}
}

// netRecord is how many numbers of the network a record holds.
const netRecord = 8 << 10

// eachPart calls visit with the parts of the matrices and biases of the network that a record holds, in the order of
// their keys.
func (k *classifier) eachPart(visit func(key []byte, part []float32) error) error {
	for l := range k.net.Weights {
		for j, values := range [][]float32{k.net.Weights[l], k.net.Biases[l]} {
			for at := 0; at < len(values); at += netRecord {
				key := binary.BigEndian.AppendUint64(nil, uint64(l)<<40|uint64(j)<<36|uint64(at/netRecord))
				if err := visit(key, values[at:min(at+netRecord, len(values))]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write writes the network; mark makes it that of the store.
func (k *classifier) write(b *kv.Bulk) error {
	put, err := b.Space(classifierSpace)
	if err != nil {
		return err
	}
	var value []byte
	return k.eachPart(func(key []byte, part []float32) error {
		value = value[:0]
		for _, x := range part {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		return put(key, value)
	})
}

func (k *classifier) mark(tx *kv.Tx) error {
	return tx.Documents(predictionsSpace).Put(classifierKey, k)
}

// checkClassifier says why the kept classifier cannot be read; kv.ErrNotFound if none is kept.
func checkClassifier(tx *kv.Tx) error {
	k := new(classifier)
	if err := tx.Documents(predictionsSpace).Get(classifierKey, k); err != nil {
		return err
	}
	return k.readNetwork(tx)
}

// readNetwork reads the network, of a classifier whose document is there.
func (k *classifier) readNetwork(tx *kv.Tx) error {
	if err := k.check(); err != nil {
		return err
	}
	k.net = &nn.Network{Widths: k.Widths}
	for l, width := range k.Widths[1:] {
		k.net.Weights = append(k.net.Weights, make([]float32, k.Widths[l]*width))
		k.net.Biases = append(k.net.Biases, make([]float32, width))
	}
	space := tx.Space(classifierSpace)
	err := k.eachPart(func(key []byte, part []float32) error {
		value, err := space.Get(key)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if len(value) != 4*len(part) {
			return fmt.Errorf("%d bytes, want %d: %w", len(value), 4*len(part), kv.ErrCorrupt)
		}
		for i := range part {
			part[i] = math.Float32frombits(binary.LittleEndian.Uint32(value[4*i:]))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the network of the built-in classifier: %w", err)
	}
	return nil
}

// check says whether the network has a shape that the store can hold.
func (k *classifier) check() error {
	sound := len(k.Widths) > 1 && slices.Min(k.Widths) > 0 && slices.Max(k.Widths) < math.MaxInt32 &&
		k.Widths[len(k.Widths)-1] == len(k.Classes) && (k.Weights == nil || len(k.Weights) == 2)
	if !sound {
		return fmt.Errorf("the built-in classifier: a network of %v for %d classes: %w", k.Widths, len(k.Classes),
			kv.ErrCorrupt)
	}
	return nil
}

// A nodePredictor predicts single nodes of a snapshot by a kept classifier, from the nodes around. The inputs are those
// of classifier.inputs, up to rounding. It belongs to one goroutine.
type nodePredictor struct {
	*filler
	ctx    context.Context
	steps  *atomic.Int64 // that may be walked
	labels nodeLabels
	layers nn.Activations

	walked []ops.Row // around the node that was last predicted from the labels around it
	from   kv.NodeID // that node
}

func newNodePredictor(ctx context.Context, f *filler, steps *atomic.Int64) (*nodePredictor, error) {
	p := &nodePredictor{filler: f, ctx: ctx, steps: steps, labels: nodeLabels{tx: f.tx, classes: len(f.by.Classes)}}
	if f.by.Drawn {
		return p, nil
	}
	splits, err := f.tx.Reader(splitColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		return p, nil
	}
	p.labels.knows = func(u kv.NodeID) (bool, error) {
		value, err := splits.At(u)
		if err != nil {
			return false, err
		}
		split, err := splitOf(f.tx, u, value)
		return split.Teaches(), err
	}
	return p, err
}

// row is the row of a node to store; errNoClassifier if the features of the store are others than the
// classifier knows.
func (p *nodePredictor) row(v kv.NodeID) ([]float32, error) {
	x, err := p.input(v)
	if err != nil {
		return nil, err
	}
	return p.filler.row(v, p.by.predict(x, &p.layers))
}

// input is the input of the network for a node: see problem.inputs.
func (p *nodePredictor) input(v kv.NodeID) (x []float32, err error) {
	operator, features := ops.Operator{Hops: 1}, ops.Source(nil)
	switch p.by.Input {
	case InputFeatures:
		operator = ops.Operator{Hops: baseHops, SelfLoops: true}
	case InputStructure:
		operator.Hops = p.by.labelHops()
	case InputMixed:
	default:
		return nil, fmt.Errorf("the built-in classifier: inputs %q: %w", p.by.Input, kv.ErrCorrupt)
	}
	if p.by.Input != InputStructure {
		if features, err = p.by.features(p.tx); err != nil {
			return nil, err
		}
	}
	rows, err := ops.OperatorRows(p.ctx, p.tx, v, operator, p.steps)
	if err != nil {
		return nil, err
	}
	own := ops.Row{Nodes: []kv.NodeID{v}, Values: []float64{1}}
	switch p.by.Input {
	case InputFeatures:
		last := len(rows) - 1
		whole := rows[last] // with self loops, a row has all nodes of those before
		rows[last] = own
		for i, u := range whole.Nodes {
			for _, row := range rows {
				whole.Values[i] += row.At(u)
			}
		}
		return p.sum(features, whole)
	case InputMixed:
		if x, err = p.sum(features, own); err != nil {
			return nil, err
		}
		around, err := p.sum(features, rows[0])
		if err != nil {
			return nil, err
		}
		x = append(x, around...)
	default:
		p.walked, p.from = rows, v
	}
	labels, err := p.labels.sums(rows)
	if err != nil {
		return nil, err
	}
	for _, sums := range labels {
		x = append(x, scaled(sums, false)...)
	}
	degree, err := p.tx.Degree(v)
	x = append(x, float32(elementary.Log(float64(1+degree))/degreeScale))
	if p.by.Input == InputStructure {
		shrinkByDegree(x)
	}
	return x, err
}

// sum adds up features by the weights of a row, scaled to length 1.
func (p *nodePredictor) sum(features ops.Source, row ops.Row) ([]float32, error) {
	if p.steps.Add(-stepsOfRow*int64(len(row.Nodes))) < 0 {
		return nil, fmt.Errorf("the features of too many nodes: %w", ops.ErrReach)
	}
	sums, at := make([]float64, features.Width()), 0
	err := rowstore.EachOf(p.ctx, features, row.Nodes, func(u kv.NodeID, values []float32) error {
		weight := row.Values[at]
		at++
		for j, x := range values {
			if !isFeature(x) {
				return naming.Node(p.tx, u, fmt.Errorf("feature number %d is %v, want a number between %g and %g: %w",
					j, x, -mostFeature, mostFeature, ErrFeatures))
			}
			sums[j] += float64(weight * float64(x))
		}
		return nil
	})
	return scaled(sums, true), err
}

// stepsOfRow is how many steps it costs to look up the features of a node.
const stepsOfRow = 64

// scaled are sums, rounded and divided by scaleTo1.
func scaled(sums []float64, byLength bool) []float32 {
	row := make([]float32, len(sums))
	for j, sum := range sums {
		row[j] = float32(sum)
	}
	scaleTo1(row, byLength)
	return row
}
