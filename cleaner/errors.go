package cleaner

import (
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Errors of input that does not fit together.
var (
	// ErrShape is returned if labels, predictions and graph differ in their number of rows or classes.
	ErrShape = rowstore.ErrShape

	// ErrUnknownClass is returned if predictions name a class that the store does not have, or lack the class of a
	// label.
	ErrUnknownClass = errors.New("cleaner: classes of predictions and labels differ")

	// ErrFeatures is returned for node features that are not finite, or too large to add up.
	ErrFeatures = errors.New("cleaner: bad features")

	// ErrNotLogits is returned if predictions that were said to be logits are probabilities.
	ErrNotLogits = errors.New("cleaner: predictions that are to be logits are probabilities already")

	// ErrOptions is returned for options out of their range.
	ErrOptions = errors.New("cleaner: bad options")

	// ErrSplit is returned for an unknown name of a split.
	ErrSplit = errors.New("cleaner: unknown split")
)

// Errors of labels that are too few to learn from.
var (
	// ErrNoLabels is returned if no node has a label.
	ErrNoLabels = errors.New("cleaner: no labelled nodes")

	// ErrOneClass is returned if all nodes to learn from have the same label.
	ErrOneClass = errors.New("cleaner: labels of one class only")

	// ErrFewLabels is returned if the labels are too few, whatever their splits.
	ErrFewLabels = errors.New("cleaner: too few labels")

	// ErrFewFittingNodes is returned if the fitting set is too small to learn from.
	ErrFewFittingNodes = method.ErrFewFittingNodes

	// ErrNoModel is returned if the last run keeps no label model to score by: it had another preset, or it was lost.
	ErrNoModel = errors.New("cleaner: the last run keeps no model")

	// ErrElsewhere is returned if scores are to be computed by a run that was made elsewhere: see Run.Elsewhere.
	ErrElsewhere = errors.New("cleaner: the run was made elsewhere, on a larger graph")

	// ErrMissingRows is returned if some nodes have no predictions.
	ErrMissingRows = errors.New("cleaner: nodes without predictions")
)

// A RowError describes bad predictions of one node.
type RowError struct {
	Node kv.NodeID
	ID   string // the node's external id
	Msg  string
}

// Error reads "predictions of node p17: class Theory is NaN, want a probability from 0 to 1".
func (e *RowError) Error() string {
	return fmt.Sprintf("predictions of node %s: %s", e.ID, e.Msg)
}
