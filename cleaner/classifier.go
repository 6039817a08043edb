package cleaner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A keptClassifier is what Predict keeps of the built-in classifier, so that nodes that are added later are predicted without
// training. Its networks are in classifierSpace.
type keptClassifier struct {
	Input     string   // of PredictReport.Inputs
	Classes   []string // the order of the outputs
	Hops      int      // of PredictOptions
	Direction uint8
	Nodes     int     // nodes from this number on it has not seen
	Widths    [][]int // of the networks
}

const (
	classifierKey   = "classifier"
	classifierSpace = "classifier"
)

// A classifier is a keptClassifier with its networks.
type classifier struct {
	keptClassifier
	nets []*nn.Network
}

// keep is what is to be kept of a classifier, which was trained on a snapshot.
func (t *trainedBase) keep(snapshot *kv.Tx) *classifier {
	kept := &classifier{nets: t.fit.nets, keptClassifier: keptClassifier{
		Input: t.report.Inputs, Classes: snapshot.Classes(), Hops: t.opt.Hops, Direction: uint8(t.opt.Direction), Nodes: snapshot.NumNodes(),
	}}
	for _, net := range kept.nets {
		kept.Widths = append(kept.Widths, net.Widths)
	}
	return kept
}

// netRecord is how many numbers of a network a record holds.
const netRecord = 8 << 10

