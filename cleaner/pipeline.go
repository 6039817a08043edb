package cleaner

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A problem holds the data of one cleaning. Clean reads it from a store; a Lab replaces labels, splits and predictions.
type problem struct {
	graph       ops.Graph
	place       *workplace.Place
	diagonals   *ops.Diagonals // of at least Options.Hops hops; nil: score computes them
	order       nodeOrder      // of random draws
	labels      []kv.Class     // [n] by NodeID, the given labels, which are under test
	classes     int
	names       []string         // of the classes; nil: they have none
	splits      []Split          // [n] by NodeID
	drawn       bool             // splits were drawn
	storeSplits []Split          // the splits of the store [n]: whoever made predictions may have used them; nil: it has none
	predictions ops.Source       // [n×classes], column j is Class j
	verdicts    []decide.Verdict // ascending by node; people's verdicts on labels
	method      method.Method    // that is asked for; nil: the label model
	source      string           // SourceImported or SourceBuiltIn; "": the store has no predictions
	ownBase     bool             // the built-in classifier makes the predictions, or those that they are joined with
	crossFitted bool             // no prediction comes from a network that was trained on the label of its node
	joined      *classifier      // of the predictions of combine, which these are then; nil: they are not
	sizes       *ops.Sizes       // of graph; nil: score measures them
	neighbors   *NeighborCounts  // nil: they are not counted yet

	// kept belongs to the run whose model scores, or to the run to be made. tested are the labels under test [n] where
	// some nodes have no predictions, and those of the others; nil: all labels are under test.
	kept   *keptFit
	tested []kv.Class

	look *look // that scores are to follow; nil: none
}

// base is the problem of the base classifier, without features.
func (p *problem) base() *baseProblem {
	return &baseProblem{
		graph: p.graph, labels: p.labels, order: p.order, splits: p.splits, drawn: p.drawn, classes: p.classes, place: p.place, sizes: p.sizes,
		neighbors: p.neighbors,
	}
}

// underTest are the labels that are scored [n].
func (p *problem) underTest() []kv.Class {
	if p.tested != nil {
		return p.tested
	}
	return p.labels
}

// scoring is the outcome of score.
type scoring struct {
	scores     *scratch.Array[float32]  // [n] by NodeID; NaN if the node is unlabelled
	suggested  *scratch.Array[kv.Class] // [n]
	confidence *scratch.Array[float32]  // [n]: how sure that is
	fitting    int                      // nodes of the fitting set
	rate       float64                  // share of mislabels, estimated
	threshold  float64                  // above it a node is a suspect

	joint *classmatrix.Matrix // of a method that is not the label model; see Run.Joint
	model *labelmodel.Model
}

// Close gives the arrays back.
func (s *scoring) Close() error {
	return errors.Join(s.scores.Close(), s.suggested.Close(), s.confidence.Close())
}

