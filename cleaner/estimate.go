package cleaner

import (
	"context"
	"errors"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// counts has the numbers that decide the cost of a cleaning.
type counts struct {
	nodes, labels, classes int
	fitting, training      int  // labelled nodes of the fitting set, and of those that the base classifier learns from
	features               int  // columns; zero: none
	disagree               bool // homophily is low (see Predict)
	predictions            bool // are there
	builtIn                bool // they are those of the base classifier

	sizes *ops.Sizes

	// steps counts the steps that the diagonals of a number of hops take, as ops.DiagonalSteps does.
	steps func(ctx context.Context, hops int) (float64, error)
}

// EstimateClean plans a cleaning of a store, as Clean does before it begins. It reads labels and splits, and walks the
// adjacency for its sizes, for the price of the diagonals and, if there are features, for how far neighbours agree. If
// the budget is too small, it returns an *ops.BudgetError.
func EstimateClean(ctx context.Context, tx *kv.Tx, opt Options) (*CleanEstimate, error) {
	opt.Notice, opt.Warn = nil, nil
	p, err := readProblem(tx, opt)
	if err != nil {
		return nil, err
	}
	c := p.counts()
	if _, err := tx.Matrix(PredictionsMatrix); err == nil {
		source, err := predictionSource(tx)
		if err != nil {
			return nil, err
		}
		c.predictions, c.builtIn = true, source == SourceBuiltIn
	} else if !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if m, err := tx.Matrix(FeaturesMatrix); err == nil {
		c.features = m.Width()
		arcs, err := disagreement(ctx, p.graph, p.labels, c.classes, opt.Workers)
		if err != nil {
			return nil, err
		}
		c.disagree = arcs != nil
	} else if !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if c.sizes, err = ops.Measure(ctx, p.graph, ops.Options{Workers: opt.Workers}); err != nil {
		return nil, err
	}
	c.steps = func(ctx context.Context, hops int) (float64, error) {
		return ops.DiagonalSteps(ctx, p.graph, hops, ops.Options{Workers: opt.Workers})
	}
	return c.plan(ctx, opt)
}

// counts are those that take no walk. Predictions and features are left out.
func (p *problem) counts() counts {
	base := p.base()
	return counts{
		nodes: len(p.labels), labels: countLabelled(p.labels), classes: p.classes, sizes: p.sizes,
		fitting: p.mostFitting(), training: base.count(base.teaches),
	}
}

// A CleanEstimate is the memory and the disk that a Clean takes, and a Predict before it if there are no predictions.
type CleanEstimate struct {
	Nodes, Classes int
	Edges          int64
	Plan           ops.PropagatePlan

	// Steps is the price of the diagonals, Refusal the error with which Clean refuses to begin, or nil.
	Steps   float64
	Refusal error

	LeastBytes     int64 // the least Options.MemoryBudget
	StoreBytes     int64 // written to the store
	TemporaryBytes int64 // the most at once in temporary files
	RoomBytes      int64 // about the most at once on the disk of the store: temporary files, and copies of what is written

	counts
	trains    bool // the base classifier
	baseWidth int  // inputs of the base classifier
	diagonal  ops.DiagonalPlan

	heldBytes, mappedBytes int64 // on the heap all the time, and by operators beside it at most
	predictedBytes         int64 // written to the store before nodes are scored
}

// Bytes that are written to the store lie in a log, in a table and in a merged table for a while, and it begins to
// write only where it finds room to spare.
const (
	copies    = 3
	leastRoom = 16 << 20
)

// plan plans a cleaning.
func (c counts) plan(ctx context.Context, opt Options) (*CleanEstimate, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	joined := !c.builtIn && opt.joinsImported() && crossFitsFrom(c.training) && joins(c.nodes, c.classes)
	if c.predictions && !c.builtIn && !crossFitsFrom(c.training) { // crossFitting
		c.training = c.labels
	}
	matrices := matrixBytes(opt.Method, c.classes, c.fitting)
	e := &CleanEstimate{
		Nodes: c.nodes, Classes: c.classes, Edges: c.sizes.Edges(), counts: c, trains: !c.predictions || joined,
		heldBytes:  scoringBytes(opt.Method, c.nodes, c.fitting, c.classes),
		LeastBytes: leastForScore(opt.Method, c.sizes, c.nodes, c.fitting, c.classes, opt.Hops),
	}
	scoring := opt.ops(e.heldBytes)
	scoring.Scratch = scratch.Temporary(os.TempDir())
	held, ofClasses := e.heldByBase()
	if e.trains {
		e.heldBytes, e.LeastBytes = max(e.heldBytes, held), max(e.LeastBytes, held+e.leastForBase())
		if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes, c.classes, max(ofClasses, matrices)); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes, c.classes, matrices); err != nil {
		return nil, err
	}
	if e.diagonal, err = ops.PlanDiagonals(c.sizes, opt.Hops, scoring); err != nil {
		return nil, err
	}
	if e.Steps, err = c.steps(ctx, opt.Hops); err != nil {
		return nil, err
	}
	e.Refusal = ops.CheckSteps(opt.Hops, e.Steps)
	e.mappedBytes = e.diagonal.MemoryBytes
	if e.trains {
		if err := e.base(ctx, opt, held); err != nil {
			return nil, err
		}
	}
	if e.joins() {
		// The predictions of the classifier, the joined ones, and two copies of both of the sample that they are
		// weighed on.
		values := int64(c.nodes) * int64(c.classes)
		e.TemporaryBytes = max(e.TemporaryBytes, e.diagonal.ScratchBytes+8*values+16*e.sampleCells())
	}
	return e, e.score(opt, scoring)
}

