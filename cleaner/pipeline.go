package cleaner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A problem is what one cleaning works on. Clean reads it from a store; Evaluate replaces the labels by noisy ones.
type problem struct {
	graph       ops.Graph
	diagonals   *ops.Diagonals // of at least Options.Hops hops; nil: score computes them
	order       []kv.NodeID    // [n] every node in the order of the node file: what is drawn at random is drawn in it
	labels      []kv.Class     // [n] by NodeID, the given labels, which are under test
	classes     int
	splits      []Split    // [n] by NodeID
	predictions ops.Source // [n×classes], column j is Class j
	sizes       *ops.Sizes // of graph; nil: score measures them
}

// A variant is what a method changes in the pipeline; the zero value is PresetDefault in full.
type variant struct {
	preset Preset

	// withoutPredictions and withoutLabels leave the agreement with the predictions (P0 … PK) or with the labels (L1 …
	// LK) out of what the detector sees; not both.
	withoutPredictions, withoutLabels bool

	// uniformFlips plants uniformly over the other classes instead of by the transition matrix.
	uniformFlips bool
}

// scored is the outcome of score.
type scored struct {
	scores    []float64 // [n] by NodeID; NaN where the node is unlabelled
	features  []float32 // Z of the given labels [n×(2K+1)] by NodeID, unlabelled rows NaN; all columns in any variant
	hops      int       // K
	noise     noise
	fitting   int // nodes of the fitting set
	detectors []Detector
}

// score runs the pipeline of the package documentation on the labels of p: noise on the fitting set, planted mislabels,
// agreement features of the given and of the planted labels in one propagation, a detector a draw, and the mean of
// their scores for every labelled node. Only Hops, Seed, Workers, MemoryBudget, Progress and OnStage of opt are looked
// at.
//
// It fails with ErrNoLabels, ErrOneClass or ErrFewFittingNodes when the labels of the validation split do not suffice.
func score(ctx context.Context, p problem, v variant, opt Options) (*scored, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	fit := p.fittingNodes()
	if err := p.checkFitting(fit); err != nil {
		return nil, err
	}
	given := make([]kv.Class, len(fit))
	for r, u := range fit {
		given[r] = p.labels[u]
	}
	set := newNodeSet(fit)
	n, draws := p.graph.NumNodes(), v.preset.draws()
	if p.sizes == nil {
		if p.sizes, err = ops.Measure(ctx, p.graph, ops.Options{Workers: opt.Workers}); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, leastForScore(p.sizes, n, len(fit), draws, opt.Hops)); err != nil {
		return nil, err
	}

	began := time.Now()
	noise, err := fitNoise(ctx, p, set, given)
	if err != nil {
		return nil, err
	}
	opt.stage("noise", began)

	flip := FlipDistribution(noise.transition)
	if v.uniformFlips {
		flip = uniformFlips(p.classes)
	}
	tested, planted := []labelling{{labels: p.labels}}, [][]bool(nil)
	for d := range draws {
		labels, wrong := Synthesize(given, flip, sampleRate, opt.Seed+uint64(d))
		tested, planted = append(tested, labelling{nodes: set, labels: labels}), append(planted, wrong)
	}

	operators := opt.ops(scoringBytes(n, len(fit), draws))
	if p.diagonals == nil {
		if p.diagonals, err = ops.ComputeDiagonals(ctx, p.graph, opt.Hops, operators); err != nil {
			return nil, err
		}
	}
	z, err := gatherFeatures(ctx, p, tested, opt.Hops, operators)
	if err != nil {
		return nil, err
	}

	began = time.Now()
	columns := v.columns(opt.Hops)
	detectors, err := fitDetectors(ctx, z[1:], planted, featureWidth(opt.Hops), columns, opt)
	if err != nil {
		return nil, err
	}
	opt.stage("detector", began)

	began = time.Now()
	scores, err := meanScores(ctx, detectors, z[0], featureWidth(opt.Hops), columns, opt)
	if err != nil {
		return nil, err
	}
	opt.stage("score", began)
	return &scored{
		scores:    scores,
		features:  z[0],
		hops:      opt.Hops,
		noise:     noise,
		fitting:   len(fit),
		detectors: detectors,
	}, nil
}

// fittingNodes are the labelled nodes of the validation split, in file order.
func (p problem) fittingNodes() []kv.NodeID {
	var fit []kv.NodeID
	for _, v := range p.order {
		if p.labels[v] != kv.NoClass && p.splits[v] == SplitValidation {
			fit = append(fit, v)
		}
	}
	return fit
}

// leastFitting is the fewest nodes that noise and detector are fitted on. It is far below what they need to be good.
const leastFitting = 8

// checkFitting says what the fitting set lacks.
func (p problem) checkFitting(fit []kv.NodeID) error {
	if len(fit) < leastFitting {
		if !slices.ContainsFunc(p.labels, func(y kv.Class) bool { return y != kv.NoClass }) {
			return fmt.Errorf("nothing to clean: %w", ErrNoLabels)
		}
		return fmt.Errorf("%d labelled nodes in the validation split, want at least %d: %w",
			len(fit), leastFitting, ErrFewFittingNodes)
	}
	first := p.labels[fit[0]]
	if !slices.ContainsFunc(fit, func(v kv.NodeID) bool { return p.labels[v] != first }) {
		return fmt.Errorf("the %d labelled nodes of the validation split, want at least two classes: %w",
			len(fit), ErrOneClass)
	}
	return nil
}

