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

	Sizes *ops.Sizes

	// Diagonals plans the diagonals of a number of hops.
	Diagonals func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error)
}

// DrawSplit sets the counts of the split that is drawn if there is none.
func (c *Counts) DrawSplit() {
	sizes := sizesOf(c.Labels, defaultShares)
	c.Training, c.Validation, c.Fitting = sizes.training, sizes.validation, sizes.validation
}

// CountStore counts a store: labels and splits are read, and the adjacency is walked for its sizes, and for how far
// neighbours agree if there are features. Walking it again for the price of the diagonals is left to Counts.Diagonals, for as
// long as tx is open.
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
	c.Diagonals = func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error) {
		return ops.PlanDiagonals(ctx, p.graph, hops, opt)
	}
	return c, nil
}

// counts are those that take no walk. Predictions and features are left out.
func (p *problem) counts() Counts {
	base := p.base()
	return Counts{
		Nodes: len(p.labels), Labels: countLabelled(p.labels), Classes: p.classes, Sizes: p.sizes,
		Fitting: fittingIn(p.labels, p.splits), Training: base.count(base.teaches), Validation: base.count(base.stops),
	}
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

// Nanoseconds of one processor of 3 GHz, about the geometric mean of one with AVX2 and one with AVX-512. A graph that does not
// fit its caches, or a busy machine, takes two or three times as long.
const (
	readCost     = 70     // a node whose label and split are read
	countCost    = 180    // a node that is counted, beside two walks
	entryCost    = 3      // an entry of the adjacency: one walk for degrees or a price
	cellCost     = 9      // a value of the predictions
	drawnCost    = 50     // a node that a sample is drawn from
	rivalCost    = 16     // an entry of the adjacency: a vote of a neighbour
	stepCost     = 1      // an elementary step of diagonals
	detectorCost = 30_000 // a step of training the detector
	modelCost    = 4_000  // a cell that the label model is fitted to
	combineCost  = 12_000 // a cell of the sample on which predictions are compared
	mixCost      = 20     // a value of predictions that are joined
	knownCost    = 950    // a cell of the same sample, whose label model that comparison has fitted, most often
	scoreCost    = 90     // a node under one label
	keepCost     = 1.4    // a byte that a killed run would go on from
	writeCost    = 550    // a node that is written
	storeCost    = 30     // a value of predictions that is written
	inputCost    = 6      // an input of the base classifier, made of a node
	batchCost    = 48_000 // a step of training the base classifier, beside its products and cells
	productCost  = 0.05   // a product of a weight in such a step
	outputCost   = 1.3    // a class of a row in such a step
	applyCost    = 0.02   // a product of a weight of a network that is applied
	gatherCost   = 7      // a value that such a network predicts
)

// seconds is the time for units of a cost, shared among the workers.
func (e *CleanEstimate) seconds(units, cost float64) float64 { return units * cost / e.workers / 1e9 }

// cycleStage is the name of the diagonals from k = 3 on, whose stages are otherwise called "diagonal" as that of k = 2.
const cycleStage = "diagonal k ≥ 3"

// A CleanEstimate is the work of a Clean, and of a Predict before it if there are no predictions.
type CleanEstimate struct {
	Counts   Counts
	workers  float64
	Plan     ops.PropagatePlan
	Diagonal ops.DiagonalPlan

	// Steps of training the base classifier: the fewest after which it may stop, what is typical, and the most.
	LeastSteps, BaseSteps, MostSteps int
	baseWidth                        int // inputs of the base classifier

	Stages []StageWork

	// HeldBytes stays on the heap all the time. MemoryBytes is the maximum that counts towards Options.MemoryBudget.
	// LeastBytes is the least budget.
	HeldBytes, MemoryBytes, LeastBytes int64

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

// storeBytes are those that the stages so far write to the store.
func (e *CleanEstimate) storeBytes() (bytes int64) {
	for _, s := range e.Stages {
		bytes += s.StoreBytes
	}
	return bytes
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
		Counts: c, workers: float64(parallel.Workers(opt.Workers)), HeldBytes: scoringBytes(opt.Preset, c.Nodes, c.Fitting, c.Classes),
		LeastBytes: leastForScore(opt.Preset, c.Sizes, c.Nodes, c.Fitting, c.Classes, opt.Hops),
	}
	scoring := opt.ops(e.HeldBytes)
	scoring.Scratch = scratch.Temporary(os.TempDir())
	trains := e.trains(opt)
	joined := trains && c.Predictions
	held, ofClasses := e.heldByBase()
	if trains {
		e.HeldBytes, e.LeastBytes = max(e.HeldBytes, held), max(e.LeastBytes, held+e.leastForBase())
		if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes, c.Classes, max(ofClasses, matrices)); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes, c.Classes, matrices); err != nil {
		return nil, err
	}
	e.add(StageWork{Name: "read", Seconds: float64(c.Nodes) * readCost / 1e9}, e.walk("degrees"))
	if err := e.planDiagonals(ctx, opt, scoring); err != nil {
		return nil, err
	}
	count := e.walk("count") // of edges within classes
	count.Seconds += e.seconds(float64(c.Nodes), countCost)
	e.add(count)
	if trains {
		if err := e.base(ctx, opt, held); err != nil {
			return nil, err
		}
	}
	if joined {
		if err := e.combine(opt); err != nil {
			return nil, err
		}
	}
	if err := e.score(opt, scoring, joined); err != nil {
		return nil, err
	}
	for _, s := range e.Stages {
		e.MemoryBytes = max(e.MemoryBytes, e.HeldBytes+s.MappedBytes)
	}
	return e, nil
}

