package cleaner

import (
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A keptFit is what a run keeps beside its label model, so that labels can be scored later as it has
// scored them. Graph, labels and predictions may have changed since.
type keptFit struct {
	Counts []float64 // nodes by given label [c], which rank the classes
	Taught []int     // nodes that the base classifier learned by label [c], 2 for more; nil if it has learned from others
	Lone   []uint32  // of a class of which it learned one node, that node, else kv.NoNode [c]
}

// keep is what is to be kept of the problem.
func (p problem) keep() keptFit {
	kept := keptFit{Counts: countLabels(p.labels, p.classes)}
	if p.taught == nil {
		return kept
	}
	kept.Taught, kept.Lone = make([]int, p.classes), make([]uint32, p.classes)
	for k, count := range p.taught {
		kept.Taught[k], kept.Lone[k] = min(count, 2), uint32(kv.NoNode)
	}
	for v, label := range p.labels {
		if label != kv.NoClass && p.taught[label] == 1 && p.teaches(kv.NodeID(v)) {
			kept.Lone[label] = uint32(v)
		}
	}
	return kept
}

// lastFit is the last run; ErrNoModel if it cannot score.
func lastFit(tx *kv.Tx) (*Run, error) {
	run, err := LastRun(tx)
	if err != nil {
		return nil, err
	}
	if run.Model == nil {
		return nil, fmt.Errorf("run %d: %w", run.ID, ErrNoModel)
	}
	c, kept := len(run.Classes), &run.kept
	if names := tx.Classes(); c > len(names) || !slices.Equal(run.Classes, names[:c]) {
		return nil, fmt.Errorf("run %d: its classes are not those of the store: %w", run.ID, kv.ErrCorrupt)
	}
	if len(kept.Counts) != c || kept.Taught != nil && (len(kept.Taught) != c || len(kept.Lone) != c) {
		return nil, fmt.Errorf("run %d: what it keeps is not of %d classes: %w", run.ID, c, kv.ErrCorrupt)
	}
	return run, nil
}

// problem is the graph of a snapshot with its labels, as the run, which is the last, sees them: it knows no class that was first used after
// it, and no label of a node without predictions is under test.
func (r *Run) problem(tx *kv.Tx) (p problem, err error) {
	p = problem{classes: len(r.Classes), names: r.Classes, order: tx.InFileOrder(), kept: &r.kept, graph: graphOf(tx)}
	if p.labels, err = readLabels(tx); err != nil {
		return p, err
	}
	if p.predictions, err = r.predictions(tx); err != nil {
		return p, err
	}
	for v, label := range p.labels {
		p.labels[v] = r.class(label)
	}
	return p, nil
}

// class is a class of the store as the run knows it: kv.NoClass if it was first used after the run.
func (r *Run) class(label kv.Class) kv.Class {
	if int(label) >= len(r.Classes) {
		return kv.NoClass
	}
	return label
}

// predictions are those that the run, which is the last, scores by, with its classes. The row of a node without
// predictions is NaN.
func (r *Run) predictions(tx *kv.Tx) (ops.Source, error) {
	matrix, err := r.mixture(tx)
	if err == nil && matrix == nil {
		matrix, err = tx.Matrix(PredictionsMatrix)
	}
	if err != nil {
		return nil, err
	}
	return inOrderOf(matrix, r.Classes), nil
}

// isUntaught is problem.isUntaught by what was kept.
func (k *keptFit) isUntaught(v kv.NodeID, label kv.Class) bool {
	if k.Taught == nil || label == kv.NoClass {
		return false
	}
	return k.Taught[label] == 0 || k.Lone[label] == uint32(v)
}