// joins says whether predictions from outside are joined with those of the built-in classifier.
func (e *CleanEstimate) joins() bool { return e.trains && e.predictions }

// score adds what the stages from the noise to the results take.
func (e *CleanEstimate) score(opt Options, operators ops.Options) (err error) {
	c := e.counts
	cells := 4 * int64(width(opt.Method, opt.Hops)) // bytes of the features of a label
	columns := c.classes                            // that are propagated
	var z, temporary int64                          // bytes of all features, and of what lies beside them
	if opt.Method == nil {
		most := e.sampleCells()
		labellings := 1 + labelmodel.CountRivals(c.classes)
		z = cells * (int64(labellings)*int64(c.nodes) + most)
		temporary = (cells+8)*most + 4*int64(labellings)*int64(c.nodes) // logarithms, labels and votes; rivals and scores
	} else {
		columns = 2 * c.classes
		z = cells * int64(c.nodes+opt.Method.SampleSize(c.fitting))
		temporary = 4 * int64(c.nodes)
	}
	if e.Plan, err = ops.Plan(c.sizes, columns, opt.Hops, operators); err != nil {
		return err
	}
	if opt.Hops > 1 {
		e.Plan.KeepInputs(operators)
	}
	e.mappedBytes = max(e.mappedBytes, e.Plan.MemoryBytes)
	e.StoreBytes = e.predictedBytes + resultBytes*int64(c.nodes)
	if e.joins() { // the predictions lie there to the end, and are stored
		predictions := 4 * int64(c.nodes) * int64(c.classes)
		temporary += predictions
		e.StoreBytes += predictions
	}
	lasting := e.diagonal.ScratchBytes + z + temporary
	e.TemporaryBytes = max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes)
	e.RoomBytes = leastRoom + max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes+copies*e.predictedBytes, lasting+copies*e.StoreBytes)
	return nil
}

// sampleCells is the rows of the sample that a label model is fitted to, times the classes.
func (e *CleanEstimate) sampleCells() int64 {
	return int64(min(e.labels, mostModelNodes(e.classes))) * int64(e.classes)
}

// resultBytes bounds what is stored of a node: columns of the scores, and the index on them. 20 to 23 bytes were
// measured.
const resultBytes = 45

// heldByBase is what the base classifier holds, and what of it is for its classes.
func (e *CleanEstimate) heldByBase() (held, ofClasses int64) {
	c := e.counts
	fit, ofClasses := fitBytes(c.features, c.classes, labelHopsOf(c.training, c.nodes))
	return trainingBytes*int64(c.nodes) + fit, ofClasses
}

// leastForBase is the least that its operators need beside that.
func (e *CleanEstimate) leastForBase() int64 {
	c := e.counts
	if c.features > 0 {
		return c.sizes.LeastForPropagate()
	}
	return max(c.sizes.LeastForPropagate(), c.sizes.LeastForDiagonals(labelHopsOf(c.training, c.nodes)))
}

// base plans the base classifier, which holds so many bytes.
func (e *CleanEstimate) base(ctx context.Context, opt Options, held int64) (err error) {
	c := e.counts
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	hops, columns := baseHops, c.features
	e.baseWidth = c.features
	if c.disagree { // both inputs are tried
		e.baseWidth = 2*c.features + c.classes + 1
	}
	if c.features == 0 {
		hops = labelHopsOf(c.training, c.nodes)
		steps, err := c.steps(ctx, hops)
		for err == nil && ops.CheckSteps(hops, steps) != nil { // as labelDiagonals does
			hops--
			steps, err = c.steps(ctx, hops)
		}
		if err != nil {
			return err
		}
		plan, err := ops.PlanDiagonals(c.sizes, hops, operators)
		if err != nil {
			return err
		}
		e.mappedBytes = max(e.mappedBytes, plan.MemoryBytes)
		columns, e.baseWidth = c.classes, hops*c.classes+1
	}
	sizes := c.sizes
	if c.features > 0 {
		sizes = sizes.WithSelfLoops()
	}
	smooth, err := ops.Plan(sizes, columns, hops, operators)
	if err != nil {
		return err
	}
	inputs := 4 * int64(e.baseWidth) * int64(c.nodes)
	if c.disagree {
		inputs += 4 * int64(c.features) * int64(c.nodes)
	}
	e.mappedBytes = max(e.mappedBytes, smooth.MemoryBytes)
	e.predictedBytes = 4 * int64(e.baseWidth) * int64(c.classes) // the classifier, which scores nodes that arrive later
	if !c.predictions {
		e.predictedBytes += 4 * int64(c.nodes) * int64(c.classes)
	}
	rows := 4 * int64(e.baseWidth) * int64(min(c.training, baseTraining))
	e.TemporaryBytes = e.diagonal.ScratchBytes + inputs + max(smooth.ScratchBytes, rows, 4*int64(c.nodes)*int64(c.classes))
	return nil
}
