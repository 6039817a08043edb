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
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/workplace"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A problem is a graph with labels, and all that is known of them. Clean reads it from a store; a Lab replaces labels,
// splits and predictions.
type problem struct {
	graph   ops.Graph
	place   *workplace.Place
	order   nodeOrder  // of random draws
	labels  []kv.Class // [n] by NodeID, the given labels, which are under test
	classes int
	names   []string // of the classes; nil: they have none
	splits  []Split  // [n] by NodeID
	drawn   bool     // splits were drawn: the store has none, or none that fit
	// the splits of the store [n]: whoever made predictions may have used them; nil: it has none
	storeSplits []Split
	predictions ops.Source       // [n×classes], column j is Class j
	verdicts    []decide.Verdict // ascending by node; people's verdicts on labels
	method      method.Method    // that is asked for; nil: the label model
	source      string           // SourceImported or SourceBuiltIn; "": the store has no predictions
	crossFitted bool             // no prediction comes from a classifier that was trained on the label of its node
	joined      *classifier      // of the predictions of combine, which these are then; nil: they are not

	// kept belongs to the run whose model scores, or to the run to be made. tested are the labels under test [n] where
	// some nodes have no predictions, and those of the others; nil: all labels are under test.
	kept   *keptFit
	tested []kv.Class

	fitting int   // nodes of the fitting set: see countFitting
	few     error // what it lacks; nil: nothing

	look *look // that scores are to follow; nil: none

	features ops.Source // [n×d] of the built-in classifier; nil: it has structure alone
	keptHops int        // over how many hops a kept classifier has gathered training labels; 0: there is none

	sizes     *ops.Sizes      // of graph; nil until measured
	neighbors *NeighborCounts // nil until counted
	diagonals *ops.Diagonals  // of at least Options.Hops hops; nil: score computes them
}

// problemOf is the graph of a snapshot with the given labels.
func problemOf(tx *kv.Tx) (p problem, err error) {
	p = problem{graph: graphOf(tx), order: tx.InFileOrder(), classes: len(tx.Classes()), names: tx.Classes()}
	p.labels, err = readLabels(tx)
	return p, err
}

// measure measures the graph, once.
func (p *problem) measure(ctx context.Context, opt ops.Options) (err error) {
	if p.sizes == nil {
		p.sizes, err = ops.Measure(ctx, p.graph, opt)
	}
	return err
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
func (s *stages) newScoring() (r *scoring, err error) {
	r = &scoring{}
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
// node. by is the label model of a run that scores anew; nil: one is fitted. The caller closes the result.
//
// It fails with ErrNoLabels, ErrOneClass, ErrFewLabels or ErrFewFittingNodes when the labels of the fitting set do not
// suffice.
func (p problem) score(ctx context.Context, opt Options, by *labelmodel.Model) (_ *scoring, err error) {
	var free func() error
	p.graph, free = inSeries(p.graph)
	defer func() { err = errors.Join(err, free()) }()
	work, err := p.begin(ctx, opt, by)
	if err != nil {
		return nil, err
	}
	return work.run(ctx)
}

// largest is the class with the largest prediction, and that prediction; NoClass and NaN of none. tied says that
// another class, of a higher number, has the same.
func largest(row []float32) (best kv.Class, most float32, tied bool) {
	best, most = kv.NoClass, float32(math.NaN())
	for j, p := range row {
		switch {
		case p > most || best == kv.NoClass && p == p:
			best, most, tied = kv.Class(j), p, false
		case p == most:
			tied = true
		}
	}
	return best, most, tied
}

// stages runs the pipeline of score one stage after the other.
type stages struct {
	*problem
	opt       Options
	operators ops.Options // with the memory that the stages leave

	// only is the label model of a run that scores anew: of the agreement features, those over walks are computed that
	// have a weight in it. nil: all are.
	only *labelmodel.Model
}

// begin makes ready to score. The error says that the fitting nodes are too few, or the budget is too small.
func (p *problem) begin(ctx context.Context, opt Options, by *labelmodel.Model) (*stages, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if p.method = opt.Method; by == nil {
		p.countFitting()
	}
	if p.few != nil {
		return nil, p.few
	}
	if err := p.requireForCleaning(ctx, opt); err != nil {
		return nil, err
	}
	opt.stage("count")
	return &stages{problem: p, opt: opt, operators: opt.ops(p.heldInScoring()), only: by}, nil
}

// run scores. It computes the diagonals where that was not done.
func (s *stages) run(ctx context.Context) (_ *scoring, err error) {
	if err := limitSeries(s.graph, s.operators.MemoryBudget); err != nil {
		return nil, err
	}
	held, err := s.findDiagonals(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	result, err := s.newScoring()
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

// findDiagonals computes the diagonals unless the problem has them. The caller closes them; they may be nil.
func (s *stages) findDiagonals(ctx context.Context) (*workplace.Diagonals, error) {
	if s.diagonals != nil {
		return nil, nil
	}
	held, err := s.place.Diagonals(ctx, s.graph, s.reach(), s.operators)
	if err != nil {
		return nil, err
	}
	s.opt.stage("keep")
	s.diagonals = held.Diagonals
	return held, nil
}

// byMethod is the pipeline of opt.Method.
func (s *stages) byMethod(ctx context.Context, result *scoring) (err error) {
	var sample *nodeSet
	var z []*rowstore.Store
	defer func() { err = errors.Join(err, closeAll(z)) }()
	c := method.Case{
		Labels: s.underTest(), Classes: s.classes, Predictions: s.predictions, Hops: s.opt.Hops,
		IsFitting: s.isFitting, IsUntaught: s.isUntaught, Seed: s.opt.Seed, Workers: s.opt.Workers, Stage: s.opt.stage,
		Sample: func() (labels []kv.Class, order []uint32, err error) {
			most := s.method.SampleSize(s.fitting)
			sample, order, err = drawNodes(s.order, len(s.labels), s.fitting, most, s.opt.Seed, s.isFitting)
			if err != nil {
				return nil, nil, err
			}
			return sample.pick(s.labels), order, nil
		},
		Features: func(ctx context.Context, sampled []kv.Class) (tested ops.Source, rows []float32, err error) {
			z, err = s.agreement(ctx, []labelling{{labels: s.underTest()}, {nodes: sample, labels: sampled}})
			if err != nil {
				return nil, nil, err
			}
			rows, _ = z[1].Column(0)
			return z[0], rows, nil
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
func (s *stages) agreement(ctx context.Context, labellings []labelling) (z []*rowstore.Store, err error) {
	p := *s.problem
	if p.tested != nil {
		p.predictions = zeroMissing{p.predictions} // a node without predictions adds nothing to those around it
	}
	z, err = p.gather(ctx, labellings, s.opt.Hops, s.reach(), width(s.method, s.opt.Hops), s.operators)
	if err != nil {
		return nil, err
	}
	s.opt.stage("features")
	return z, limitSeries(s.graph, 0)
}

// reach is the most hops of the features that are computed.
func (s *stages) reach() int {
	if s.only != nil {
		return s.only.Reach()
	}
	return s.opt.Hops
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
