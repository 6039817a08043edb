package cleaner

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Split is the use of a node's label.
type Split uint8

// The splits, by the names that the column "split" has for them: none (or empty), train, val, test. No column has
// SplitUnused.
const (
	SplitNone       Split = iota // to train the built-in base classifier, as the training split
	SplitTrain                   // to train the base classifier
	SplitValidation              // to fit on, where the base classifier may have seen the labels of the others
	SplitTest                    // to measure the base classifier
	SplitUnused                  // of a drawn split, nodes in none of the shares: their labels teach nothing
)

// Teaches says whether the base classifier learns from such nodes.
func (s Split) Teaches() bool { return s == SplitTrain || s == SplitNone }

// splitColumn is the string column of a store that has the splits.
const splitColumn = "split"

// String returns the name by which ParseSplit knows it.
func (s Split) String() string {
	return [...]string{"none", "train", "val", "test", "unused"}[s]
}

// ParseSplit knows none (or ""), train, val (or valid, validation) and test, in upper or lower case. ErrSplit for
// others.
func ParseSplit(name string) (Split, error) {
	switch strings.ToLower(name) {
	case "", "none":
		return SplitNone, nil
	case "train":
		return SplitTrain, nil
	case "val", "valid", "validation":
		return SplitValidation, nil
	case "test":
		return SplitTest, nil
	}
	return SplitNone, fmt.Errorf("split %q: want train, val, test or none: %w", name, ErrSplit)
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

// Splits reads the column "split" of the store [n]. If there is no such column, Splits draws a split of the labelled
// nodes, with seed and in the order of the node file: 0.8 for training, 0.1 each for validation and test; drawn is then
// true. The validation split of a small graph gets more than a tenth, so that a model can be fitted on it. Every
// class with two or more nodes gets a training node, if there are enough training nodes. labels is [n]. For a name that
// is no split, the error is an ErrSplit with the node.
func Splits(tx *kv.Tx, labels []kv.Class, seed uint64) (splits []Split, drawn bool, err error) {
	values, err := tx.Reader(splitColumn)
	if errors.Is(err, kv.ErrNoColumn) {
		splits, err := drawSplits(tx.InFileOrder(), labels, defaultShares, seed)
		return splits, true, err
	}
	if err != nil {
		return nil, false, err
	}
	splits = make([]Split, tx.NumNodes())
	for v := range splits {
		value, err := values.At(kv.NodeID(v))
		if err != nil {
			return nil, false, err
		}
		if splits[v], err = splitOf(tx, kv.NodeID(v), value); err != nil {
			return nil, false, err
		}
	}
	return splits, false, nil
}

// splitOf is the split that a value of the column names; null names none.
func splitOf(tx *kv.Tx, v kv.NodeID, value kv.Value) (Split, error) {
	split, err := ParseSplit(value.String())
	if err != nil {
		err = naming.Node(tx, v, err)
	}
	return split, err
}
