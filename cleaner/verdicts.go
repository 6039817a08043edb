package cleaner

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mostVerdicts bounds how many verdicts are taken in: as many say all that verdicts can say.
const mostVerdicts = 1 << 16

// A labelVerdict is what a person has said of the label that a node was given: that it is right, or that the label which
// the node has now is. Now is kv.NoClass where it has none. Score is that of the node when it was decided on first, by run,
// and NaN where that was no chance.
type labelVerdict struct {
	node       kv.NodeID
	given, now kv.Class
	score      float64
	run        int64
}

// readVerdicts returns what the decisions in force say of the labels before all decisions, ascending by node. Where a
// label was changed since by other means, or there was none, nothing is said.
func readVerdicts(ctx context.Context, tx *kv.Tx, labels []kv.Class) ([]labelVerdict, error) {
	if _, ok := tx.Column(DecisionColumn); !ok {
		return nil, nil
	}
	decisions, err := tx.Reader(DecisionColumn)
	if err != nil {
		return nil, err
	}
	var verdicts []labelVerdict
	classes, calibrated := classNumbers(tx.Classes()), make(map[int64]bool)
	for v := range kv.NodeID(len(labels)) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		decision, err := decisions.At(v)
		if err != nil {
			return nil, err
		}
		if decision.IsNull() {
			continue
		}
		said, ok, err := verdictOn(tx, v, labels[v], 0, classes)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if _, ok := calibrated[said.run]; !ok {
			run, err := readRun(tx, runKey(said.run))
			if err != nil && !errors.Is(err, kv.ErrNotFound) {
				return nil, err
			}
			calibrated[said.run] = err == nil && run.Model != nil && run.Model.Calibration != nil
		}
		if !calibrated[said.run] {
			said.score = math.NaN()
		}
		if verdicts = append(verdicts, said); len(verdicts) == mostVerdicts {
			break
		}
	}
	return verdicts, nil
}

// classNumbers are the numbers of classes by name.
func classNumbers(classes []string) map[string]kv.Class {
	numbers := make(map[string]kv.Class)
	for k, name := range classes {
		numbers[name] = kv.Class(k)
	}
	return numbers
}

// verdictOn is what the entries of a node after one say of the label that it had then. ok is false where they say nothing:
// there are none, or they were taken back, or they are unsure, or there was no label, or it was changed since by other means.
func verdictOn(
	tx *kv.Tx, v kv.NodeID, now kv.Class, after int64, classes map[string]kv.Class,
) (said labelVerdict, ok bool, err error) {
	var first, last *Decision
	for seq, err := range entriesOf(tx, v) {
		if err != nil {
			return said, false, err
		}
		if seq <= after {
			continue
		}
		d, err := readDecision(tx, seq)
		if err != nil {
			return said, false, err
		}
		if first == nil {
			first = &d.Decision
		}
		last = &d.Decision
	}
	if first == nil || last.After == NoDecision || last.After == Unsure {
		return said, false, nil
	}
	given, known := classes[first.From]
	to := kv.NoClass
	if last.To != "" {
		if to, ok = classes[last.To]; !ok {
			return said, false, nil
		}
	}
	return labelVerdict{node: v, given: given, now: now, score: first.Score, run: first.Run}, known && to == now, nil
}

// ErrNoCalibration says that the last run does not know how its scores were calibrated: it was made by an earlier version,
// or with PresetPaper.
var ErrNoCalibration = errors.New("the last run keeps no calibration")

// sinceRun calls visit for the nodes that were decided on after a run began, in the order of the history, with what the
// decisions say of the label that the run saw.
func sinceRun(ctx context.Context, tx *kv.Tx, run *Run, visit func(labelVerdict) error) error {
	reader, err := tx.Reader(kv.LabelColumn)
	if err != nil {
		return err
	}
	seen, classes := make(map[kv.NodeID]bool), classNumbers(tx.Classes())
	for d, err := range historyRecords(ctx, tx, run.Decisions+1) {
		if err != nil {
			return err
		}
		if seen[d.Node] {
			continue
		}
		if seen[d.Node] = true; len(seen) > mostVerdicts {
			return nil
		}
		label, err := reader.At(d.Node)
		if err != nil {
			return fmt.Errorf("label of node number %d: %w", d.Node, err)
		}
		now := kv.NoClass
		if !label.IsNull() {
			now = classes[label.Str()]
		}
		said, ok, err := verdictOn(tx, d.Node, now, run.Decisions, classes)
		if err != nil {
			return err
		}
		if ok {
			if err := visit(said); err != nil {
				return err
			}
		}
	}
	return nil
}
