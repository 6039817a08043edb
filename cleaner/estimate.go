package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/kv/scratch"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Counts is what the cost of a cleaning follows from.
type Counts struct {
	Nodes, Labelled, Classes      int
	Fitting, Training, Validation int  // labelled nodes of the fitting set, and of the splits for the base classifier
	Features                      int  // columns; zero: none
	Predictions                   bool // are there, so that no base classifier is trained

	Sizes   *ops.Sizes
	Degrees []uint32 // descending, of the nodes that have one; estimates will do

	// Diagonals plans them, over so many hops.
	Diagonals func(ctx context.Context, hops int, opt ops.Options) (ops.DiagonalPlan, error)
}

// SplitCounts sets what would be drawn where there are no splits.
func (c *Counts) SplitCounts() {
	n := c.Labelled
	c.Validation = max(int(defaultShares[1]*float64(n)+0.5), min(leastDrawnValidation, n/3))
	c.Fitting = c.Validation
	c.Training = int(defaultShares[0]*float64(n) + 0.5)
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
		Fitting: fittingIn(p.labels, p.splits), Training: base.countIn(SplitTrain), Validation: base.countIn(SplitValidation),
	}
	if _, err := tx.Matrix(PredictionsMatrix); err == nil {
		c.Predictions = true
	} else if !errors.Is(err, kv.ErrNotFound) {
		return c, err
	}
	if m, err := tx.Matrix(FeaturesMatrix); err == nil {
		c.Features = m.Width()
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
	Units       float64 // that its time is in proportion to
	MemoryBytes int64   // held meanwhile, of Options.MemoryBudget
	Read, Wrote int64   // bytes of matrices and scratch arrays, in order
}

// CycleStage is the name of the diagonals from k = 3 on, whose stages are otherwise called "diagonal" as that of k = 2.
const CycleStage = "diagonal k ≥ 3"

// StageName is the name in a CleanEstimate of a stage that Options.OnStage was told of.
func StageName(s kv.Stage) string {
	if s.Name == "diagonal" && s.Hop >= 3 {
		return CycleStage
	}
	return s.Name
}

// A CleanEstimate is what Clean would do, and Predict before it where there are no predictions.
type CleanEstimate struct {
	Counts   Counts
	Plan     ops.PropagatePlan
	Diagonal ops.DiagonalPlan

	// Of the base classifier: its plan, the width of its inputs, and the most steps of training, which often stops earlier.
	BasePlan    ops.PropagatePlan
	BaseWidth   int
	BaseSteps   int
	baseColumns int

	Stages []StageWork

	// MemoryBytes is the most that is held of Options.MemoryBudget, LeastBytes the least budget that would do.
	MemoryBytes, LeastBytes int64

	// TemporaryBytes is the most on disk beside what stays in the store.
	TemporaryBytes int64
}

