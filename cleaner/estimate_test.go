package cleaner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/ops"
)

// counted are the Counts of a graph of so many nodes, each of degree 16, whose diagonals from k = 3 on cost so much a hop.
func counted(nodes, classes int, price float64) Counts {
	c := Counts{
		Nodes: nodes, Labels: nodes, Classes: classes, Predictions: true, BuiltIn: true,
		Sizes: ops.SizesOf(ops.Shape{Nodes: nodes, Edges: int64(8 * nodes), MaxDegree: 16, MaxRows: 4096, MaxEntries: 1 << 16}),
	}
	c.DrawSplit()
	c.Diagonals = func(_ context.Context, hops int, opt ops.Options) (plan ops.DiagonalPlan, err error) {
		if plan.Steps = price * float64(hops); plan.Steps > 2e11 {
			plan.Refusal = &ops.PriceError{Hops: hops, Price: plan.Steps, Limit: 2e11}
		}
		return plan, err
	}
	return c
}

func estimatedClean(t *testing.T, c Counts, opt Options) *CleanEstimate {
	t.Helper()
	opt.MemoryBudget, opt.Workers = 256<<20, 2
	e, err := EstimateClean(t.Context(), c, opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func stageNames(e *CleanEstimate) (names []string) {
	for _, s := range e.Stages {
		names = append(names, s.Name)
	}
	return names
}

func TestEstimateHasTheStagesOfTheRun(t *testing.T) {
	c := counted(1<<16, 40, 1e6)
	before := []string{"read", "degrees", "price", "diagonal", cycleStage, "count"}
	after := []string{"features", "propagate", "keep", "label model", "score", "write"}
	fitted := slices.Concat([]string{"noise", "sample", "rivals"}, after)
	published := []string{"noise", "sample", "features", "propagate", "keep", "detector", "score", "write"}
	for _, test := range []struct {
		of   func(*Counts)
		opt  Options
		want []string
	}{
		{func(*Counts) {}, Options{}, slices.Concat(before, fitted)},
		{func(*Counts) {}, Options{Preset: PresetPaper}, slices.Concat(before, published)},
		{func(*Counts) {}, Options{Hops: 2}, slices.Concat([]string{"read", "degrees", "diagonal", "count"}, fitted)},
		{
			func(c *Counts) { c.Predictions, c.BuiltIn = false, false }, Options{},
			slices.Concat(before, []string{"smooth", "train", "predict", "write", "noise", "sample", "rivals"}, after[:5]),
		},
		{
			func(c *Counts) { c.BuiltIn = false }, Options{}, slices.Concat(
				before, []string{"smooth", "train", "predict", "combine", "features", "propagate", "noise", "sample", "rivals"}, after[2:]),
		},
		{func(c *Counts) { c.BuiltIn = false }, Options{Preset: PresetPaper}, slices.Concat(before, published)},
		{func(c *Counts) { c.BuiltIn = false }, Options{AsGiven: true}, slices.Concat(before, fitted)},
		{
			func(c *Counts) { c.Predictions, c.BuiltIn, c.Features = false, false, 9 }, Options{},
			slices.Concat(before, []string{"smooth", "train", "refine", "predict", "write", "noise", "sample", "rivals"}, after[:5]),
		},
	} {
		of := c
		test.of(&of)
		e := estimatedClean(t, of, test.opt)
		if got := stageNames(e); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got the stages %q, want %q", test.opt, got, test.want)
		}
		if e.MemoryBytes > 256<<20 || e.HeldBytes <= 0 || e.TemporaryBytes <= 0 {
			t.Errorf("%+v: got %d bytes held of %d in all, %d temporary", test.opt, e.HeldBytes, e.MemoryBytes, e.TemporaryBytes)
		}
	}
}

// The base classifier takes diagonals of fewer hops where more are refused, as labelDiagonals does; the cleaning does not.
func TestEstimateOfRefusedDiagonals(t *testing.T) {
	c := counted(1<<16, 40, 1e11)
	e := estimatedClean(t, c, Options{})
	if !errors.Is(e.Refusal(), ops.ErrPrice) {
		t.Errorf("got %v, want a price that is refused", e.Refusal())
	}
	c.Predictions = false
	e = estimatedClean(t, c, Options{Hops: 2})
	if e.Refusal() != nil || e.baseWidth != 2*40+1 {
		t.Errorf("got %v, %d inputs of the base classifier, want 81, over 2 hops", e.Refusal(), e.baseWidth)
	}
}

func TestTrainingSteps(t *testing.T) {
	trainWell(t)
	for _, test := range []struct {
		rows                 int
		stops                bool
		least, typical, most int
	}{
		{140, true, 400, 400, 400},                // an epoch is a step
		{6120, true, 408, 1080, 4800},             // 24 steps an epoch, at most 200 epochs
		{90941, true, 3916, 16020, 40228},         // 356 steps: at most the epoch with step 40000
		{262144, true, 11264, 22000, 40960},       // 1024 steps: likewise, and 22000 are typical
		{baseTraining, true, 22528, 22528, 40960}, // 2048 steps: likewise, and the least are more
		{6120, false, 4800, 4800, 4800},           // nothing to stop by
	} {
		perEpoch, epochs := baseSteps(test.rows)
		least, typical, most := trainingSteps(perEpoch, epochs, 1, test.stops)
		if least != test.least || typical != test.typical || most != test.most {
			t.Errorf("%d rows: got %d, %d and %d steps, want %d, %d and %d",
				test.rows, least, typical, most, test.least, test.typical, test.most)
		}
	}
}

// The seconds grow with the graph, its classes and its price, and no stage takes none.
func TestSecondsGrowWithTheWork(t *testing.T) {
	seconds := func(c Counts, opt Options) map[string]float64 {
		took := map[string]float64{}
		for _, s := range estimatedClean(t, c, opt).Stages {
			if took[s.Name] = s.Seconds; !(s.Seconds > 0) {
				t.Errorf("%s of %d nodes takes %g s", s.Name, c.Nodes, s.Seconds)
			}
		}
		return took
	}
	outside := func(nodes, classes int, price float64) Counts {
		c := counted(nodes, classes, price)
		c.BuiltIn, c.Features = false, 9
		return c
	}
	const fit = "label model"
	joined, asGiven := seconds(outside(1<<16, 10, 1e6), Options{}), seconds(outside(1<<16, 10, 1e6), Options{AsGiven: true})
	if joined[fit] >= asGiven[fit] || asGiven[fit] >= joined["combine"] {
		t.Errorf("label model of joined predictions: got %g s, want less than %g s as given, and these less than the %g s of joining",
			joined[fit], asGiven[fit], joined["combine"])
	}
	small := seconds(outside(1<<12, 10, 1e6), Options{})
	for stage, took := range seconds(outside(1<<16, 40, 1e8), Options{}) {
		if took <= small[stage] {
			t.Errorf("%s takes %g s of a graph, and %g s of a smaller one", stage, took, small[stage])
		}
	}
}
