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

// Counts has the numbers that decide the cost of a cleaning.
type Counts struct {
	Nodes, Labels, Classes int
	Fitting, Training      int  // labelled nodes of the fitting set, and of those that the base classifier learns from
	Features               int  // columns; zero: none
	Disagree               bool // homophily is low (see Predict); false if labels are not known
	Predictions            bool // are there
	BuiltIn                bool // they are those of the base classifier

	Sizes *ops.Sizes

	// Steps counts the steps that the diagonals of a number of hops take, as ops.DiagonalSteps does.
	Steps func(ctx context.Context, hops int) (float64, error)
}

// DrawSplit sets the counts of the split that is drawn if there is none.
func (c *Counts) DrawSplit() {
	c.Training, c.Fitting = c.Labels, c.Labels
}

// CountStore counts a store: labels and splits are read, and the adjacency is walked for its sizes, and for how far
// neighbours agree if there are features. Counts.Steps walks it again for the price of the diagonals, as long as tx is open.
func CountStore(ctx context.Context, tx *kv.Tx, opt Options) (c Counts, err error) {
	opt.Notice, opt.Warn = nil, nil
	p, err := readProblem(tx, opt)
	if err != nil {
		return c, err
	}
	c = p.counts()
	if _, err := tx.Matrix(PredictionsMatrix); err == nil {
		source, err := predictionSource(tx)
		if err != nil {
			return c, err
		}
		c.Predictions, c.BuiltIn = true, source == SourceBuiltIn
	} else if !errors.Is(err, kv.ErrNotFound) {
		return c, err
	}
	if m, err := tx.Matrix(FeaturesMatrix); err == nil {
		c.Features = m.Width()
		arcs, err := disagreement(ctx, p.graph, p.labels, c.Classes, opt.Workers)
		if err != nil {
			return c, err
		}
		c.Disagree = arcs != nil
	} else if !errors.Is(err, kv.ErrNotFound) {
		return c, err
	}
	if c.Sizes, err = ops.Measure(ctx, p.graph, ops.Options{Workers: opt.Workers}); err != nil {
		return c, err
	}
	c.Steps = func(ctx context.Context, hops int) (float64, error) {
		return ops.DiagonalSteps(ctx, p.graph, hops, ops.Options{Workers: opt.Workers})
	}
	return c, nil
}

// counts are those that take no walk. Predictions and features are left out.
func (p *problem) counts() Counts {
	base := p.base()
	return Counts{
		Nodes: len(p.labels), Labels: countLabelled(p.labels), Classes: p.classes, Sizes: p.sizes,
		Fitting: p.mostFitting(), Training: base.count(base.teaches),
	}
}

// A CleanEstimate is the memory and the disk that a Clean takes, and a Predict before it if there are no predictions.
type CleanEstimate struct {
	Counts   Counts
	Plan     ops.PropagatePlan
	Diagonal ops.DiagonalPlan

	// Steps is the price of the diagonals, Refusal the error with which Clean refuses to begin, or nil.
	Steps   float64
	Refusal error

	Trains    bool // the base classifier is trained
	baseWidth int  // inputs of the base classifier

	// HeldBytes stays on the heap all the time. MappedBytes is the most that operators hold beside it. Both count towards
	// Options.MemoryBudget, of which LeastBytes is the least.
	HeldBytes, MappedBytes, LeastBytes int64

	// PredictedBytes are written to the store before nodes are scored, StoreBytes in all.
	PredictedBytes, StoreBytes int64

	// TemporaryBytes is the maximum of temporary bytes on disk. RoomBytes is how much of the disk of the store the cleaning takes
	// at once, about: temporary files, and what is written to the store.
	TemporaryBytes, RoomBytes int64
}

// Bytes that are written to the store lie in a log, in a table and in a merged table for a while, and it begins to write only where it finds
// room to spare.
const (
	copies    = 3
	leastRoom = 16 << 20
)

// trains says whether the built-in classifier is trained, alone or beside predictions from outside.
func (e *CleanEstimate) trains(opt Options) bool {
	c := e.Counts
	joins := !c.BuiltIn && opt.joinsImported() && crossFitsFrom(c.Training) && joins(c.Nodes, c.Classes)
	return !c.Predictions || joins
}

// EstimateClean plans a cleaning. If the budget is too small, it returns an *ops.BudgetError.
func EstimateClean(ctx context.Context, c Counts, opt Options) (*CleanEstimate, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.Predictions && !c.BuiltIn && !crossFitsFrom(c.Training) { // crossFitting
		c.Training = c.Labels
	}
	matrices := MatrixBytes(opt.Preset, c.Classes, c.Fitting)
	e := &CleanEstimate{
		Counts: c, HeldBytes: scoringBytes(opt.Preset, c.Nodes, c.Fitting, c.Classes),
		LeastBytes: leastForScore(opt.Preset, c.Sizes, c.Nodes, c.Fitting, c.Classes, opt.Hops),
	}
	scoring := opt.ops(e.HeldBytes)
	scoring.Scratch = scratch.Temporary(os.TempDir())
	e.Trains = e.trains(opt)
	held, ofClasses := e.heldByBase()
	if e.Trains {
		e.HeldBytes, e.LeastBytes = max(e.HeldBytes, held), max(e.LeastBytes, held+e.leastForBase())
		if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes, c.Classes, max(ofClasses, matrices)); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes, c.Classes, matrices); err != nil {
		return nil, err
	}
	if e.Diagonal, err = ops.PlanDiagonals(c.Sizes, opt.Hops, scoring); err != nil {
		return nil, err
	}
	if e.Steps, err = c.Steps(ctx, opt.Hops); err != nil {
		return nil, err
	}
	e.Refusal = ops.CheckSteps(opt.Hops, e.Steps)
	e.MappedBytes = e.Diagonal.MemoryBytes
	if e.Trains {
		if err := e.base(ctx, opt, held); err != nil {
			return nil, err
		}
	}
	if e.joins() {
		// The predictions of the classifier, the joined ones, and two copies of both of the sample that they are weighed on.
		values := int64(c.Nodes) * int64(c.Classes)
		e.TemporaryBytes = max(e.TemporaryBytes, e.Diagonal.ScratchBytes+8*values+16*e.sampleCells())
	}
	return e, e.score(opt, scoring)
}

