// Package splitting parts labelled nodes into those that teach, those that a model is fitted on, and those that
// measure. It knows labels, and neither a graph nor a store.
package splitting

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A Split is the use of a node's label.
type Split uint8

// The splits, by the names that the column "split" has for them: none (or empty), train, val, test. No column has
// Unused.
const (
	None       Split = iota // to train the built-in base classifier, as the training split
	Train                   // to train the base classifier
	Validation              // to fit on, where the base classifier may have seen the labels of the others
	Test                    // to measure the base classifier
	Unused                  // of a drawn split, nodes in none of the shares: their labels teach nothing
)

// Teaches says whether the base classifier learns from such nodes.
func (s Split) Teaches() bool { return s == Train || s == None }

// Column is the string column of a store that has the splits.
const Column = "split"

// String returns the name by which Parse knows it.
func (s Split) String() string {
	return [...]string{"none", "train", "val", "test", "unused"}[s]
}

// Parse knows none (or ""), train, val (or valid, validation) and test, in upper or lower case. Err for
// others.
func Parse(name string) (Split, error) {
	switch strings.ToLower(name) {
	case "", "none":
		return None, nil
	case "train":
		return Train, nil
	case "val", "valid", "validation":
		return Validation, nil
	case "test":
		return Test, nil
	}
	return None, fmt.Errorf("split %q: want train, val, test or none: %w", name, Err)
}

// stream is the second word of the PCG seed, so that the parts of a run that share a seed draw independent numbers.
const stream uint64 = 0x73706c74 // "splt"

// Err is returned for an unknown name of a split.
var Err = errors.New("cleaner: unknown split")

// DefaultShares are the shares of training, validation and test nodes in a split that is drawn.
var DefaultShares = [3]float64{0.8, 0.1, 0.1}

// LeastValidation is the size that the validation split drawn from a small graph is raised to, at the price of training
// nodes: as long as it does not take more than a third of the labelled ones, nor more than half of those for training.
const LeastValidation = 30

// An Order yields every node in the order of the node file.
type Order = iter.Seq2[kv.NodeID, error]

// splitSizes are numbers of training, validation and test nodes.
type splitSizes struct{ training, validation, test int }

// sizesOf are shares of n labelled nodes, rounded, which together are no more than n, with the validation nodes of a
// small graph.
func sizesOf(n int, shares [3]float64) (sizes splitSizes) {
	sizes.validation = min(int(float64(shares[1]*float64(n))+0.5), n)
	sizes.test = min(int(float64(shares[2]*float64(n))+0.5), n-sizes.validation)
	sizes.training = min(int(float64((shares[0]+shares[1]+shares[2])*float64(n))+0.5), n) - sizes.validation - sizes.test
	if raise := min(min(LeastValidation, n/3)-sizes.validation, sizes.training/2); raise > 0 {
		sizes.validation += raise
		sizes.training -= raise
	}
	return sizes
}

// Draw splits the labelled nodes of order at random by shares of training, validation and test nodes, which need
// not add up to 1: the rest is unused. See teachClasses and fitClasses for small classes. The draw depends on the
// places in order, not on NodeIDs.
func Draw(order Order, labels []kv.Class, shares [3]float64, seed uint64) ([]Split, error) {
	labelled := 0
	for _, y := range labels {
		if y != kv.NoClass {
			labelled++
		}
	}
	nodes := make([]kv.NodeID, 0, labelled)
	for v, err := range order {
		if err != nil {
			return nil, err
		}
		if labels[v] != kv.NoClass {
			nodes = append(nodes, v)
		}
	}
	random := rand.New(rand.NewPCG(seed, stream))
	random.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })

	sizes := sizesOf(len(nodes), shares)
	splits := make([]Split, len(labels))
	for i, v := range nodes {
		switch {
		case i < sizes.validation:
			splits[v] = Validation
		case i < sizes.validation+sizes.test:
			splits[v] = Test
		case i < sizes.validation+sizes.test+sizes.training:
			splits[v] = Train
		default:
			splits[v] = Unused
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
		if nodes[labels[v]]++; splits[v] == Train {
			taught[labels[v]]++
		}
	}
	giver := len(order) - 1
	for _, v := range order {
		y := labels[v]
		if nodes[y] < 2 || taught[y] > 0 {
			continue
		}
		for giver >= 0 && (splits[order[giver]] != Train || taught[labels[order[giver]]] < 2) {
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
	first := slices.IndexFunc(order, func(v kv.NodeID) bool { return splits[v] == Validation })
	if first < 0 {
		return
	}
	only, taught := labels[order[first]], make(map[kv.Class]int)
	for _, v := range order {
		switch splits[v] {
		case Validation:
			if labels[v] != only {
				return
			}
		case Train:
			taught[labels[v]]++
		}
	}
	for _, v := range order {
		y := labels[v]
		if y != only && (taught[y] > 1 || taught[y] == 1 && splits[v] != Train) {
			splits[v], splits[order[first]] = Validation, splits[v]
			return
		}
	}
}
