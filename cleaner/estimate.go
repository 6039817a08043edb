package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/detector"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/labelmodel"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Counts is what the cost of a cleaning follows from.
type Counts struct {
	Nodes, Labelled, Classes      int
	Fitting, Training, Validation int  // labelled nodes of the fitting set, and of the splits for the base classifier
	Features                      int  // columns; zero: none
	Disagree                      bool // neighbours, by their labels: see Predict; false where these are not known
	Predictions                   bool // are there
	BuiltIn                       bool // they are those of the base classifier

	Sizes   *ops.Sizes
	Degrees []uint32 // descending, of the nodes that have one; estimates will do

	// Diagonals plans them, over so many hops.
	Diagonals func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error)
}

// DrawSplit sets what would be drawn where there are no splits.
func (c *Counts) DrawSplit() {
	sizes := sizesOf(c.Labelled, defaultShares)
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
		Nodes: tx.NumNodes(), Labelled: labelled(p.labels), Classes: len(tx.Classes()),
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
	Units       float64 // that its time is in proportion to, beside what it takes at any size
	MappedBytes int64   // held by the operators meanwhile, of Options.MemoryBudget
	Read, Wrote int64   // bytes of matrices and scratch arrays, in order
	Stored      int64   // bytes of what is written to the store
}

// Names of the diagonals from k = 3 on, whose stages are otherwise called "diagonal" or "sample" as that of k = 2.
const (
	cycleStage  = "diagonal k ≥ 3"
	sampleStage = "sample k ≥ 3"
)

// StageName is the name in a CleanEstimate of a stage that Options.OnStage was told of.
func StageName(s kv.Stage) string {
	if s.Name == "diagonal" && s.Hop >= 3 {
		return cycleStage
	}
	if s.Name == "sample" && s.Hop >= 3 {
		return sampleStage
	}
	return s.Name
}

// A CleanEstimate is what Clean would do, and Predict before it where there are no predictions.
type CleanEstimate struct {
	Counts   Counts
	hops     int
	Plan     ops.PropagatePlan
	Diagonal ops.DiagonalPlan

	// Of the base classifier: its plan, that of refining its predictions, the width of its inputs, and its steps of
	// training: the fewest after which it may stop, what is typical, and the most.
	BasePlan, RefinePlan             ops.PropagatePlan
	BaseWidth                        int
	LeastSteps, BaseSteps, MostSteps int
	baseColumns, baseDiagonals       int // of the diagonals: hops

	Stages []StageWork

	// HeldBytes is held all the time on the heap, and MemoryBytes the most that is held of Options.MemoryBudget. LeastBytes
	// is the least budget that would do.
	HeldBytes, MemoryBytes, LeastBytes int64

	// TemporaryBytes is the most on disk beside what stays in the store.
	TemporaryBytes int64
}

// Refused is the error that the cleaning would end with before it begins; nil where it would not.
func (e *CleanEstimate) Refused() error {
	if e.Diagonal.Refused == nil {
		return nil
	}
	return e.Diagonal.Refused
}

// trains says whether the built-in classifier is trained, alone or beside predictions from outside.
func (e *CleanEstimate) trains(opt Options) bool {
	c := e.Counts
	joins := !c.BuiltIn && opt.Preset == PresetDefault && foldsOf(c.Training) > 1 && joins(c.Nodes, c.Classes)
	return !c.Predictions || joins
}

