package cleaner

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

// ChangesSince returns a text for each change since the last run began that its scores do not reflect, such as "predictions
// were written after run 3 began". It looks at how often predictions were written, and at how many nodes and edges there
// are. It does not see an edge that replaced another, nor a label that was set without a decision. A decision does not
// make scores outdated, because decided labels are not scored again, unless it replaces a decision that the run used as
// truth.
func ChangesSince(ctx context.Context, tx *kv.Tx, run *Run) ([]string, error) {
	var changes []string
	writes, err := predictionWrites(tx)
	if err != nil {
		return nil, err
	}
	_, err = tx.Matrix(PredictionsMatrix)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		changes = append(changes, fmt.Sprintf("the predictions of run %d are no longer there", run.ID))
	case err != nil:
		return nil, err
	case writes != run.PredictionWrites:
		changes = append(changes, fmt.Sprintf("predictions were written after run %d began", run.ID))
	}
	if nodes := int64(tx.NumPresent()); nodes != run.Nodes {
		changes = append(changes, fmt.Sprintf("there are %d nodes, run %d saw %d", nodes, run.ID, run.Nodes))
	}
	if edges := tx.NumEdges(); edges != run.Edges {
		changes = append(changes, fmt.Sprintf("there are %d edges, run %d saw %d", edges, run.ID, run.Edges))
	}
	if run.Model == nil || run.Model.Calibration == nil { // it trusted no decision
		return changes, nil
	}
	_, reversals, err := decide.VerdictsAfter(ctx, tx, run.Decisions)
	if err != nil {
		return nil, err
	}
	if reversals > 0 {
		changes = append(changes, fmt.Sprintf("decisions that run %d trusted no longer hold: %d", run.ID, reversals))
	}
	return changes, nil
}