// score adds the stages from the noise to the results.
func (e *CleanEstimate) score(opt Options, operators ops.Options, joined bool) (err error) {
	c := e.Counts
	n, values := float64(c.Nodes), float64(c.Nodes)*float64(c.Classes)
	cells := 4 * int64(featureWidth(opt.Hops)) // bytes of the features of a label
	var labellings int                         // of all nodes
	var z, temporary int64                     // bytes of all features, and of what lies beside them
	var learn StageWork
	e.add(
		StageWork{Name: "noise", Seconds: e.seconds(values, cellCost), Read: 8 * int64(values)},
		StageWork{Name: "sample", Seconds: n * drawnCost / 1e9},
	)
	if opt.Preset == PresetDefault {
		most := e.sampleCells()
		labellings = 1 + labelmodel.CountRivals(c.Classes)
		z = cells * (int64(labellings)*int64(c.Nodes) + most)
		temporary = (cells+8)*most + 4*int64(labellings)*int64(c.Nodes) // logarithms, labels and votes; rivals and scores
		learn = StageWork{Name: "label model", Seconds: e.seconds(float64(most), modelCost)}
		if joined {
			learn.Seconds = e.seconds(float64(most), knownCost)
		}
		rivals := e.seconds(float64(2*c.Sizes.Edges()), rivalCost)
		e.add(StageWork{Name: "rivals", Passes: 1, Seconds: rivals, Read: 4 * int64(values)})
	} else {
		rows := plantedAmong(c.Fitting)
		labellings = opt.Preset.draws() // whose detectors score all nodes
		z = cells * (int64(c.Nodes) + int64(labellings)*int64(rows))
		temporary = 4 * int64(c.Nodes)
		learn = StageWork{Name: "detector", Seconds: float64(labellings*detector.Steps(rows)) * detectorCost / 1e9}
	}
	if e.Plan, err = ops.Plan(c.Sizes, 2*c.Classes, opt.Hops, operators); err != nil {
		return err
	}
	if opt.Hops > 1 {
		e.Plan.KeepInputs(operators)
	}
	before := e.storeBytes()
	written := StageWork{
		Name: "write", Seconds: n * writeCost / 1e9, Read: cells*int64(c.Nodes) + 4*int64(values),
		StoreBytes: cells*int64(c.Labels) + resultBytes*int64(c.Nodes),
	}
	if joined { // the predictions lie there to the end, and are stored
		temporary += 4 * int64(values)
		written.Seconds += values * storeCost / 1e9
		written.StoreBytes += 4 * int64(values)
	}
	e.add(
		StageWork{Name: "features", Seconds: e.seconds(values, cellCost), Read: 4 * int64(values), Wrote: z},
		e.propagation("propagate", e.Plan),
		StageWork{Name: "keep", Seconds: float64(z) * keepCost / 1e9, Read: z},
		learn,
		StageWork{
			Name: "score", Seconds: e.seconds(n*float64(labellings), scoreCost), Read: cells * int64(c.Nodes) * int64(labellings),
		},
		written,
	)
	lasting := e.Diagonal.ScratchBytes + z + temporary
	e.TemporaryBytes = max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes)
	e.RoomBytes = leastRoom + max(e.TemporaryBytes, lasting+e.Plan.ScratchBytes+copies*before, lasting+copies*e.storeBytes())
	return nil
}

