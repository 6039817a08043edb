package cleaner

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/detector"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Counts has the numbers that decide the cost of a cleaning.
type Counts struct {
	Nodes, Labels, Classes        int
	Fitting, Training, Validation int  // labelled nodes of the fitting set, and of the splits for the base classifier
	Features                      int  // columns; zero: none
	Disagree                      bool // homophily is low (see Predict); false if labels are not known
	Predictions                   bool // are there
	BuiltIn                       bool // they are those of the base classifier

	Sizes   *ops.Sizes
	Degrees []uint32 // descending, of the nodes that have one; estimates will do

	// Diagonals plans the diagonals of a number of hops.
	Diagonals func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error)
}

// DrawSplit sets the counts of the split that is drawn if there is none.
func (c *Counts) DrawSplit() {
	sizes := sizesOf(c.Labels, defaultShares)
	c.Training, c.Validation, c.Fitting = sizes.training, sizes.validation, sizes.validation
}

// CountStore counts a store: labels and splits are read, and the adjacency is walked once for the degrees. Walking it
// again for the price of the diagonals is left to Counts.Diagonals, for as long as tx is open.
func CountStore(ctx context.Context, tx *kv.Tx, opt Options) (c Counts, err error) {
	opt.Notice = nil
	p, err := readProblem(tx, opt)
	if err != nil {
		return c, err
	}
	base := baseProblem{labels: p.labels, splits: p.splits}
	c = Counts{
		Nodes: tx.NumNodes(), Labels: countLabelled(p.labels), Classes: len(tx.Classes()),
		Fitting: fittingIn(p.labels, p.splits), Training: base.count(base.teaches), Validation: base.count(base.stops),
	}
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
	if c.Degrees, err = ops.Degrees(ctx, p.graph, ops.Options{Workers: opt.Workers}); err != nil {
		return c, err
	}
	slices.SortFunc(c.Degrees, func(a, b uint32) int { return int(int64(b) - int64(a)) })
	c.Diagonals = func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error) {
		return ops.PlanDiagonals(ctx, p.graph, hops, opt)
	}
	return c, nil
}

// A StageWork is the work of one stage, by the name that Options.OnStage has for it.
type StageWork struct {
	Name        string
	Passes      int     // walks of the adjacency
	Seconds     float64 // on a typical machine
	MappedBytes int64   // held by the operators meanwhile, of Options.MemoryBudget
	Read, Wrote int64   // bytes of matrices and scratch arrays, in order
	StoreBytes  int64   // bytes of what is written to the store
}

// Nanoseconds of one processor of 3 GHz. A graph that does not fit its caches, or a busy machine, takes two or three times as
// long.
const (
	entryCost    = 5       // an entry of the adjacency: one walk for degrees or a price
	cellCost     = 20      // a value of the predictions
	stepCost     = 12      // an elementary step of exact diagonals
	drawCost     = 150     // a step of sampled diagonals
	detectorCost = 50_000  // a step of training the detector
	modelCost    = 5_000   // a cell that the label model is fitted to
	combineCost  = 11_000  // a cell of the sample on which predictions are compared
	knownCost    = 1_000   // a cell of the same sample, whose label model that comparison has fitted, most often
	scoreCost    = 130     // a node under one label
	writeCost    = 1000    // a node that is written
	batchCost    = 100_000 // a step of training the base classifier, beside its products and cells
	productCost  = 0.075   // a product of a weight in such a step
	outputCost   = 25      // a class of a row in such a step
	applyCost    = 0.03    // a product of a weight of a network that is applied
)

// seconds is the time for units of a cost, shared among the workers.
func (e *CleanEstimate) seconds(units, cost float64) float64 { return units * cost / e.workers / 1e9 }

// Names of the diagonals from k = 3 on, whose stages are otherwise called "diagonal" or "sample" as that of k = 2.
const (
	cycleStage  = "diagonal k ≥ 3"
	sampleStage = "sample k ≥ 3"
)

// A CleanEstimate is the work of a Clean, and of a Predict before it if there are no predictions.
type CleanEstimate struct {
	Counts   Counts
	workers  float64
	Plan     ops.PropagatePlan
	Diagonal ops.DiagonalPlan

	// Steps of training the base classifier: the fewest after which it may stop, what is typical, and the most.
	LeastSteps, BaseSteps, MostSteps int
	baseWidth, baseDiagonals         int // inputs of the base classifier, and hops of their diagonals

	Stages []StageWork

	// HeldBytes stays on the heap all the time. MemoryBytes is the maximum that counts towards Options.MemoryBudget.
	// LeastBytes is the least budget.
	HeldBytes, MemoryBytes, LeastBytes int64

	// TemporaryBytes is the maximum of temporary bytes on disk.
	TemporaryBytes int64
}

