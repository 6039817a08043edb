package cleaner

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/detector"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A problem is what one cleaning works on. Clean reads it from a store; Evaluate replaces the labels by noisy ones.
type problem struct {
	graph       ops.Graph
	place       *workplace
	diagonals   *ops.Diagonals // of at least Options.Hops hops; nil: score computes them
	order       nodeOrder      // what is drawn at random is drawn in it
	labels      []kv.Class     // [n] by NodeID, the given labels, which are under test
	classes     int
	names       []string         // of the classes; nil: they have none
	splits      []Split          // [n] by NodeID
	drawn       bool             // splits were drawn
	storeSplits []Split          // the splits of the store [n]: whoever made predictions may have used them; nil: it has none
	taught      []int            // see countTaught; score sets it
	predictions ops.Source       // [n×classes], column j is Class j
	verdicts    []decide.Verdict // ascending by node; what people have said of labels
	preset      Preset           // that is asked for; "": none
	ownBase     bool             // the built-in classifier makes the predictions, or those that they are joined with
	crossFitted bool             // no prediction comes from a network that was trained on the label of its node
	joined      *classifier      // of the predictions of combine, which these are then; nil: they are not
	sizes       *ops.Sizes       // of graph; nil: score measures them
	arcs        []int64          // between the labels, by classes; nil: they are not counted yet, or the classes are too many

	// kept is what a run has kept whose model is that of the problem; nil: it has none. tested are the labels under
	// test [n] where some nodes have no predictions, and those of the others; nil: all labels are under test.
	kept   *keptFit
	tested []kv.Class

	look *look // that scores are to follow; nil: none
}

// base is the problem of the base classifier, without features.
func (p *problem) base() *baseProblem {
	return &baseProblem{
		graph: p.graph, labels: p.labels, order: p.order, splits: p.splits, drawn: p.drawn, classes: p.classes, place: p.place, sizes: p.sizes,
	}
}