// EstimateClean plans a cleaning. Where the budget is too small it is an *ops.BudgetError.
func EstimateClean(ctx context.Context, c Counts, opt Options) (*CleanEstimate, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &CleanEstimate{Counts: c, LeastBytes: leastForScore(c.Sizes, c.Nodes, c.Fitting, opt.Hops)}
	if !c.Predictions {
		if err := e.base(ctx, opt); err != nil {
			return nil, err
		}
	}
	if err := requireBudget("clean", opt.MemoryBudget, e.LeastBytes); err != nil {
		return nil, err
	}
	held := scoringBytes(c.Nodes, c.Fitting)
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if e.Diagonal, err = c.Diagonals(ctx, opt.Hops, operators); err != nil {
		return nil, err
	}
	if e.Plan, err = ops.Plan(c.Sizes, 2*c.Classes, opt.Hops, operators); err != nil {
		return nil, err
	}
	n, values, entries := float64(c.Nodes), float64(c.Nodes)*float64(c.Classes), float64(2*c.Sizes.Edges())
	rows, draws := plantedAmong(c.Fitting), opt.Preset.draws()
	cells := int64(featureWidth(opt.Hops)) * 4
	z := cells * (int64(c.Nodes) + int64(draws)*int64(rows))
	e.add(StageWork{Name: "noise", Units: values, Read: 8 * int64(values), MemoryBytes: held})
	e.diagonals(e.Diagonal, opt.Hops, entries, held)
	e.add(
		StageWork{Name: "features", Units: values, Read: 4 * int64(values), Wrote: z, MemoryBytes: held},
		StageWork{
			Name: "propagate", Passes: e.Plan.Passes, Units: math.NaN(), Read: e.Plan.ScratchBytes, Wrote: e.Plan.ScratchBytes,
			MemoryBytes: held + e.Plan.MemoryBytes,
		},
		StageWork{Name: "detector", Units: float64(draws * detectorSteps(rows)), MemoryBytes: held},
		StageWork{Name: "score", Units: n * float64(draws), Read: cells * int64(c.Nodes), MemoryBytes: held},
		StageWork{Name: "write", Units: n, Read: cells * int64(c.Nodes), MemoryBytes: held},
	)
	e.TemporaryBytes = max(e.TemporaryBytes, e.Diagonal.ScratchBytes+e.Plan.ScratchBytes+z+4*int64(c.Nodes))
	for _, s := range e.Stages {
		e.MemoryBytes = max(e.MemoryBytes, s.MemoryBytes)
	}
	return e, nil
}

func (e *CleanEstimate) add(stages ...StageWork) { e.Stages = append(e.Stages, stages...) }

// diagonals adds the stages of a plan.
func (e *CleanEstimate) diagonals(plan ops.DiagonalPlan, hops int, entries float64, held int64) {
	memory := held + plan.MemoryBytes
	e.add(StageWork{Name: "degrees", Passes: 1, Units: entries, MemoryBytes: held})
	if hops >= 2 {
		e.add(StageWork{Name: "diagonal", Passes: 1, Units: entries, MemoryBytes: held})
	}
	if hops >= 3 {
		e.add(StageWork{Name: "price", Passes: 1, Units: entries, MemoryBytes: held},
			StageWork{
				Name: CycleStage, Passes: plan.Passes - 3, Units: plan.Steps, Wrote: plan.ScratchBytes, MemoryBytes: memory,
			})
	}
}

// base plans the base classifier.
func (e *CleanEstimate) base(ctx context.Context, opt Options) (err error) {
	c := e.Counts
	held := trainingBytes * int64(c.Nodes)
	hops := baseHops
	e.baseColumns, e.BaseWidth = c.Features, c.Features
	least := held + c.Sizes.LeastForPropagate()
	if c.Features == 0 {
		hops = labelHopsOf(c.Training, c.Nodes)
		e.baseColumns, e.BaseWidth = c.Classes, hops*c.Classes+1
		least = max(least, held+c.Sizes.LeastForDiagonals(hops))
	}
	e.LeastBytes = max(e.LeastBytes, least)
	if err := requireBudget("predict", opt.MemoryBudget, e.LeastBytes); err != nil {
		return err
	}
	operators := opt.ops(held)
	operators.Scratch = scratch.Temporary(os.TempDir())
	if c.Features == 0 {
		plan, err := c.Diagonals(ctx, hops, operators)
		if err != nil {
			return err
		}
		if hops > opt.Hops { // else they are kept for what comes after
			e.diagonals(plan, hops, float64(2*c.Sizes.Edges()), held)
		}
	}
	if e.BasePlan, err = ops.Plan(c.Sizes, e.baseColumns, hops, operators); err != nil {
		return err
	}
	inputs := 4 * int64(e.BaseWidth) * int64(c.Nodes)
	perEpoch, epochs := baseSteps(max(min(c.Training, baseTraining), 1))
	e.BaseSteps = min(perEpoch*epochs, (baseMost+perEpoch-1)/perEpoch*perEpoch)
	e.add(
		StageWork{
			Name: "smooth", Passes: e.BasePlan.Passes, Units: math.NaN(), Wrote: inputs, MemoryBytes: held + e.BasePlan.MemoryBytes,
		},
		StageWork{Name: "train", Units: float64(e.BaseSteps), Read: inputs, MemoryBytes: held},
	)
	learned := 4 * int64(e.BaseWidth) * int64(min(c.Training, baseTraining)+min(c.Validation, baseValidation))
	e.TemporaryBytes = inputs + max(e.BasePlan.ScratchBytes, learned) + 4*int64(c.Nodes)*int64(c.Classes)
	return nil
}