// Refusal returns the error with which Clean would refuse to begin, or nil.
func (e *CleanEstimate) Refusal() error {
	if e.Diagonal.Refusal == nil {
		return nil
	}
	return e.Diagonal.Refusal
}

// trains says whether the built-in classifier is trained, alone or beside predictions from outside.
func (e *CleanEstimate) trains(opt Options) bool {
	c := e.Counts
	joins := !c.BuiltIn && !opt.AsGiven && opt.Preset == PresetDefault && foldsOf(c.Training) > 1 && joins(c.Nodes, c.Classes)
	return !c.Predictions || joins
}

// EstimateClean plans a cleaning. If the budget is too small, it returns an *ops.BudgetError.
func EstimateClean(ctx context.Context, c Counts, opt Options) (*CleanEstimate, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.Predictions && !c.BuiltIn && foldsOf(c.Training) == 1 { // crossFitting
		sizes := sizesOf(c.Labels, defaultShares)
		c.Training, c.Validation = sizes.training, sizes.validation
	}
	matrices := MatrixBytes(opt.Preset, c.Classes, c.Fitting)
	e := &CleanEstimate{
		Counts: c, workers: float64(parallel.Workers(opt.Workers)),
		LeastBytes: leastForScore(opt.Preset, c.Sizes, c.Nodes, c.Fitting, c.Classes, opt.Hops),
	}
	trains := e.trains(opt)
	if trains {
		if err := e.base(ctx, opt); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes, c.Classes, matrices); err != nil {
		return nil, err
	}
	footprint := scoringBytes(opt.Preset, c.Nodes, c.Fitting, c.Classes)
	operators := opt.ops(footprint)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if err := e.planDiagonals(ctx, opt, operators); err != nil {
		return nil, err
	}
	if e.Plan, err = ops.Plan(c.Sizes, 2*c.Classes, opt.Hops, operators); err != nil {
		return nil, err
	}
	n, values := float64(c.Nodes), float64(c.Nodes)*float64(c.Classes)
	rows, draws := plantedAmong(c.Fitting), opt.Preset.draws()
	cells := int64(featureWidth(opt.Hops)) * 4
	z := cells * (int64(c.Nodes) + int64(draws)*int64(rows))
	learn := StageWork{Name: "detector", Seconds: float64(draws*detector.Steps(rows)) * detectorCost / 1e9}
	labellings := draws
	if opt.Preset == PresetDefault {
		most := int64(min(c.Labels, mostModelNodes(c.Classes))) * int64(c.Classes)
		labellings = 1 + labelmodel.CountRivals(c.Classes)
		z = cells * (int64(labellings)*int64(c.Nodes) + 2*most) // of which the logarithms are kept beside them
		learn = StageWork{Name: "label model", Seconds: e.seconds(float64(most), modelCost)}
		if c.Predictions && trains {
			e.add(StageWork{Name: "combine", Seconds: e.seconds(float64(most), combineCost)})
			learn.Seconds = e.seconds(float64(most), knownCost)
		}
	}
	e.add(
		StageWork{Name: "noise", Seconds: e.seconds(values, cellCost), Read: 8 * int64(values)},
		StageWork{Name: "features", Seconds: e.seconds(values, cellCost), Read: 4 * int64(values), Wrote: z},
		e.walk("degrees"),
		StageWork{
			Name: "propagate", Passes: e.Plan.Passes, Seconds: e.Plan.Seconds(), Read: e.Plan.ScratchBytes, Wrote: e.Plan.ScratchBytes,
			MappedBytes: e.Plan.MemoryBytes,
		},
		learn,
		StageWork{
			Name: "score", Seconds: e.seconds(n*float64(labellings), scoreCost), Read: cells * int64(c.Nodes) * int64(labellings),
		},
		StageWork{
			Name: "write", Seconds: n * writeCost / 1e9, Read: cells*int64(c.Nodes) + 4*int64(values),
			StoreBytes: cells*int64(c.Labels) + resultBytes*int64(c.Nodes),
		},
	)
	e.TemporaryBytes = max(e.TemporaryBytes, e.Diagonal.ScratchBytes+e.Plan.ScratchBytes+z+4*int64(c.Nodes))
	e.HeldBytes = max(e.HeldBytes, footprint)
	for _, s := range e.Stages {
		e.MemoryBytes = max(e.MemoryBytes, e.HeldBytes+s.MappedBytes)
	}
	return e, nil
}