// EstimateClean plans a cleaning. Where the budget is too small it is an *ops.BudgetError.
func EstimateClean(ctx context.Context, c Counts, opt Options) (*CleanEstimate, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	if c.Predictions && !c.BuiltIn && foldsOf(c.Training) == 1 { // crossFitting
		drawn := sizesOf(c.Labelled, defaultShares)
		c.Training, c.Validation = drawn.training, drawn.validation
	}
	matrices := MatrixBytes(opt.Preset, c.Classes, c.Fitting)
	e := &CleanEstimate{Counts: c, hops: opt.Hops, LeastBytes: leastForScore(opt.Preset, c.Sizes, c.Nodes, c.Fitting, c.Classes, opt.Hops)}
	trains := e.trains(opt)
	if trains {
		if err := e.base(ctx, opt); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes, c.Classes, matrices); err != nil {
		return nil, err
	}
	held := scoringBytes(opt.Preset, c.Nodes, c.Fitting, c.Classes)
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if err := e.planDiagonals(ctx, opt, operators); err != nil {
		return nil, err
	}
	if e.Plan, err = ops.Plan(c.Sizes, 2*c.Classes, opt.Hops, operators); err != nil {
		return nil, err
	}
	n, values, entries := float64(c.Nodes), float64(c.Nodes)*float64(c.Classes), e.entries()
	rows, draws := plantedAmong(c.Fitting), opt.Preset.draws()
	cells := int64(featureWidth(opt.Hops)) * 4
	z := cells * (int64(c.Nodes) + int64(draws)*int64(rows))
	learn := StageWork{Name: "detector", Units: float64(draws * detector.Steps(rows))}
	labellings := draws
	if opt.Preset == PresetDefault {
		most := int64(min(c.Labelled, mostModelled(c.Classes))) * int64(c.Classes)
		labellings = 1 + labelmodel.CountRivals(c.Classes)
		z = cells * (int64(labellings)*int64(c.Nodes) + 2*most) // of which the logarithms are kept beside them
		learn = StageWork{Name: "label model", Units: float64(most)}
		if c.Predictions && trains {
			e.add(StageWork{Name: "combine", Units: float64(most)})
		}
	}
	e.add(
		StageWork{Name: "noise", Units: values, Read: 8 * int64(values)},
		StageWork{Name: "features", Units: values, Read: 4 * int64(values), Wrote: z},
		StageWork{Name: "degrees", Passes: 1, Units: entries},
		StageWork{
			Name: "propagate", Passes: e.Plan.Passes, Units: math.NaN(), Read: e.Plan.ScratchBytes, Wrote: e.Plan.ScratchBytes,
			MappedBytes: e.Plan.MemoryBytes,
		},
		learn,
		StageWork{Name: "score", Units: n * float64(labellings), Read: cells * int64(c.Nodes) * int64(labellings)},
		StageWork{
			Name: "write", Units: n, Read: cells*int64(c.Nodes) + 4*int64(values),
			Stored: cells*int64(c.Labelled) + resultBytes*int64(c.Nodes),
		},
	)
	e.TemporaryBytes = max(e.TemporaryBytes, e.Diagonal.ScratchBytes+e.Plan.ScratchBytes+z+4*int64(c.Nodes))
	e.HeldBytes = max(e.HeldBytes, held)
	for _, s := range e.Stages {
		e.MemoryBytes = max(e.MemoryBytes, e.HeldBytes+s.MappedBytes)
	}
	return e, nil
}

// resultBytes is what is stored of a node beside its features: score, suggested label, confidence, and the entry of the
// index on score.
const resultBytes = 4 + 2 + 4 + 6

// entries is what a pass over the adjacency goes through.
func (e *CleanEstimate) entries() float64 { return float64(2 * e.Counts.Sizes.Edges()) }

// add adds stages; one of a name that is there already becomes part of that.
func (e *CleanEstimate) add(stages ...StageWork) {
	for _, s := range stages {
		i := slices.IndexFunc(e.Stages, func(there StageWork) bool { return there.Name == s.Name })
		if i < 0 {
			e.Stages = append(e.Stages, s)
			continue
		}
		there := &e.Stages[i]
		there.Passes, there.Units = there.Passes+s.Passes, there.Units+s.Units
		there.Read, there.Wrote, there.Stored = there.Read+s.Read, there.Wrote+s.Wrote, there.Stored+s.Stored
		there.MappedBytes = max(there.MappedBytes, s.MappedBytes)
	}
}

