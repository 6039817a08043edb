package cleaner

import (
	"context"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A method scores nodes and flags some of them as mislabelled.
type method struct {
	name string
	// run returns scores [n] and flags [n] by NodeID; only those of labelled nodes are looked at.
	run func(ctx context.Context, p problem, opt Options) (scores []float64, flagged []bool, err error)
}

// methods are all that Evaluate knows, in the order in which they are listed.
var methods = []method{
	{"default", graphCleaner(variant{preset: PresetDefault})},
	{"paper", graphCleaner(variant{preset: PresetPaper})},
	{"confident-learning", confidentLearning},
	{"argmax", argmax},
	{"labels-only", graphCleaner(variant{preset: PresetPaper, withoutPredictions: true})},
	{"predictions-only", graphCleaner(variant{preset: PresetPaper, withoutLabels: true})},
	{"no-transition", graphCleaner(variant{preset: PresetPaper, uniformFlips: true})},
}

// MethodNames are the methods that Evaluate knows:
//
//   - default, paper: the presets;
//   - labels-only, predictions-only, no-transition: preset paper, whose detector sees only the agreement with the
//     labels or with the predictions, or whose mislabels are planted uniformly (table 3 of arXiv:2306.00015);
//   - confident-learning: a node is flagged when its confident class is not its label, ranked by the predicted
//     probability of the label (Northcutt, Jiang, Chuang, arXiv:1911.00068);
//   - argmax: a node is flagged when another class is strictly more probable than its label, ranked likewise.
func MethodNames() []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// methodNamed returns nil where there is none.
func methodNamed(name string) *method {
	if i := slices.IndexFunc(methods, func(m method) bool { return m.name == name }); i >= 0 {
		return &methods[i]
	}
	return nil
}

// graphCleaner is the pipeline of score; flagged are the scores above the threshold.
func graphCleaner(v variant) func(context.Context, problem, Options) ([]float64, []bool, error) {
	return func(ctx context.Context, p problem, opt Options) ([]float64, []bool, error) {
		opt, err := opt.withDefaults()
		if err != nil {
			return nil, nil, err
		}
		result, err := score(ctx, p, v, opt)
		if err != nil {
			return nil, nil, err
		}
		scores, flagged := make([]float64, len(p.labels)), make([]bool, len(p.labels))
		for u, s := range result.scores.Data {
			scores[u], flagged[u] = float64(s), float64(s) > opt.Threshold
		}
		return scores, flagged, result.Close()
	}
}

// confidentLearning takes its class thresholds from all labelled nodes, as there is no set apart for them.
func confidentLearning(ctx context.Context, p problem, opt Options) ([]float64, []bool, error) {
	sums := newThresholdSum(p.classes)
	err := p.eachLabelled(ctx, func(_ kv.NodeID, y kv.Class, row []float32) { sums.add(y, float64(row[y])) })
	if err != nil {
		return nil, nil, err
	}
	thresholds := sums.thresholds()
	return p.flagWhere(ctx, func(y kv.Class, row []float32) bool {
		confident := confidentClass(row, thresholds)
		return confident != kv.NoClass && confident != y
	})
}

func argmax(ctx context.Context, p problem, _ Options) ([]float64, []bool, error) {
	return p.flagWhere(ctx, func(y kv.Class, row []float32) bool { return slices.Max(row) > row[y] })
}

// flagWhere scores labelled nodes by the predicted chance that their label is wrong, and flags those of whom wrong
// holds.
func (p problem) flagWhere(ctx context.Context, wrong func(y kv.Class, row []float32) bool) ([]float64, []bool, error) {
	scores, flagged := make([]float64, len(p.labels)), make([]bool, len(p.labels))
	err := p.eachLabelled(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		scores[v], flagged[v] = 1-float64(row[y]), wrong(y, row)
	})
	return scores, flagged, err
}

// eachLabelled visits the labelled nodes with their label and predictions [classes], ascending.
func (p problem) eachLabelled(ctx context.Context, visit func(v kv.NodeID, y kv.Class, row []float32)) error {
	return eachRows(ctx, p.predictions, p.graph.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if y := p.labels[v]; y != kv.NoClass {
				visit(v, y, values[int(v-rows.First)*p.classes:][:p.classes])
			}
		}
		return nil
	})
}