// eachPart calls visit with the parts of the matrices and biases of the networks that a record holds, in the order of their keys.
func (k *classifier) eachPart(visit func(key []byte, part []float32) error) error {
	for i, net := range k.nets {
		for l := range net.Weights {
			for j, values := range [][]float32{net.Weights[l], net.Biases[l]} {
				for at := 0; at < len(values); at += netRecord {
					key := binary.BigEndian.AppendUint64(nil, uint64(i)<<48|uint64(l)<<40|uint64(j)<<36|uint64(at/netRecord))
					if err := visit(key, values[at:min(at+netRecord, len(values))]); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// write writes the networks; mark makes them those of the store.
func (k *classifier) write(b *kv.Bulk) error {
	w, err := b.Space(classifierSpace)
	if err != nil {
		return err
	}
	var value []byte
	return k.eachPart(func(key []byte, part []float32) error {
		value = value[:0]
		for _, x := range part {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		return w.Put(key, value)
	})
}

func (k *classifier) mark(tx *kv.Tx) error {
	return tx.PutDocument(predictionsSpace, classifierKey, k.keptClassifier)
}

// readClassifier reads what was kept; kv.ErrNotFound if nothing was.
func readClassifier(tx *kv.Tx) (*classifier, error) {
	k := new(classifier)
	if err := tx.Document(predictionsSpace, classifierKey, &k.keptClassifier); err != nil {
		return nil, err
	}
	for _, widths := range k.Widths {
		net := &nn.Network{Widths: widths}
		for l := range max(len(widths)-1, 0) {
			net.Weights = append(net.Weights, make([]float32, widths[l]*widths[l+1]))
			net.Biases = append(net.Biases, make([]float32, widths[l+1]))
		}
		k.nets = append(k.nets, net)
	}
	space := tx.Space(classifierSpace)
	err := k.eachPart(func(key []byte, part []float32) error {
		value, err := space.Get(key)
		if err != nil {
			return err
		}
		if len(value) != 4*len(part) {
			return fmt.Errorf("%d bytes, want %d", len(value), 4*len(part))
		}
		for i := range part {
			part[i] = math.Float32frombits(binary.LittleEndian.Uint32(value[4*i:]))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the networks of the built-in classifier: %w: %w", kv.ErrCorrupt, err)
	}
	return k, nil
}

// An Unseen says how old a classifier is: how many nodes were added since it was trained, and how its predictions agree with their
// labels.
type Unseen struct {
	Nodes    int64 // added since
	Labelled int64 // of them, nodes with a label that the classifier knows, and with predictions
	Agree    int64 // of these, nodes whose largest prediction is their label
}

// String says how old the classifier is.
func (u Unseen) String() string {
	text := "it has not seen " + plural(int(u.Nodes), "node")
	if u.Labelled > 0 {
		text += fmt.Sprintf(", and agrees with %.1f%% of %s of theirs", 100*float64(u.Agree)/float64(u.Labelled), plural(int(u.Labelled), "label"))
	}
	return text
}

// unseen measures it on the stored predictions.
func (k *classifier) unseen(ctx context.Context, tx *kv.Tx) (u Unseen, err error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return u, err
	}
	removed, err := tx.Removed()
	if err != nil {
		return u, err
	}
	nodes := slices.DeleteFunc(k.added(tx), removed.Has)
	u.Nodes = int64(len(nodes))
	err = rowstore.EachOf(ctx, inClassOrder(tx, matrix), nodes, func(v kv.NodeID, row []float32) error {
		label, err := tx.Label(v)
		if err != nil || label == kv.NoClass || int(label) >= len(k.Classes) || hasNaN(row) {
			return err
		}
		u.Labelled++
		if best, _, tied := largest(row); best == label && !tied {
			u.Agree++
		}
		return nil
	})
	return u, err
}

// unpredicted are the nodes without predictions among those that the classifier has not seen, ascending.
func (k *keptClassifier) unpredicted(ctx context.Context, tx *kv.Tx) (nodes []kv.NodeID, err error) {
	matrix, err := tx.Matrix(PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	err = rowstore.EachOf(ctx, matrix, k.added(tx), func(v kv.NodeID, row []float32) error {
		if hasNaN(row) && !removed.Has(v) {
			nodes = append(nodes, v)
		}
		return nil
	})
	return nodes, err
}

// added are the nodes that the classifier has not seen, also those that were removed.
func (k *keptClassifier) added(tx *kv.Tx) (nodes []kv.NodeID) {
	for v := kv.NodeID(k.Nodes); int(v) < tx.NumNodes(); v++ {
		nodes = append(nodes, v)
	}
	return nodes
}

// errNoClassifier says that nodes without predictions cannot be predicted without training.
var errNoClassifier = errors.New("no classifier is kept that could predict them")

// filledAtOnce is how many predictions are written in one transaction.
const filledAtOnce = 1024

// predictMissing predicts the nodes without predictions by the classifier that the store keeps, whose predictions all others have. A
// node gets the mean of its networks. If every node has predictions, it does nothing; if the store keeps no classifier, or its
// predictions are from outside, it returns errNoClassifier.
func predictMissing(ctx context.Context, s *kv.Store, opt PredictOptions) (filled int64, unseen Unseen, err error) {
	tx := s.Begin()
	defer tx.Close()
	source, err := predictionSource(tx)
	if err != nil {
		return 0, unseen, err
	}
	var kept keptClassifier
	if err := tx.Document(predictionsSpace, classifierKey, &kept); source != SourceBuiltIn || errors.Is(err, kv.ErrNotFound) {
		return 0, unseen, errNoClassifier
	} else if err != nil {
		return 0, unseen, err
	}
	nodes, err := kept.unpredicted(ctx, tx)
	if err != nil || len(nodes) == 0 {
		return 0, unseen, err
	}
	k, err := readClassifier(tx)
	if err != nil {
		return 0, unseen, err
	}
	place, err := openWorkplace(ctx, s, tx)
	if err != nil {
		return 0, unseen, err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	inputs, err := k.inputs(ctx, tx, place, opt)
	if err != nil {
		return 0, unseen, err
	}
	defer func() { err = errors.Join(err, inputs.Close()) }()
	if inputs.Width() != k.nets[0].Widths[0] { // the features are others
		return 0, unseen, errNoClassifier
	}
	for first := 0; first < len(nodes); first += filledAtOnce {
		some := nodes[first:min(first+filledAtOnce, len(nodes))]
		if err := k.fill(ctx, s, inputs, some); err != nil {
			return 0, unseen, err
		}
		if opt.Progress != nil {
			opt.Progress("predict", int64(first+len(some)), int64(len(nodes)))
		}
	}
	err = s.View(func(tx *kv.Tx) (err error) {
		unseen, err = k.unseen(ctx, tx)
		return err
	})
	return int64(len(nodes)), unseen, err
}

// inputs are those of the networks, of every node.
func (k *classifier) inputs(ctx context.Context, tx *kv.Tx, place *workplace, opt PredictOptions) (*rowstore.Store, error) {
	opt.Hops, opt.Direction = k.Hops, kv.Direction(k.Direction)
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	p := baseProblem{classes: len(k.Classes), place: place, order: tx.InFileOrder()}
	if p.graph, err = along(tx, opt.Direction); err != nil {
		return nil, err
	}
	if p.labels, err = readLabels(tx); err != nil {
		return nil, err
	}
	for v, label := range p.labels {
		if int(label) >= p.classes { // first used after it was trained
			p.labels[v] = kv.NoClass
		}
	}
	if p.splits, _, err = Splits(tx, p.labels, opt.Seed); err != nil {
		return nil, err
	}
	if p.features, _, err = baseFeatures(ctx, tx); err != nil {
		return nil, err
	}
	makeInputs := map[string]func(context.Context, PredictOptions, int64) (*rowstore.Store, error){
		InputFeatures: p.smoothedFeatures, InputMixed: p.mixedInputs, InputStructure: p.structure,
	}[k.Input]
	if makeInputs == nil {
		return nil, fmt.Errorf("the built-in classifier: inputs %q: %w", k.Input, kv.ErrCorrupt)
	}
	if k.Input == InputStructure {
		p.keptLabelHops = (k.nets[0].Widths[0] - 1) / max(p.classes, 1)
	} else if !p.hasFeatures() {
		return nil, errNoClassifier
	}
	least, err := p.leastForTraining(ctx)
	if err != nil {
		return nil, err
	}
	if err := requireBudget("predict", opt.MemoryBudget, least, p.classes, p.classBytes()); err != nil {
		return nil, err
	}
	return makeInputs(ctx, opt, opt.MemoryBudget-p.heldInTraining())
}

// fill predicts and writes some nodes.
func (k *classifier) fill(ctx context.Context, s *kv.Store, inputs *rowstore.Store, nodes []kv.NodeID) error {
	c := len(k.Classes)
	sums := make([][]float64, 0, len(nodes))
	var layers nn.Activations
	err := rowstore.EachOf(ctx, inputs, nodes, func(_ kv.NodeID, x []float32) error {
		sum := make([]float64, c)
		for _, net := range k.nets {
			logits := layers.Outputs(net, x, 1)
			nn.Softmax(logits)
			for j, p := range logits {
				sum[j] += float64(p)
			}
		}
		sums = append(sums, sum)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Update(func(tx *kv.Tx) error {
		row := make([]float64, len(tx.Classes()))
		for i, v := range nodes {
			clear(row)
			for j, p := range sums[i] {
				row[j] = p / float64(len(k.nets))
			}
			if err := SetPredictions(tx, v, row); err != nil && !errors.Is(err, kv.ErrNotFound) { // it was removed
				return err
			}
		}
		return nil
	})
}