// underTest are the labels that are scored [n].
func (p *problem) underTest() []kv.Class {
	if p.tested != nil {
		return p.tested
	}
	return p.labels
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

// scoring is the outcome of score.
type scoring struct {
	scores      *scratch.Array[float32] // [n] by NodeID; NaN if the node is unlabelled
	suggestions *suggestions            // of PresetDefault
	fitting     int                     // nodes of the fitting set
	rate        float64                 // share of mislabels, estimated
	threshold   float64                 // above it a node is a suspect

	detectors []detector.Detector // of PresetPaper
	joint     *classmatrix.Matrix // of PresetPaper; see confident.JointDistribution
	model     *labelmodel.Model   // of PresetDefault
}

// Close gives the arrays back; those of a run that are kept stay.
func (s *scoring) Close() error {
	return errors.Join(s.scores.Detach(), s.suggestions.Close())
}

// score runs the pipeline of the package documentation on the labels of p: noise on the fitting set, agreement features
// of the given labels and of those they are compared with in one propagation, a label model or a detector, and the
// score of every labelled node. Preset of opt is not looked at. The caller closes the result.
//
// It fails with ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes when the labels of the fitting set do not
// suffice.
func score(ctx context.Context, p problem, v variant, opt Options) (result *scoring, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	p.preset = v.preset
	fitting, operators, err := p.check(ctx, opt)
	if err != nil {
		return nil, err
	}
	if p.tested != nil {
		p.predictions = zeroMissing{p.predictions} // a node without predictions adds nothing to those around it
	}
	if err := limitSeries(p.graph, operators.MemoryBudget); err != nil {
		return nil, err
	}
	work := stages{problem: p, variant: v, opt: opt, operators: operators}
	return work.run(ctx, fitting)
}

// check counts the fitting nodes for score, and returns the options of its operators. The error says that the nodes are
// too few, or the budget is too small.
func (p *problem) check(ctx context.Context, opt Options) (fitting int, operators ops.Options, err error) {
	p.taught = p.countTaught()
	if fitting, err = p.checkFitting(); err != nil {
		return 0, operators, err
	}
	if p.sizes == nil {
		if p.sizes, err = ops.Measure(ctx, p.graph, opt.ops(0)); err != nil {
			return 0, operators, err
		}
	}
	n := p.graph.NumNodes()
	least := leastForScore(p.preset, p.sizes, n, fitting, p.classes, opt.Hops)
	if err := p.requireForScore(opt, least, MatrixBytes(p.preset, p.classes, fitting)); err != nil {
		return 0, operators, err
	}
	opt.stage("count")
	return fitting, opt.ops(scoringBytes(p.preset, n, fitting, p.classes) + p.testedBytes()), nil
}

// computeDiagonals computes the diagonals of score before anything is trained: they may cost too much. The caller
// closes them.
func (p *problem) computeDiagonals(ctx context.Context, opt Options) (*heldDiagonals, error) {
	_, operators, err := p.check(ctx, opt)
	if err != nil {
		return nil, err
	}
	held, err := p.place.diagonals(ctx, p.graph, opt.Hops, operators)
	if err != nil {
		return nil, err
	}
	opt.stage("keep")
	p.diagonals = held.Diagonals
	return held, nil
}

// requireForScore returns an *ops.BudgetError if score wants more than its budget, of which matrices between classes
// take some.
func (p *problem) requireForScore(opt Options, least, matrices int64) error {
	return requireBudget("clean", opt.MemoryBudget, least+p.testedBytes(), p.classes, matrices)
}

// testedBytes is what the labels under test take beside the given ones.
func (p *problem) testedBytes() int64 { return labelBytes * int64(len(p.tested)) }

// jointDistribution is that of the fitting nodes. It reads their predictions twice, on all workers: for the thresholds,
// whose sums run in ascending NodeID, then for the confident joint, whose counts may be added in any order.
func (p *problem) jointDistribution(ctx context.Context, workers int) (*classmatrix.Matrix, error) {
	c := p.classes
	sums, err := p.thresholdSums(ctx, workers)
	if err != nil {
		return nil, err
	}
	thresholds, counts := sums.Thresholds(), make(map[uint64]uint32)
	var adding sync.Mutex
	err = rowstore.Each(ctx, p.predictions, p.graph.NumNodes(), workers, func(rows kv.Range, values []float32) error {
		var confidently []uint64 // given·c + true class
		for v := rows.First; v < rows.End; v++ {
			if !p.isFitting(v) {
				continue
			}
			if j := confident.Class(values[int(v-rows.First)*c:][:c], p.labels[v], thresholds); j != kv.NoClass {
				confidently = append(confidently, uint64(p.labels[v])*uint64(c)+uint64(j))
			}
		}
		adding.Lock()
		defer adding.Unlock()
		for _, pair := range confidently {
			counts[pair]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return confident.JointDistribution(classmatrix.OfCounts(c, counts), sums.Count), nil
}

// thresholdSums gathers the predictions that the fitting nodes have of their own labels.
func (p *problem) thresholdSums(ctx context.Context, workers int) (*confident.ThresholdSum, error) {
	type own struct {
		values []float32 // of some rows
		labels []kv.Class
		chance []float32 // that the label is right
	}
	n, c := p.graph.NumNodes(), p.classes
	step, sums := rowstore.AtOnce(c), confident.NewThresholdSum(c)
	err := inOrder(ctx, workers, (n+step-1)/step,
		func(block int, into *own) error {
			rows := kv.Range{First: kv.NodeID(block * step), End: kv.NodeID(min((block+1)*step, n))}
			into.values = float32s.Resize(into.values, int(rows.End-rows.First)*c)
			into.labels, into.chance = into.labels[:0], into.chance[:0]
			if err := p.predictions.Read(rows, 0, c, into.values); err != nil {
				return err
			}
			for v := rows.First; v < rows.End; v++ {
				if p.isFitting(v) {
					y := p.labels[v]
					into.labels = append(into.labels, y)
					into.chance = append(into.chance, into.values[int(v-rows.First)*c+int(y)])
				}
			}
			return nil
		},
		func(_ int, from *own) error {
			for i, y := range from.labels {
				sums.Add(y, float64(from.chance[i]))
			}
			return nil
		})
	return sums, err
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

// scoreRows is how many rows a detector scores at once.
const scoreRows = 4096

// meanScores writes the mean of the detectors' scores for every row of z to scores; NaN rows score NaN. The mean is
// rounded to float32, as it is stored, so that thresholds mean the same before and after. Of the rows that untaught
// reports, nil for none, the agreement with predictions is taken to be that of the mean fitting node.
func meanScores(
	ctx context.Context, detectors []detector.Detector, z ops.Source, columns []int, untaught func(v kv.NodeID) bool, opt Options,
	scores []float32,
) error {
	n := len(scores)
	blocks := (n + scoreRows - 1) / scoreRows
	type scratch struct {
		rows     []float32 // [scoreRows×width] as stored
		one, sum []float64 // scores of one detector, and of all
		scorer   detector.Scorer
	}
	workers := make([]scratch, parallel.Workers(opt.Workers))
	return parallel.Do(ctx, len(workers), blocks, func(_ context.Context, worker, b int) error {
		s := &workers[worker]
		rows := kv.Range{First: kv.NodeID(b * scoreRows), End: kv.NodeID(min((b+1)*scoreRows, n))}
		count := int(rows.End - rows.First)
		s.rows = float32s.Resize(s.rows, count*z.Width())
		if s.one == nil {
			s.one, s.sum = make([]float64, scoreRows), make([]float64, scoreRows)
		}
		if err := z.Read(rows, 0, z.Width(), s.rows); err != nil {
			return err
		}
		inputs := selectColumns(s.rows, z.Width(), columns)
		one, sum := s.one[:count], s.sum[:count]
		clear(sum)
		for d := range detectors {
			for i := range count {
				if untaught == nil || !untaught(rows.First+kv.NodeID(i)) {
					continue
				}
				for j, f := range columns {
					if f <= opt.Hops {
						inputs[i*len(columns)+j] = float32(detectors[d].Mean[j])
					}
				}
			}
			s.scorer.Score(&detectors[d], inputs, len(columns), one)
			for i, x := range one {
				sum[i] += x
			}
		}
		for i, x := range sum {
			scores[int(rows.First)+i] = float32(x / float64(len(detectors)))
		}
		return nil
	})
}

// selectColumns moves some columns of z [rows×width], ascending, together in z, and returns that part.
func selectColumns(z []float32, width int, columns []int) []float32 {
	if len(columns) == width {
		return z
	}
	to := 0
	for at := 0; at < len(z); at += width {
		for _, f := range columns {
			z[to] = z[at+f]
			to++
		}
	}
	return z[:to]
}

// largest is the class with the largest prediction, and that prediction; NoClass and −∞ of none. tied says that another
// class, of a higher number, has the same.
func largest[F float32 | float64](row []F) (best kv.Class, most F, tied bool) {
	best, most = kv.NoClass, F(math.Inf(-1))
	for j, p := range row {
		switch {
		case p > most:
			best, most, tied = kv.Class(j), p, false
		case p == most:
			tied = true
		}
	}
	return best, most, tied
}
