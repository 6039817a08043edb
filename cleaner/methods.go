package cleaner

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/paper"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A trial is what a method is tried on: a graph with noisy labels, and what a classifier predicts.
type trial struct {
	problem
	base      baseProblem // of the same graph, labels and splits, for methods that watch a classifier learn
	split     *Split      // of the nodes under test; nil: all labelled nodes are
	testNodes int         // nodes under test

	foreign bool // the predictions come from outside
}

// A judgement is what a method says of every node; only nodes under test are looked at.
type judgement struct {
	scores  []float64 // [n] by NodeID; the higher, the more suspect
	flagged []bool    // [n] by NodeID
	rate    float64   // share of mislabels, estimated; NaN if the method does not
}

func newJudgement(n int) *judgement {
	return &judgement{scores: make([]float64, n), flagged: make([]bool, n), rate: math.NaN()}
}

// A measured method scores nodes and flags some of them as mislabelled.
type measured struct {
	name string

	walks  bool // it is the pipeline of score, which needs diagonals
	trains bool // it trains the base classifier itself

	// check, if not nil, says that it cannot do with so many labelled nodes.
	check func(labels, classes int) error

	run func(ctx context.Context, t trial, opt Options) (*judgement, error)
}

// methods are all that Evaluate knows, in the order in which they are listed.
var methods = []measured{
	{name: "default", walks: true, trains: true, run: graphCleaner(nil)},
	{name: "paper", walks: true, run: graphCleaner(paper.Published)},
	{name: "confident-learning", run: splitApart(confidentLearning)},
	{name: "argmax", run: argmax},
	{name: "argmin", run: argmin},
	{name: "aum", trains: true, check: checkAreaUnderMargin, run: areaUnderMargin},
	{name: "dyb", run: splitApart(dynamicBootstrap)},
	{name: "labels-only", walks: true, run: graphCleaner(paper.LabelsOnly)},
	{name: "predictions-only", walks: true, run: graphCleaner(paper.PredictionsOnly)},
	{name: "no-transition", walks: true, run: graphCleaner(paper.NoTransition)},
}

// MethodNames are the methods that Evaluate knows. docs/detection/README.md describes them; each cites its source at
// its function. The presets are default and paper.
//
// All of them judge every labelled node, in the same way whichever nodes are measured. confident-learning and dyb take
// their thresholds from the nodes that they judge. They run once for each split, and once for the nodes of no split.
// The verdicts on all nodes are these verdicts together.
func MethodNames() []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// findMethod returns nil if there is none.
func findMethod(name string) *measured {
	if i := slices.IndexFunc(methods, func(m measured) bool { return m.name == name }); i >= 0 {
		return &methods[i]
	}
	return nil
}

// graphCleaner is the pipeline of score; flagged are the scores above the threshold.
func graphCleaner(by method.Method) func(context.Context, trial, Options) (*judgement, error) {
	return func(ctx context.Context, t trial, opt Options) (_ *judgement, err error) {
		opt.Method = by
		if opt, err = opt.withDefaults(); err != nil {
			return nil, err
		}
		if by == nil && t.foreign {
			mixture, _, combining := combine(ctx, &t.problem, &t.base, opt)
			if combining != nil {
				return nil, combining
			}
			defer func() { err = errors.Join(err, mixture.Detach()) }()
		}
		s, err := score(ctx, t.problem, opt)
		if err != nil {
			return nil, err
		}
		result := newJudgement(len(s.scores.Data))
		result.rate = s.rate
		for v, score := range s.scores.Data {
			result.scores[v] = float64(score)
			result.flagged[v] = result.scores[v] > s.threshold
		}
		return result, s.Close()
	}
}

// argmax flags a node when another class is strictly more probable than its label (find_predicted_neq_given of
// cleanlab).
func argmax(ctx context.Context, t trial, _ Options) (*judgement, error) {
	return t.flagWhere(ctx, func(own float32, row []float32) bool { return slices.Max(row) > own })
}

// argmin flags a node when no class is less probable than its label, the baseline of table 1 of arXiv:2306.00015 as its
// code computes it.
func argmin(ctx context.Context, t trial, _ Options) (*judgement, error) {
	return t.flagWhere(ctx, func(own float32, row []float32) bool { return slices.Min(row) == own })
}

// flagWhere scores nodes by the predicted chance that their label is wrong, and flags those of whom wrong holds; own is
// the prediction of the label.
func (t trial) flagWhere(ctx context.Context, wrong func(own float32, row []float32) bool) (*judgement, error) {
	result := newJudgement(len(t.labels))
	return result, t.eachTestNode(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		result.scores[v], result.flagged[v] = 1-float64(row[y]), wrong(row[y], row)
	})
}

// splitApart runs a method on the nodes of each split by themselves, and puts together what it says of them.
func splitApart(
	run func(context.Context, trial, Options) (*judgement, error),
) func(context.Context, trial, Options) (*judgement, error) {
	return func(ctx context.Context, t trial, opt Options) (*judgement, error) {
		result := newJudgement(len(t.labels))
		for split := range SplitUnused + 1 {
			t.split, t.testNodes = &split, 0
			for v := range t.labels {
				if t.isTested(kv.NodeID(v)) {
					t.testNodes++
				}
			}
			if t.testNodes == 0 {
				continue
			}
			one, err := run(ctx, t, opt)
			if err != nil {
				return nil, err
			}
			for v := range t.labels {
				if t.isTested(kv.NodeID(v)) {
					result.scores[v], result.flagged[v] = one.scores[v], one.flagged[v]
				}
			}
		}
		return result, nil
	}
}

// isTested says whether a node is under test.
func (t *trial) isTested(v kv.NodeID) bool {
	return t.labels[v] != kv.NoClass && (t.split == nil || t.splits[v] == *t.split)
}

// eachTestNode visits the nodes under test with their label and predictions [classes], ascending.
func (t trial) eachTestNode(ctx context.Context, visit func(v kv.NodeID, y kv.Class, row []float32)) error {
	return rowstore.Each(ctx, t.predictions, t.graph.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if t.isTested(v) {
				visit(v, t.labels[v], values[int(v-rows.First)*t.classes:][:t.classes])
			}
		}
		return nil
	})
}