// fitNoise reads the predictions of the fitting nodes twice: for the thresholds, then for the confident joint. They are
// taken in ascending NodeID, so that sums run in one order.
func fitNoise(ctx context.Context, p problem, fit *nodeSet, given []kv.Class) (noise, error) {
	n, c := p.graph.NumNodes(), p.classes
	each := func(visit func(y kv.Class, row []float32)) error {
		return eachRows(ctx, p.predictions, n, 1, func(rows kv.Range, values []float32) error {
			for _, r := range fit.within(rows) {
				at := int(fit.nodes[r]-rows.First) * c
				visit(given[r], values[at:at+c])
			}
			return nil
		})
	}
	sums := newThresholdSum(c)
	if err := each(func(y kv.Class, row []float32) { sums.add(y, float64(row[y])) }); err != nil {
		return noise{}, err
	}
	thresholds, joint := sums.thresholds(), newMatrix(c)
	err := each(func(y kv.Class, row []float32) {
		if j := confidentClass(row, thresholds); j != kv.NoClass {
			joint[y][j]++
		}
	})
	if err != nil {
		return noise{}, err
	}
	return newNoise(sums.count, thresholds, joint), nil
}

// columns are the agreement features that the detector sees, ascending.
func (v variant) columns(hops int) []int {
	var columns []int
	for f := range featureWidth(hops) {
		if prediction := f <= hops; prediction && !v.withoutPredictions || !prediction && !v.withoutLabels {
			columns = append(columns, f)
		}
	}
	return columns
}

// selectColumns copies columns of z [rows×width]; z itself when they are all of them.
func selectColumns(z []float32, width int, columns []int) []float32 {
	if len(columns) == width {
		return z
	}
	selected := make([]float32, 0, len(z)/width*len(columns))
	for at := 0; at < len(z); at += width {
		for _, f := range columns {
			selected = append(selected, z[at+f])
		}
	}
	return selected
}

// fitDetectors fits a detector on each draw: z[d] the features of the fitting set [rows×width], planted[d] which of its
// labels are planted.
func fitDetectors(
	ctx context.Context, z [][]float32, planted [][]bool, width int, columns []int, opt Options,
) ([]Detector, error) {
	detectors := make([]Detector, len(z))
	var (
		telling sync.Mutex // Progress is called from one goroutine at a time
		fitted  int64
	)
	err := ops.Parallel(ctx, ops.Workers(opt.Workers), len(z), func(ctx context.Context, _, d int) (err error) {
		rows := selectColumns(z[d], width, columns)
		detectors[d], err = FitDetector(ctx, rows, len(columns), planted[d], DetectorOptions{Seed: opt.Seed + uint64(d)})
		if err != nil {
			return fmt.Errorf("detector %d of %d: %w", d+1, len(detectors), err)
		}
		telling.Lock()
		defer telling.Unlock()
		fitted++
		opt.progress("detector", fitted, int64(len(detectors)))
		return nil
	})
	return detectors, err
}

// scoreRows is how many rows a detector scores at once.
const scoreRows = 4096

// meanScores is the mean of the detectors' scores for every row of z; NaN rows score NaN. The mean is rounded to
// float32, as it is stored, so that thresholds mean the same before and after.
func meanScores(
	ctx context.Context, detectors []Detector, z []float32, width int, columns []int, opt Options,
) ([]float64, error) {
	n := len(z) / width
	scores := make([]float64, n)
	blocks := (n + scoreRows - 1) / scoreRows
	ofOne := make([][]float64, ops.Workers(opt.Workers)) // scores of one detector, by worker
	err := ops.Parallel(ctx, len(ofOne), blocks, func(_ context.Context, worker, b int) error {
		first, end := b*scoreRows, min((b+1)*scoreRows, n)
		if ofOne[worker] == nil {
			ofOne[worker] = make([]float64, min(scoreRows, n))
		}
		one := ofOne[worker][:end-first]
		rows := selectColumns(z[first*width:end*width], width, columns)
		sum := scores[first:end]
		for d := range detectors {
			detectors[d].Score(rows, len(columns), one)
			for i, s := range one {
				sum[i] += s
			}
		}
		for i := range sum {
			sum[i] = float64(float32(sum[i] / float64(len(detectors))))
		}
		return nil
	})
	return scores, err
}

// suspects counts scores above a threshold; NaN is not.
func suspects(scores []float64, threshold float64) (count int64) {
	for _, s := range scores {
		if s > threshold {
			count++
		}
	}
	return count
}

// suggest returns for every node the class that is predicted for it, ties to the lower class, and its probability [n].
func suggest(
	ctx context.Context, predictions ops.Source, n int, opt Options,
) (suggested []kv.Class, confidence []float32, err error) {
	suggested, confidence = make([]kv.Class, n), make([]float32, n)
	c := predictions.Width()
	err = eachRows(ctx, predictions, n, opt.Workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			suggested[v], confidence[v] = largest(values[int(v-rows.First)*c:][:c])
		}
		return nil
	})
	return suggested, confidence, err
}

// largest is the class with the largest prediction, ties to the lower class, and that prediction; NoClass and −∞ of
// none.
func largest(row []float32) (best kv.Class, most float32) {
	best, most = kv.NoClass, float32(math.Inf(-1))
	for j, p := range row {
		if p > most {
			best, most = kv.Class(j), p
		}
	}
	return best, most
}