// resultBytes is what is stored of a node beside its features, measured: columns of the scores, and the index on them.
const resultBytes = 45

// walk is a stage of one pass over the adjacency.
func (e *CleanEstimate) walk(name string) StageWork {
	return StageWork{Name: name, Passes: 1, Seconds: e.seconds(float64(2*e.Counts.Sizes.Edges()), entryCost)}
}

// add adds stages; one of a name that is there already becomes part of that.
func (e *CleanEstimate) add(stages ...StageWork) {
	for _, s := range stages {
		i := slices.IndexFunc(e.Stages, func(there StageWork) bool { return there.Name == s.Name })
		if i < 0 {
			e.Stages = append(e.Stages, s)
			continue
		}
		there := &e.Stages[i]
		there.Passes, there.Seconds = there.Passes+s.Passes, there.Seconds+s.Seconds
		there.Read, there.Wrote, there.StoreBytes = there.Read+s.Read, there.Wrote+s.Wrote, there.StoreBytes+s.StoreBytes
		there.MappedBytes = max(there.MappedBytes, s.MappedBytes)
	}
}

// planDiagonals adds the stages of the diagonals that are not there from those of the base classifier.
func (e *CleanEstimate) planDiagonals(ctx context.Context, opt Options, operators ops.Options) (err error) {
	c := e.Counts
	if opt.Diagonal == DiagonalSampled {
		if e.Diagonal, err = c.Sizes.PlanSample(opt.Hops, diagonalSamples, operators); err != nil {
			return err
		}
		e.add(e.walk("degrees"))
		if opt.Hops >= 2 {
			e.add(e.walk("sample"))
		}
		if opt.Hops >= 3 {
			e.add(StageWork{
				Name: sampleStage, Passes: e.Diagonal.Passes - 2, Seconds: e.seconds(e.Diagonal.Steps, drawCost),
				Wrote: e.Diagonal.ScratchBytes, MappedBytes: e.Diagonal.MemoryBytes,
			})
		}
		return nil
	}
	if e.Diagonal, err = c.Diagonals(ctx, opt.Hops, operators); err != nil || opt.Hops <= e.baseDiagonals {
		return err
	}
	e.addDiagonals(e.Diagonal, opt.Hops)
	return nil
}

// addDiagonals adds the stages of exact diagonals.
func (e *CleanEstimate) addDiagonals(plan ops.DiagonalPlan, hops int) {
	e.add(e.walk("degrees"))
	if hops >= 2 {
		e.add(e.walk("diagonal"))
	}
	if hops >= 3 {
		e.add(e.walk("price"),
			StageWork{
				Name: cycleStage, Passes: plan.Passes - 3, Seconds: e.seconds(plan.Steps, stepCost), Wrote: plan.ScratchBytes,
				MappedBytes: plan.MemoryBytes,
			})
	}
}