// planDiagonals adds the stages of the diagonals that are not there from those of the base classifier.
func (e *CleanEstimate) planDiagonals(ctx context.Context, opt Options, operators ops.Options) (err error) {
	c := e.Counts
	if opt.Diagonal == DiagonalSampled {
		if e.Diagonal, err = c.Sizes.PlanSampled(opt.Hops, diagonalSamples, operators); err != nil {
			return err
		}
		e.add(StageWork{Name: "degrees", Passes: 1, Units: e.entries()})
		if opt.Hops >= 2 {
			e.add(StageWork{Name: "sample", Passes: 1, Units: e.entries()})
		}
		if opt.Hops >= 3 {
			e.add(StageWork{
				Name: sampleStage, Passes: e.Diagonal.Passes - 2, Units: e.Diagonal.Steps, Wrote: e.Diagonal.ScratchBytes,
				MappedBytes: e.Diagonal.MemoryBytes,
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
	e.add(StageWork{Name: "degrees", Passes: 1, Units: e.entries()})
	if hops >= 2 {
		e.add(StageWork{Name: "diagonal", Passes: 1, Units: e.entries()})
	}
	if hops >= 3 {
		e.add(StageWork{Name: "price", Passes: 1, Units: e.entries()},
			StageWork{
				Name: cycleStage, Passes: plan.Passes - 3, Units: plan.Steps, Wrote: plan.ScratchBytes, MappedBytes: plan.MemoryBytes,
			})
	}
}

// base plans the base classifier.
func (e *CleanEstimate) base(ctx context.Context, opt Options) (err error) {
	c := e.Counts
	hops, ofClasses := baseHops, featureClassBytes(c.Classes)
	e.baseColumns, e.BaseWidth = c.Features, c.Features
	if c.Disagree { // both inputs are tried
		e.BaseWidth = 2*c.Features + c.Classes + 1
	}
	least := c.Sizes.LeastForPropagate()
	if c.Features == 0 {
		hops = labelHopsOf(c.Training, c.Nodes)
		ofClasses = classBytes(c.Classes, hops)
		least = max(least, c.Sizes.LeastForDiagonals(hops))
	}
	held := trainingBytes*int64(c.Nodes) + ofClasses
	e.LeastBytes = max(e.LeastBytes, held+least)
	if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes, c.Classes, max(ofClasses, MatrixBytes(opt.Preset, c.Classes, c.Fitting))); err != nil {
		return err
	}
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if c.Features == 0 {
		plan, err := c.Diagonals(ctx, hops, operators)
		for err == nil && plan.Refused != nil { // as labelDiagonals does
			hops--
			plan, err = c.Diagonals(ctx, hops, operators)
		}
		if err != nil {
			return err
		}
		e.baseDiagonals, e.baseColumns, e.BaseWidth = hops, c.Classes, hops*c.Classes+1
		e.addDiagonals(plan, hops)
		e.add(StageWork{Name: "degrees", Passes: 1, Units: e.entries()}) // the last column of the inputs
	}
	if e.BasePlan, err = ops.Plan(c.Sizes, e.baseColumns, hops, operators); err != nil {
		return err
	}
	inputs := 4 * int64(e.BaseWidth) * int64(c.Nodes)
	if c.Disagree {
		inputs += 4 * int64(c.Features) * int64(c.Nodes)
	}
	perEpoch, epochs, trainings := e.trainings()
	e.LeastSteps, e.BaseSteps, e.MostSteps = trainingSteps(perEpoch, epochs, trainings, c.Validation > 0)
	e.add(
		StageWork{Name: "degrees", Passes: 1, Units: e.entries()},
		StageWork{
			Name: "smooth", Passes: e.BasePlan.Passes, Units: math.NaN(), Wrote: inputs, MappedBytes: e.BasePlan.MemoryBytes,
		},
		StageWork{
			Name: "train", Units: float64(e.BaseSteps), Read: inputs, Stored: 4 * int64(c.Nodes) * int64(c.Classes),
		},
	)
	matrices := int64(2) // of predictions: those of a network, and of all
	if c.Features > 0 {
		if e.RefinePlan, err = ops.Plan(c.Sizes, c.Classes+1, smoothHops, operators); err != nil {
			return err
		}
		matrices += 2
		e.add(StageWork{
			Name: "refine", Passes: e.refinements() * e.RefinePlan.Passes, Units: math.NaN(),
			Wrote: int64(e.refinements()) * 4 * int64(c.Classes+1) * int64(c.Nodes), MappedBytes: e.RefinePlan.MemoryBytes,
		})
	}
	learned := 4 * int64(e.BaseWidth) * int64(min(c.Training, baseTraining)+min(c.Validation, baseValidation))
	e.TemporaryBytes = inputs + max(e.BasePlan.ScratchBytes, learned,
		e.RefinePlan.ScratchBytes+matrices*4*int64(c.Nodes)*int64(c.Classes+1))
	e.HeldBytes = held
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

// refinements is how often predictions are propagated at most.
func (e *CleanEstimate) refinements() int {
	if folds := foldsOf(max(e.Counts.Training, 1)); folds > 1 {
		return 2 * folds
	}
	return 0
}

// MeasureTraining trains a base classifier of so many inputs and classes on rows that are drawn, and returns the seconds of
// a step, and those of applying it to so many nodes on one processor.
func MeasureTraining(ctx context.Context, width, classes int) (step, predict float64, err error) {
	const steps = 24
	random := rand.New(rand.NewPCG(1, streamBase))
	net := nn.New(random, width, baseHidden, classes)
	t := nn.NewTrainer(net, random)
	t.Rate, t.Decay, t.Dropout = baseRate, baseDecay, baseDropout
	x, right := make([]float32, baseBatch*width), make([]int, baseBatch)
	for i := range x {
		x[i] = random.Float32()
	}
	for i := range right {
		right[i] = random.IntN(classes)
	}
	train := func() {
		t.Step(x, baseBatch, func(logits []float32) float64 { return nn.SoftmaxLoss(logits, right) })
	}
	var layers nn.Activations
	for range steps {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		began := time.Now()
		train()
		trained := time.Now()
		layers.Outputs(net, x, baseBatch)
		applied := time.Since(trained).Seconds() / baseBatch
		took := trained.Sub(began).Seconds()
		if step == 0 || took < step {
			step = took // others on the machine make it longer, and the first step takes its memory
		}
		if predict == 0 || applied < predict {
			predict = applied
		}
	}
	return step, predict, nil
}

// A Miniature is a small graph like another, and how long it took to clean it.
type Miniature struct {
	Estimate *CleanEstimate
	Seconds  map[string]float64 // by StageName
}

// Rates are how fast miniatures of a graph were cleaned.
type Rates struct {
	// Small and Large are two miniatures, of which Small has fewer nodes and edges. What a stage takes is on the line
	// through both. Small may be nil where Large is the graph itself.
	Small, Large *Miniature

	// Gather and LargeGather are the nanoseconds of adding a row of the tiles planned, and of those of Large
	// (ops.PropagatePlan.MeasureGather).
	Gather, LargeGather float64
	BaseGather          float64 // likewise, of the tiles of CleanEstimate.BasePlan

	// Step and Predict are those of MeasureTraining.
	Step, Predict float64
}

// InTiles are the options for cleaning a miniature in tiles as wide as those planned.
func (e *CleanEstimate) InTiles(opt Options) Options {
	opt.tileWidth = e.Plan.Width
	return opt
}

// Line is the value at x of the line through two points, x1 < x2, that neither falls nor is negative at zero: where it would
// be, it goes through zero and the second point, or stays at that.
func Line(x1, y1, x2, y2, x float64) float64 {
	if x2 <= 0 {
		return y2
	}
	slope := min(max((y2-y1)/(x2-x1), 0), y2/x2)
	return y2 + slope*(x-x2)
}

// units is the work of a stage, zero where there is none.
func (e *CleanEstimate) units(stage string) float64 {
	for _, s := range e.Stages {
		if s.Name == stage {
			return s.Units
		}
	}
	return 0
}

// at is what a stage takes that has so many units, by both miniatures.
func (r Rates) at(stage string, units func(*CleanEstimate) float64, want float64) float64 {
	large := units(r.Large.Estimate)
	if large == 0 {
		return 0
	}
	took := r.Large.Seconds[stage]
	if r.Small == nil || units(r.Small.Estimate) >= large {
		return took * want / large
	}
	return max(0, Line(units(r.Small.Estimate), r.Small.Seconds[stage], large, took, want))
}

// Seconds is the time of a stage by rates.
func (e *CleanEstimate) Seconds(stage StageWork, r Rates, opt Options) float64 {
	workers := float64(parallel.Workers(opt.Workers))
	propagated := func(mini *CleanEstimate) float64 {
		return mini.Plan.Seconds(mini.Counts.Sizes, 2*mini.Counts.Classes, e.hops, r.LargeGather)
	}
	switch stage.Name {
	case "propagate":
		// Tiles are as wide as in the miniatures. What they cost beyond these is that they are less often in a cache.
		cached := propagated(e)
		missed := e.Plan.Seconds(e.Counts.Sizes, 2*e.Counts.Classes, e.hops, r.Gather) - cached
		return r.at(stage.Name, propagated, cached) + max(0, missed)
	case "smooth":
		hops := e.BasePlan.Passes / max(1, e.BasePlan.Tiles*e.BasePlan.Stripes)
		return r.at("propagate", propagated, e.BasePlan.Seconds(e.Counts.Sizes, e.baseColumns, hops, r.BaseGather))
	case "refine":
		once := e.RefinePlan.Seconds(e.Counts.Sizes, e.Counts.Classes+1, smoothHops, r.BaseGather)
		return r.at("propagate", propagated, float64(e.refinements())*once)
	case "train":
		perEpoch, _, _ := e.trainings()
		epochs := float64(e.BaseSteps / max(perEpoch, baseLook))
		looked := float64(min(e.Counts.Validation, baseValidation))
		networks := float64(foldsOf(max(min(e.Counts.Training, baseTraining), 1)))
		return stage.Units*r.Step + r.Predict*(epochs*looked+networks*float64(e.Counts.Nodes))/workers
	}
	return r.at(stage.Name, func(mini *CleanEstimate) float64 { return mini.units(stage.Name) }, stage.Units)
}
