// Package method is the door between a cleaning and a way to score labels that takes the place of its label model. It
// knows no such way.
package method

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// ErrFewFittingNodes is returned if the fitting set is too small to learn from.
var ErrFewFittingNodes = errors.New("cleaner: too few fitting nodes")

// A Method scores labels. A cleaning brings predictions, features and a fitting set, and writes the results.
type Method interface {
	Name() string // of its preset

	// SampleSize is how many of so many fitting nodes it looks at. MatrixBytes is the memory of its matrices between
	// classes.
	SampleSize(fitting int) int
	MatrixBytes(classes, fitting int) int64

	// Score writes the score of every label under test to scores [n], NaN where there is none.
	Score(ctx context.Context, c *Case, scores []float32) (Result, error)
}

// A Case is labels to score, and the facts about them.
type Case struct {
	Labels      []kv.Class // [n] under test; NoClass: none
	Classes     int
	Predictions ops.Source // [n×Classes]
	Hops        int        // K

	IsFitting  func(v kv.NodeID) bool // whether a node is of the fitting set
	IsUntaught func(v kv.NodeID) bool // whether no prediction knows its label

	// Sample draws SampleSize of the fitting nodes: their labels by rank, and their ranks in the order of the node file.
	Sample func() (labels []kv.Class, order []uint32, err error)

	// Features computes the agreement features of the labels under test [n×(2K+1)], and of the drawn nodes with other
	// labels, by rank, row after row [rows×(2K+1)]. Both are borrowed. It is called once, after Sample.
	Features func(ctx context.Context, sampled []kv.Class) (tested ops.Source, sample []float32, err error)

	Seed    uint64
	Workers int
	Stage   func(name string) // tells that a stage ends
}

// A Result holds the findings of a Method about all labels.
type Result struct {
	Joint     *classmatrix.Matrix // as Run.Joint
	Rate      float64             // share of wrong labels
	Threshold float64             // above it a node is a suspect, if the caller names no other
}
