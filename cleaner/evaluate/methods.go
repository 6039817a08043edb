package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	door "github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A trial is a graph with noise and split drawn, and the predictions of a classifier.
type trial struct {
	cleaner.Trial
	lab   *cleaner.Lab
	nodes []kv.NodeID // that are measured: those with a label and a true one, in file order
	rate  float64     // share of wrong labels among them

	part *cleaner.Split // the nodes of this split alone are judged; nil: all labelled nodes are
}

// chooseNodes finds out which nodes are measured.
func (t *trial) chooseNodes() error {
	var wrong float64
	tested := false
	for v, err := range t.lab.Order {
		if err != nil {
			return err
		}
		truth, label := t.lab.Labels[v], t.Labels[v]
		if truth == kv.NoClass || label == kv.NoClass {
			continue
		}
		if t.nodes = append(t.nodes, v); label != truth {
			wrong++
		}
		tested = tested || t.Splits[v] == cleaner.SplitTest
	}
	t.rate = share(wrong, float64(len(t.nodes)))
	if !tested {
		return fmt.Errorf("no labelled node in the test split, want some to measure on: %w", cleaner.ErrNoLabels)
	}
	return nil
}

// A method scores the labelled nodes of a trial, flags some as mislabelled, and may estimate how many are.
type method struct {
	name string
	run  func(ctx context.Context, t *trial, m *Measurement) error
}

// methods are all that there are, in the order in which they are listed.
var methods = []method{
	{"default", clean(nil)},
	{"paper", clean(paper.Published)},
	{"confident-learning", splitApart(confidentLearning)},
	{"argmax", argmax},
	{"argmin", argmin},
	{"aum", areaUnderMargin},
	{"dyb", splitApart(dynamicBootstrap)},
	{"labels-only", clean(paper.LabelsOnly)},
	{"predictions-only", clean(paper.PredictionsOnly)},
	{"no-transition", clean(paper.NoTransition)},
}

// MethodNames are the methods that Run knows. docs/detection/README.md describes them; each cites its source at its
// function. The presets are default and paper.
//
// All of them judge every labelled node, in the same way whichever nodes are measured. confident-learning and dyb take
// their thresholds from the nodes that they judge. They run once for each split, and once for the nodes of no split.
// The verdicts on all nodes are these verdicts together.
func MethodNames() (names []string) {
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// clean scores as Clean does, and flags the scores above the threshold.
func clean(by door.Method) func(context.Context, *trial, *Measurement) error {
	return func(ctx context.Context, t *trial, m *Measurement) error {
		of, err := t.lab.Score(ctx, t.Trial, by)
		if err != nil {
			return err
		}
		m.Scores, m.MislabelRate = of.Scores, of.MislabelRate
		for v, score := range of.Scores {
			m.Flagged[v] = score > of.Threshold
		}
		return nil
	}
}

// argmax flags a node when another class is strictly more probable than its label (find_predicted_neq_given of
// cleanlab).
func argmax(ctx context.Context, t *trial, m *Measurement) error {
	return t.flagWhere(ctx, m, func(own float32, row []float32) bool { return slices.Max(row) > own })
}

// argmin flags a node when no class is less probable than its label, the baseline of table 1 of arXiv:2306.00015 as its
// code computes it.
func argmin(ctx context.Context, t *trial, m *Measurement) error {
	return t.flagWhere(ctx, m, func(own float32, row []float32) bool { return slices.Min(row) == own })
}

// flagWhere scores nodes by the predicted chance that their label is wrong, and flags those of whom wrong holds; own is
// the prediction of the label.
func (t *trial) flagWhere(ctx context.Context, m *Measurement, wrong func(own float32, row []float32) bool) error {
	return t.each(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		m.Scores[v], m.Flagged[v] = 1-float64(row[y]), wrong(row[y], row)
	})
}

// splitApart runs a method on the nodes of each split by themselves.
func splitApart(
	run func(context.Context, *trial, *Measurement) error,
) func(context.Context, *trial, *Measurement) error {
	return func(ctx context.Context, t *trial, m *Measurement) error {
		for split := range cleaner.SplitUnused + 1 {
			part := *t
			if part.part = &split; !slices.Contains(t.Splits, split) {
				continue
			}
			if err := run(ctx, &part, m); err != nil {
				return err
			}
		}
		return nil
	}
}

// each visits the nodes that are judged with their label and predictions [classes], ascending.
func (t *trial) each(ctx context.Context, visit func(v kv.NodeID, y kv.Class, row []float32)) error {
	return rowstore.EachRow(ctx, t.Predictions, len(t.Labels), 1, func(v kv.NodeID, row []float32) error {
		if y := t.Labels[v]; y != kv.NoClass && (t.part == nil || t.Splits[v] == *t.part) {
			visit(v, y, row)
		}
		return nil
	})
}