// base plans the base classifier.
func (e *CleanEstimate) base(ctx context.Context, opt Options) (err error) {
	c := e.Counts
	hops, ofClasses := baseHops, featureClassBytes(c.Classes)
	columns := c.Features
	e.baseWidth = c.Features
	if c.Disagree { // both inputs are tried
		e.baseWidth = 2*c.Features + c.Classes + 1
	}
	least := c.Sizes.LeastForPropagate()
	if c.Features == 0 {
		hops = labelHopsOf(c.Training, c.Nodes)
		ofClasses = classBytes(c.Classes, hops)
		least = max(least, c.Sizes.LeastForDiagonals(hops))
	}
	footprint := trainingBytes*int64(c.Nodes) + ofClasses
	e.LeastBytes = max(e.LeastBytes, footprint+least)
	if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes, c.Classes, max(ofClasses, MatrixBytes(opt.Preset, c.Classes, c.Fitting))); err != nil {
		return err
	}
	operators := opt.ops(footprint)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if c.Features == 0 {
		plan, err := c.Diagonals(ctx, hops, operators)
		for err == nil && plan.Refusal != nil { // as labelDiagonals does
			hops--
			plan, err = c.Diagonals(ctx, hops, operators)
		}
		if err != nil {
			return err
		}
		columns, e.baseDiagonals, e.baseWidth = c.Classes, hops, hops*c.Classes+1
		e.addDiagonals(plan, hops)
		e.add(e.walk("degrees")) // the last column of the inputs
	}
	smooth, err := ops.Plan(c.Sizes, columns, hops, operators)
	if err != nil {
		return err
	}
	inputs := 4 * int64(e.baseWidth) * int64(c.Nodes)
	if c.Disagree {
		inputs += 4 * int64(c.Features) * int64(c.Nodes)
	}
	perEpoch, epochs, trainings := e.trainings()
	e.LeastSteps, e.BaseSteps, e.MostSteps = trainingSteps(perEpoch, epochs, trainings, c.Validation > 0)
	e.add(
		e.walk("degrees"),
		StageWork{
			Name: "smooth", Passes: smooth.Passes, Seconds: smooth.Seconds(), Wrote: inputs, MappedBytes: smooth.MemoryBytes,
		},
		StageWork{
			Name: "train", Seconds: e.trainSeconds(perEpoch), Read: inputs, StoreBytes: 4 * int64(c.Nodes) * int64(c.Classes),
		},
	)
	matrices := int64(2) // of predictions: those of a network, and of all
	var refine ops.PropagatePlan
	if c.Features > 0 {
		if refine, err = ops.Plan(c.Sizes, c.Classes+1, smoothHops, operators); err != nil {
			return err
		}
		matrices += 2
		e.add(StageWork{
			Name: "refine", Passes: e.refinements() * refine.Passes, Seconds: float64(e.refinements()) * refine.Seconds(),
			Wrote: int64(e.refinements()) * 4 * int64(c.Classes+1) * int64(c.Nodes), MappedBytes: refine.MemoryBytes,
		})
	}
	rows := 4 * int64(e.baseWidth) * int64(min(c.Training, baseTraining)+min(c.Validation, baseValidation))
	e.TemporaryBytes = inputs + max(smooth.ScratchBytes, rows,
		refine.ScratchBytes+matrices*4*int64(c.Nodes)*int64(c.Classes+1))
	e.HeldBytes = footprint
	return nil
}

// trainings is the steps of an epoch, the most epochs of a training, and how many trainings there are.
func (e *CleanEstimate) trainings() (perEpoch, epochs, trainings int) {
	rows := max(min(e.Counts.Training, baseTraining), 1)
	folds := foldsOf(rows)
	if folds > 1 {
		rows -= rows / folds
	}
	trainings = folds
	if e.Counts.Features >= baseWide && e.Counts.Validation > 0 {
		trainings += len(inputDropouts) - 1
	}
	if e.Counts.Disagree && e.Counts.Validation > 0 {
		trainings *= 2
	}
	perEpoch, epochs = baseSteps(rows)
	return perEpoch, epochs, trainings
}

// typicalEpochs is after how many epochs a training of the base classifier most often stops.
const typicalEpochs = 75

// trainingSteps is how many steps so many trainings take together, of so many epochs at most each: at least, typically and at
// most.
func trainingSteps(perEpoch, epochs, trainings int, stops bool) (least, typical, most int) {
	most = min(perEpoch*epochs, (baseMost+perEpoch-1)/perEpoch*perEpoch)
	least, typical = most, most
	if stops {
		least = min(max((basePatience+1)*perEpoch, (baseLeast+perEpoch-1)/perEpoch*perEpoch), most)
		typical = min(max(typicalEpochs*perEpoch, least), most)
	}
	return trainings * least, trainings * typical, trainings * most
}

// trainSeconds is the time of the typical steps, so many an epoch, of looking at the validation nodes meanwhile, and of
// predicting all nodes by the networks.
func (e *CleanEstimate) trainSeconds(perEpoch int) float64 {
	c := e.Counts
	weights := float64(baseUnits * (e.baseWidth + c.Classes))
	step := batchCost + float64(baseBatch*(float64(weights*productCost)+float64(float64(c.Classes)*outputCost)))
	looks := float64(e.BaseSteps / max(perEpoch, baseLook) * min(c.Validation, baseValidation))
	predictions := float64(foldsOf(max(min(c.Training, baseTraining), 1)) * c.Nodes)
	return float64(float64(e.BaseSteps)*step)/1e9 + e.seconds((looks+predictions)*weights, applyCost)
}

// refinements is how often predictions are propagated at most.
func (e *CleanEstimate) refinements() int {
	if folds := foldsOf(max(e.Counts.Training, 1)); folds > 1 {
		return 2 * folds
	}
	return 0
}