// sampleCells is the rows of the sample that a label model is fitted to, times the classes.
func (e *CleanEstimate) sampleCells() int64 {
	return int64(min(e.Counts.Labels, mostModelNodes(e.Counts.Classes))) * int64(e.Counts.Classes)
}

// combine adds the stages in which predictions from outside are joined with those of the built-in classifier. Labels alone are
// propagated.
func (e *CleanEstimate) combine(opt Options) error {
	c := e.Counts
	operators := opt.ops(scoringBytes(PresetDefault, c.Nodes, 0, c.Classes))
	operators.Scratch = scratch.Temporary(os.TempDir())
	labels, err := ops.Plan(c.Sizes, c.Classes, opt.Hops, operators)
	if err != nil {
		return err
	}
	values, cells := int64(c.Nodes)*int64(c.Classes), e.sampleCells()
	z := 4 * int64(featureWidth(opt.Hops)) * cells
	e.add(
		StageWork{
			Name: "combine", Seconds: e.seconds(float64(cells), combineCost) + e.seconds(float64(values), mixCost), Read: 12 * values,
			Wrote: 4 * values,
		},
		StageWork{Name: "features", Seconds: e.seconds(float64(values), cellCost), Read: 4 * values, Wrote: z},
		e.propagation("propagate", labels),
	)
	// The predictions of the classifier, the joined ones, and the features with their logarithms.
	e.TemporaryBytes = max(e.TemporaryBytes, e.Diagonal.ScratchBytes+labels.ScratchBytes+8*values+2*z)
	return nil
}

