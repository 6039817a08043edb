package cleaner

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A keptClassifier is what Predict keeps of the built-in classifier, so that nodes that are added later are predicted
// without training. Its network is in classifierSpace.
type keptClassifier struct {
	Input   string   // of PredictReport.Inputs
	Classes []string // the order of the outputs
	Hops    int      // of PredictOptions
	Drawn   bool     // its training nodes were drawn: of all nodes the labels are known
	Nodes   int      // nodes from this number on it has not seen
	Widths  []int    // of the layers of the network

	// Weights are, of each group of a combination, those of its predictions and of the imported ones; nil if it was not
	// joined.
	Weights [][]float64
}

const (
	classifierKey   = "classifier"
	classifierSpace = "classifier"
)

// A classifier is a keptClassifier with its network.
type classifier struct {
	keptClassifier
	net *nn.Network
}

// keep is what is to be kept of a classifier, which was trained on the problem.
func (t *trainedBase) keep(p *baseProblem, classes []string) *classifier {
	return &classifier{net: t.fit.Net, keptClassifier: keptClassifier{
		Input: t.report.Inputs, Classes: classes, Hops: t.opt.Hops, Drawn: p.drawn,
		Nodes: len(p.labels), Widths: t.fit.Net.Widths,
	}}
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
	return tx.Documents(predictionsSpace).Put(classifierKey, k.keptClassifier)
}

// checkClassifier says why the kept classifier cannot be read; kv.ErrNotFound if none is kept.
func checkClassifier(tx *kv.Tx) error {
	k := new(classifier)
	if err := tx.Documents(predictionsSpace).Get(classifierKey, &k.keptClassifier); err != nil {
		return err
	}
	return k.readNetwork(tx)
}

// openNetwork is readNetwork, from memory if somebody has read it before.
func (k *classifier) openNetwork(tx *kv.Tx) error {
	made, err := tx.Space(classifierSpace).Made(func() (any, int64, error) {
		if err := k.readNetwork(tx); err != nil {
			return nil, 0, err
		}
		return k.net, k.net.Bytes(), nil
	})
	if err != nil {
		return err
	}
	k.net = made.(*nn.Network)
	return nil
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
		return fmt.Errorf("the network of the built-in classifier: %w: %v", kv.ErrCorrupt, err) //nolint:errorlint // one that is missing is damage
	}
	return nil
}

// check says whether the network has a shape that the store can hold.
func (k *keptClassifier) check() error {
	sound := len(k.Widths) > 1 && k.Hops > 0 && slices.Min(k.Widths) > 0 && slices.Max(k.Widths) < math.MaxInt32 &&
		k.Widths[len(k.Widths)-1] == len(k.Classes)
	for _, weights := range k.Weights {
		sound = sound && len(weights) == 2
	}
	if !sound {
		return fmt.Errorf("the built-in classifier: a network of %v for %d classes: %w", k.Widths, len(k.Classes), kv.ErrCorrupt)
	}
	return nil
}