// joins says whether predictions from outside are joined with those of the built-in classifier.
func (e *CleanEstimate) joins() bool { return e.Trains && e.Counts.Predictions }

// score adds what the stages from the noise to the results take.
func (e *CleanEstimate) score(opt Options, operators ops.Options) (err error) {
	c := e.Counts
	cells := 4 * int64(opt.Preset.features(opt.Hops)) // bytes of the features of a label
	var labellings int                                // of all nodes
	columns := c.Classes                              // that are propagated
	var z, temporary int64                            // bytes of all features, and of what lies beside them
	if opt.Preset == PresetDefault {
		most := e.sampleCells()
		labellings = 1 + labelmodel.CountRivals(c.Classes)
		z = cells * (int64(labellings)*int64(c.Nodes) + most)
		temporary = (cells+8)*most + 4*int64(labellings)*int64(c.Nodes) // logarithms, labels and votes; rivals and scores
	} else {
		columns = 2 * c.Classes
		labellings = opt.Preset.draws() // whose detectors score all nodes
		z = cells * (int64(c.Nodes) + int64(labellings)*int64(plantedAmong(c.Fitting)))
		temporary = 4 * int64(c.Nodes)
	}
	if e.Plan, err = ops.Plan(c.Sizes, columns, opt.Hops, operators); err != nil {
		return err
	}
	if opt.Hops > 1 {
		e.Plan.KeepInputs(operators)
	}
	e.MappedBytes = max(e.MappedBytes, e.Plan.MemoryBytes)
	e.StoreBytes = e.PredictedBytes + cells*int64(c.Labels) + resultBytes*int64(c.Nodes)
	if e.joins() { // the predictions lie there to the end, and are stored
		predictions := 4 * int64(c.Nodes) * int64(c.Classes)
		temporary += predictions
		e.StoreBytes += predictions
	}
	lasting := e.Diagonal.ScratchBytes + z + temporary
	e.TemporaryBytes = max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes)
	e.RoomBytes = leastRoom + max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes+copies*e.PredictedBytes, lasting+copies*e.StoreBytes)
	return nil
}

// sampleCells is the rows of the sample that a label model is fitted to, times the classes.
func (e *CleanEstimate) sampleCells() int64 {
	return int64(min(e.Counts.Labels, mostModelNodes(e.Counts.Classes))) * int64(e.Counts.Classes)
}

// resultBytes is what is stored of a node beside its features, measured: columns of the scores, and the index on them.
const resultBytes = 45

// heldByBase is what the base classifier holds, and what of it is for its classes.
func (e *CleanEstimate) heldByBase() (held, ofClasses int64) {
	c := e.Counts
	fit, ofClasses := fitBytes(c.Features, c.Classes, labelHopsOf(c.Training, c.Nodes))
	return trainingBytes*int64(c.Nodes) + fit, ofClasses
}

// leastForBase is the least that its operators need beside that.
func (e *CleanEstimate) leastForBase() int64 {
	c := e.Counts
	if c.Features > 0 {
		return c.Sizes.LeastForPropagate()
	}
	return max(c.Sizes.LeastForPropagate(), c.Sizes.LeastForDiagonals(labelHopsOf(c.Training, c.Nodes)))
}

// base plans the base classifier, which holds so many bytes.
func (e *CleanEstimate) base(ctx context.Context, opt Options, held int64) (err error) {
	c := e.Counts
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	hops, columns := baseHops, c.Features
	e.baseWidth = c.Features
	if c.Disagree { // both inputs are tried
		e.baseWidth = 2*c.Features + c.Classes + 1
	}
	if c.Features == 0 {
		hops = labelHopsOf(c.Training, c.Nodes)
		steps, err := c.Steps(ctx, hops)
		for err == nil && ops.CheckSteps(hops, steps) != nil { // as labelDiagonals does
			hops--
			steps, err = c.Steps(ctx, hops)
		}
		if err != nil {
			return err
		}
		plan, err := ops.PlanDiagonals(c.Sizes, hops, operators)
		if err != nil {
			return err
		}
		e.MappedBytes = max(e.MappedBytes, plan.MemoryBytes)
		columns, e.baseWidth = c.Classes, hops*c.Classes+1
	}
	sizes := c.Sizes
	if c.Features > 0 {
		sizes = sizes.WithSelfLoops()
	}
	smooth, err := ops.Plan(sizes, columns, hops, operators)
	if err != nil {
		return err
	}
	inputs := 4 * int64(e.baseWidth) * int64(c.Nodes)
	if c.Disagree {
		inputs += 4 * int64(c.Features) * int64(c.Nodes)
	}
	e.MappedBytes = max(e.MappedBytes, smooth.MemoryBytes)
	e.PredictedBytes = 4 * int64(e.baseWidth) * int64(c.Classes) // the classifier, which scores nodes that arrive later
	if !c.Predictions {
		e.PredictedBytes += 4 * int64(c.Nodes) * int64(c.Classes)
	}
	rows := 4 * int64(e.baseWidth) * int64(min(c.Training, baseTraining))
	e.TemporaryBytes = e.Diagonal.ScratchBytes + inputs + max(smooth.ScratchBytes, rows, 4*int64(c.Nodes)*int64(c.Classes))
	return nil
}