// MeasureTraining trains a base classifier of so many inputs and classes on rows that are drawn, and returns the seconds of
// a step, and those of applying it to so many nodes on one processor.
func MeasureTraining(ctx context.Context, width, classes int) (step, predict float64, err error) {
	const steps = 24
	random := rand.New(rand.NewPCG(1, streamBase))
	t := newTrainer(newNetwork(random, width, baseHidden, classes), random)
	t.rate, t.decay, t.dropout = baseRate, baseDecay, baseDropout
	x, right := make([]float32, baseBatch*width), make([]int, baseBatch)
	for i := range x {
		x[i] = random.Float32()
	}
	for i := range right {
		right[i] = random.IntN(classes)
	}
	train := func() {
		t.step(x, baseBatch, func(logits []float32) float64 { return softmaxLoss(logits, right) })
	}
	var layers activations
	for range steps {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		began := time.Now()
		train()
		trained := time.Now()
		layers.forward(t.net, x, baseBatch, nil)
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

// Rates are how fast a miniature of a graph was cleaned.
type Rates struct {
	Estimate *CleanEstimate     // of the miniature
	Seconds  map[string]float64 // of its stages, by StageName

	// Gather and MiniatureGather are the nanoseconds of adding a row of the tiles planned, and of those of the miniature
	// (ops.PropagatePlan.MeasureGather).
	Gather, MiniatureGather float64
	BaseGather              float64 // likewise, of the tiles of CleanEstimate.BasePlan

	// Step and Predict are those of MeasureTraining.
	Step, Predict float64
}

// InTiles are the options for cleaning a miniature in tiles as wide as those planned.
func (e *CleanEstimate) InTiles(opt Options) Options {
	opt.tileWidth = e.Plan.Width
	return opt
}

// Seconds is the time of a stage by rates.
func (e *CleanEstimate) Seconds(stage StageWork, r Rates, opt Options) float64 {
	workers := float64(ops.Workers(opt.Workers))
	entries := func(p ops.PropagatePlan, columns, hops int, gather float64) float64 {
		return p.Seconds(e.Counts.Sizes, columns, hops, gather)
	}
	mini := r.Estimate
	propagated := mini.Plan.Seconds(mini.Counts.Sizes, 2*mini.Counts.Classes, opt.Hops, r.MiniatureGather)
	switch stage.Name {
	case "propagate":
		// Tiles are as wide as in the miniature. What they cost beyond it is that they are less often in a cache.
		cached := entries(e.Plan, 2*e.Counts.Classes, opt.Hops, r.MiniatureGather)
		missed := entries(e.Plan, 2*e.Counts.Classes, opt.Hops, r.Gather) - cached
		return r.Seconds["propagate"]*cached/propagated + max(0, missed)
	case "smooth":
		hops := e.BasePlan.Passes / max(1, e.BasePlan.Tiles*e.BasePlan.Stripes)
		return r.Seconds["propagate"] * entries(e.BasePlan, e.baseColumns, hops, r.BaseGather) / propagated
	case "train":
		perEpoch, _ := baseSteps(max(min(e.Counts.Training, baseTraining), 1))
		epochs := float64(e.BaseSteps / perEpoch)
		looked := float64(min(e.Counts.Validation, baseValidation))
		return stage.Units*r.Step + r.Predict*(epochs*looked+float64(e.Counts.Nodes)/workers)
	}
	units := 0.0
	for _, s := range mini.Stages {
		if s.Name == stage.Name {
			units += s.Units
		}
	}
	if units == 0 {
		return 0
	}
	return r.Seconds[stage.Name] * stage.Units / units
}
