package cleaner

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/detector"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelnoise"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Errors of input that does not fit together.
var (
	// ErrShape is returned when labels, predictions and graph do not have the same number of rows or classes.
	ErrShape = rowstore.ErrShape

	// ErrUnknownClass is returned when predictions name a class that the store does not have, or have no column for one
	// that some node is given.
	ErrUnknownClass = errors.New("cleaner: classes of predictions and labels differ")

	// ErrFeatures is returned for node features that are no finite numbers, or too large to add up.
	ErrFeatures = errors.New("cleaner: bad features")

	// ErrOptions is returned for options out of their range.
	ErrOptions = labelnoise.ErrOptions

	// ErrSplit is returned for a split of a name that is not known.
	ErrSplit = errors.New("cleaner: unknown split")
)

// Errors of labels that are too few to learn from.
var (
	// ErrNoLabels is returned when no node has a label.
	ErrNoLabels = errors.New("cleaner: no labelled nodes")

	// ErrOneClass is returned when the nodes to learn from are all given the same label.
	ErrOneClass = errors.New("cleaner: labels of one class only")

	// ErrFewFittingNodes is returned when the fitting set is too small to fit a detector on.
	ErrFewFittingNodes = detector.ErrFewFittingNodes

	// ErrMissingRows is returned when some nodes have no predictions.
	ErrMissingRows = errors.New("cleaner: nodes without predictions")
)

// A RowError says what is wrong with the predictions of one node.
type RowError struct {
	Node kv.NodeID
	ID   string // the node's external id
	Msg  string
}

// Error reads "predictions of node p17: class Theory is NaN, want a probability from 0 to 1".
func (e *RowError) Error() string {
	return fmt.Sprintf("predictions of node %s: %s", e.ID, e.Msg)
}