// propagation is the stage of a propagation.
func (e *CleanEstimate) propagation(name string, plan ops.PropagatePlan) StageWork {
	return StageWork{
		Name: name, Passes: plan.Passes, Seconds: plan.Seconds(), Read: plan.ScratchBytes, Wrote: plan.ScratchBytes, MappedBytes: plan.MemoryBytes,
	}
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

// planDiagonals adds the stages of the diagonals.
func (e *CleanEstimate) planDiagonals(ctx context.Context, opt Options, operators ops.Options) (err error) {
	if e.Diagonal, err = e.Counts.Diagonals(ctx, opt.Hops, operators); err == nil {
		e.addDiagonals(e.Diagonal, opt.Hops)
	}
	return err
}

// addDiagonals adds the stages of diagonals, but for the degrees.
func (e *CleanEstimate) addDiagonals(plan ops.DiagonalPlan, hops int) {
	if hops >= 3 {
		e.add(e.walk("price"))
	}
	if hops >= 2 {
		e.add(e.walk("diagonal"))
	}
	if hops >= 3 {
		e.add(StageWork{
			Name: cycleStage, Passes: plan.Passes - 3, Seconds: e.seconds(plan.Steps, stepCost), Wrote: plan.ScratchBytes,
			MappedBytes: plan.MemoryBytes,
		})
	}
}

// heldByBase is what the base classifier holds, and what of it is for its classes.
func (e *CleanEstimate) heldByBase() (held, ofClasses int64) {
	c := e.Counts
	ofClasses = featureClassBytes(c.Classes)
	if c.Features == 0 {
		ofClasses = classBytes(c.Classes, labelHopsOf(c.Training, c.Nodes))
	}
	return trainingBytes*int64(c.Nodes) + ofClasses, ofClasses
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
		plan, err := c.Diagonals(ctx, hops, operators)
		for err == nil && plan.Refusal != nil { // as labelDiagonals does
			hops--
			plan, err = c.Diagonals(ctx, hops, operators)
		}
		if err != nil {
			return err
		}
		if hops > opt.Hops {
			e.addDiagonals(plan, hops)
		}
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
	perEpoch, epochs, trainings := e.trainings()
	e.LeastSteps, e.BaseSteps, e.MostSteps = trainingSteps(perEpoch, epochs, trainings, c.Validation > 0)
	propagation := e.propagation("smooth", smooth)
	propagation.Seconds += e.seconds(float64(c.Nodes)*float64(e.baseWidth), inputCost)
	propagation.Wrote += inputs
	e.add(propagation, StageWork{Name: "train", Seconds: e.trainSeconds(perEpoch), Read: inputs})
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
	predictions := 4 * int64(c.Nodes) * int64(c.Classes)
	kept := 4 * e.folds() * int64(e.weights()) // the networks, which score nodes that arrive later
	e.add(StageWork{Name: "predict", Seconds: e.predictSeconds(), Read: e.folds() * inputs, Wrote: predictions, StoreBytes: kept})
	if !c.Predictions {
		e.add(
			e.walk("degrees"), e.walk("degrees"), // before Predict, for the memory, and of Predict
			StageWork{Name: "write", Seconds: float64(c.Nodes) * float64(c.Classes) * storeCost / 1e9, StoreBytes: predictions},
		)
	}
	rows := 4 * int64(e.baseWidth) * int64(min(c.Training, baseTraining)+min(c.Validation, baseValidation))
	e.TemporaryBytes = e.Diagonal.ScratchBytes + inputs + max(smooth.ScratchBytes, rows, refine.ScratchBytes+matrices*4*int64(c.Nodes)*int64(c.Classes+1))
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

// After so many epochs, or so many steps, a training of the base classifier most often stops, whichever comes first.
const (
	typicalEpochs = 45
	typicalStop   = 22_000
)

// trainingSteps is how many steps so many trainings take together, of so many epochs at most each: at least, typically and at
// most.
func trainingSteps(perEpoch, epochs, trainings int, stops bool) (least, typical, most int) {
	most = min(perEpoch*epochs, (baseMost+perEpoch-1)/perEpoch*perEpoch)
	least, typical = most, most
	if stops {
		least = min(max((basePatience+1)*perEpoch, (baseLeast+perEpoch-1)/perEpoch*perEpoch), most)
		typical = min(max(min(typicalEpochs*perEpoch, typicalStop), least), most)
	}
	return trainings * least, trainings * typical, trainings * most
}

// weights is how many a network of the base classifier has.
func (e *CleanEstimate) weights() float64 {
	return float64(baseUnits * (e.baseWidth + e.Counts.Classes))
}

// folds is how many networks predict.
func (e *CleanEstimate) folds() int64 {
	return int64(foldsOf(max(min(e.Counts.Training, baseTraining), 1)))
}

// trainSeconds is the time of the typical steps, so many an epoch, and of looking at the validation nodes meanwhile. As many
// trainings as there are workers run side by side.
func (e *CleanEstimate) trainSeconds(perEpoch int) float64 {
	c := e.Counts
	_, _, trainings := e.trainings()
	batch := float64(min(baseBatch, max(c.Training, 1)))
	step := batchCost + float64(batch*(float64(e.weights()*productCost)+float64(float64(c.Classes)*outputCost)))
	looks := float64(e.BaseSteps / max(perEpoch, baseLook) * min(c.Validation, baseValidation))
	all := float64(float64(e.BaseSteps)*step) + float64(looks*e.weights()*applyCost)
	return all / min(e.workers, float64(trainings)) / 1e9
}

// predictSeconds is the time in which all networks predict all nodes.
func (e *CleanEstimate) predictSeconds() float64 {
	rows := float64(e.folds() * int64(e.Counts.Nodes))
	return e.seconds(rows, float64(e.weights()*applyCost)+float64(float64(e.Counts.Classes)*gatherCost))
}

// refinements is how often predictions are propagated at most.
func (e *CleanEstimate) refinements() int {
	if folds := foldsOf(max(e.Counts.Training, 1)); folds > 1 {
		return 2 * folds
	}
	return 0
}