// newScoring has arrays of zeros.
func (s *stages) newScoring(fitting int) (r *scoring, err error) {
	r = &scoring{fitting: fitting}
	dir, n := s.place.Scratch(), len(s.labels)
	if r.scores, err = scratch.New[float32](dir, "score", n); err == nil {
		r.suggested, err = scratch.New[kv.Class](dir, "suggested", n)
	}
	if err == nil {
		r.confidence, err = scratch.New[float32](dir, "confidence", n)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// score runs the pipeline of the package documentation on the labels of p: agreement features of the given labels and
// of those they are compared with in one propagation, a label model or opt.Method, and the score of every labelled
// node. The caller closes the result.
//
// It fails with ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes when the labels of the fitting set do not
// suffice.
func score(ctx context.Context, p problem, opt Options) (result *scoring, err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	p.method = opt.Method
	fitting, operators, err := p.check(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := limitSeries(p.graph, operators.MemoryBudget); err != nil {
		return nil, err
	}
	work := stages{problem: p, opt: opt, operators: operators}
	return work.run(ctx, fitting)
}

// check counts the fitting nodes for score, and returns the options of its operators. The error says that the nodes are
// too few, or the budget is too small.
func (p *problem) check(ctx context.Context, opt Options) (fitting int, operators ops.Options, err error) {
	p.kept = p.keep()
	if fitting, err = p.checkFitting(); err != nil {
		return 0, operators, err
	}
	if p.sizes == nil {
		if p.sizes, err = ops.Measure(ctx, p.graph, opt.ops(0)); err != nil {
			return 0, operators, err
		}
	}
	n := p.graph.NumNodes()
	if operators, err = p.requireForScore(opt, n, fitting); err != nil {
		return 0, operators, err
	}
	opt.stage("count")
	return fitting, operators, nil
}

// computeDiagonals computes the diagonals of score before anything is trained: they may cost too much. The caller
// closes them.
func (p *problem) computeDiagonals(ctx context.Context, opt Options) (*workplace.Diagonals, error) {
	_, operators, err := p.check(ctx, opt)
	if err != nil {
		return nil, err
	}
	held, err := p.place.Diagonals(ctx, p.graph, opt.Hops, operators)
	if err != nil {
		return nil, err
	}
	opt.stage("keep")
	p.diagonals = held.Diagonals
	return held, nil
}

// requireForScore returns the options of the operators of score, with the memory that it leaves, or an *ops.BudgetError
// if it wants more than its budget.
func (p *problem) requireForScore(opt Options, n, fitting int) (ops.Options, error) {
	least := leastForScore(p.method, p.sizes, n, fitting, p.classes, opt.Hops) + p.testedBytes()
	held := scoringBytes(p.method, n, fitting, p.classes) + p.testedBytes()
	return opt.ops(held), requireBudget("clean", opt.MemoryBudget, least)
}

// testedBytes is the memory of the labels under test beside the given ones.
func (p *problem) testedBytes() int64 { return labelBytes * int64(len(p.tested)) }

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

// stages runs the pipeline of score one stage after the other.
type stages struct {
	problem
	opt       Options
	operators ops.Options // with the memory that the stages leave

	// only is the label model of a run that scores anew: of the agreement features, those over walks are computed that
	// have a weight in it. nil: all are.
	only *labelmodel.Model

	ownDiagonals *workplace.Diagonals // where they are not the problem's
}

// run is score, once it is known that it can be done.
func (s *stages) run(ctx context.Context, fitting int) (_ *scoring, err error) {
	defer func() { err = errors.Join(err, s.ownDiagonals.Close()) }()
	result, err := s.newScoring(fitting)
	if err != nil {
		return nil, err
	}
	if s.method == nil {
		err = s.posterior(ctx, result)
	} else {
		err = s.byMethod(ctx, result)
	}
	if err != nil {
		return nil, errors.Join(err, result.Close())
	}
	return result, nil
}

// byMethod is the pipeline of opt.Method.
func (s *stages) byMethod(ctx context.Context, result *scoring) (err error) {
	var sample *sample
	var z []*agreement
	defer func() { err = errors.Join(err, closeAll(z)) }()
	c := method.Case{
		Labels: s.underTest(), Classes: s.classes, Predictions: s.predictions, Hops: s.opt.Hops,
		IsFitting: s.isFitting, IsUntaught: s.isUntaught, Seed: s.opt.Seed, Workers: s.opt.Workers, Stage: s.opt.stage,
		Sample: func() (labels []kv.Class, order []uint32, err error) {
			sample, err = s.drawSample(s.method.SampleSize(result.fitting), result.fitting, s.opt.Seed)
			if err != nil {
				return nil, nil, err
			}
			return sample.labels, sample.order, nil
		},
		Features: func(ctx context.Context, sampled []kv.Class) (tested ops.Source, rows []float32, err error) {
			z, err = s.agreement(ctx, []labelling{{labels: s.underTest()}, {nodes: sample.nodes, labels: sampled}})
			if err != nil {
				return nil, nil, err
			}
			return z[0], z[1].values.Data, nil
		},
	}
	if err := s.suggest(ctx, nil, result); err != nil {
		return err
	}
	found, err := s.method.Score(ctx, &c, result.scores.Data)
	if err != nil {
		return err
	}
	result.joint, result.rate, result.threshold = found.Joint, found.Rate, cmp.Or(s.opt.Threshold, found.Threshold)
	return nil
}

// agreement computes the agreement features of labels under test, the given ones first.
func (s *stages) agreement(ctx context.Context, labellings []labelling) (z []*agreement, err error) {
	graph, free := inSeries(s.graph)
	defer func() { err = errors.Join(err, free()) }()
	if err := s.needDiagonals(ctx, graph); err != nil {
		return nil, err
	}
	p := s.problem
	if p.graph = graph; p.tested != nil {
		p.predictions = zeroMissing{p.predictions} // a node without predictions adds nothing to those around it
	}
	z, err = p.gather(ctx, labellings, s.opt.Hops, s.reach(), width(s.method, s.opt.Hops), s.operators)
	if err != nil {
		return nil, err
	}
	s.opt.stage("features")
	return z, limitSeries(graph, 0)
}

// reach is the most hops of the features that are computed.
func (s *stages) reach() int {
	if s.only != nil {
		return s.only.Reach()
	}
	return s.opt.Hops
}

// needDiagonals computes them where that was not done.
func (s *stages) needDiagonals(ctx context.Context, g ops.Graph) (err error) {
	if s.diagonals != nil {
		return nil
	}
	if s.ownDiagonals, err = s.place.Diagonals(ctx, g, s.reach(), s.operators); err != nil {
		return err
	}
	s.opt.stage("keep")
	s.diagonals = s.ownDiagonals.Diagonals
	return nil
}

// countLabels counts the nodes by given label [classes].
func countLabels(labels []kv.Class, classes int) []float64 {
	counts := make([]float64, classes)
	for _, y := range labels {
		if y != kv.NoClass {
			counts[y]++
		}
	}
	return counts
}

// A poll counts the votes of nodes by given label, fastest where they ascend. One goroutine.
type poll struct {
	graph  ops.Graph
	blocks []kv.Range
	labels []kv.Class
	lists  kv.Adjacency // of a block
	votes  []float64    // zero except for voters
	voters []kv.Class
}

func newPoll(of *problem) (*poll, error) {
	blocks, err := of.graph.AdjacencyBlocks()
	return &poll{graph: of.graph, blocks: blocks, labels: of.labels, votes: make([]float64, of.classes)}, err
}

// of returns the votes around a node, borrowed until the next call.
func (p *poll) of(v kv.NodeID) ([]float64, error) {
	for _, k := range p.voters {
		p.votes[k] = 0
	}
	p.voters = p.voters[:0]
	if v < p.lists.First || v >= p.lists.End {
		block := p.blocks[sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].End > v })]
		if err := p.graph.ReadAdjacency(block, &p.lists); err != nil {
			return nil, err
		}
	}
	votes, labels, voters := p.votes, p.labels, p.voters
	first, end := p.lists.Offsets[v-p.lists.First], p.lists.Offsets[v-p.lists.First+1]
	for i, u := range p.lists.Neighbors[first:end] {
		y := labels[u]
		if y == kv.NoClass {
			continue
		}
		weight := 1.0
		if p.lists.Weights != nil {
			weight = float64(p.lists.Weights[int(first)+i])
		}
		if votes[y] == 0 {
			voters = append(voters, y)
		}
		votes[y] += weight
	}
	p.voters = voters
	return votes, nil
}

// rankClasses ranks the classes of the problem, those of the same number of nodes by number where it has no names.
func (p *problem) rankClasses() []int32 {
	names := p.names
	if names == nil {
		names = make([]string, p.classes)
	}
	return labelmodel.RankClasses(p.kept.Counts, names)
}
