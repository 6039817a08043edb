package labelmodel

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// How a label model is fitted.
const (
	// modelCells bounds the rows of a fit times the classes.
	modelCells = 1 << 19
	modelRows  = 1 << 16

	weightPenalty = 1 // half the square of each standardized weight and of each intercept, of the log-likelihood
	// share of the entropy of the labels that the predictions tell; below it the rates of pairs are alike
	leastTold = 0.2

	leastSweeps  = 6
	mostHalvings = 8    // of a Newton step
	tolerance    = 1e-2 // gain in log-likelihood below which the sweeps end
	mostLoss     = 1    // of log-likelihood in a sweep, before a step has gone too far
	blockRows    = 256  // rows whose sums are one term of all sums
	leastChance  = 1e-9 // of a class that counts in the curvature
)

// MostSweeps is how many sweeps a fit takes, at most.
const MostSweeps = 200

// A labelFit fits a Model to given labels by maximum a posteriori. Rows are nodes that the base classifier was not
// trained on, whose labels therefore say something that their predictions have not seen. With x as in Model, the
// likelihood of given label i is
//
//	L_v = Σ_k P(y* = k) · P(ỹ = i | y* = k)
//
// The parameters are found by expectation maximization: q_v(k), the posterior of the true class,
// then one Newton step of the weights on Σ_v Σ_k q_v(k) log P(y* = k), which is concave, and one of the intercepts, and
// the rates of pairs from the expected counts of wrong labels.
//
// Of a row whose true class a person has said, that class alone counts: L_v has one term; where a person has said that
// the label is wrong, its class does not count.
type labelFit struct {
	classes, width int        // of x
	labels         []kv.Class // [rows]
	truth          []kv.Class // [rows], as Rows.Truth; nil: nobody has said anything
	alike          bool       // all pairs of classes have one rate
	onSweep        func()     // nil: nobody asks
	sweeps         int        // so far
	scale          []float64  // of each feature: its standard deviation between the classes of a row
	// [rows×classes×width], centred on each row, divided by scale; zero without a label
	x         *scratch.Array[float32]
	posterior *scratch.Array[float32] // q [rows×classes]
	workers   int
	scratch   []sweepScratch // of each worker that sweeps
}

// Rows are the data that a Model is fitted to.
type Rows struct {
	Labels []kv.Class // [rows]: the labels

	// Truth has the true classes that people have named [rows]: NoClass where nobody has, AnotherClass where no more is
	// known than that the label is wrong; nil: nobody has said anything of any.
	Truth []kv.Class

	Z              []float32 // features [rows×classes×width]
	Classes, Width int
}

// AnotherClass is the truth of a node of which nothing is known but that its label was wrong.
const AnotherClass = kv.NoClass - 1

// MostRows is the most rows that a model of so many classes is fitted to: more would not make a handful of weights
// better.
func MostRows(classes int) int { return min(modelCells/max(classes, 1), modelRows) }

// Fit fits a Model to rows. done, where not nil, is told of every sweep, of at most so many, and of
// the end.
//
// A first fit, of right labels, measures what the predictions tell of the labels. Where that is little, rates that
// differ between pairs would make wrong labels of what the predictions do not know.
func Fit(
	ctx context.Context, dir *scratch.Dir, rows Rows, workers int, done func(sweeps, of int),
) (model *Model, err error) {
	f, err := newLabelFit(ctx, dir, rows, workers)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if done != nil {
		f.onSweep = func() { f.sweeps++; done(min(f.sweeps, 2*MostSweeps-1), 2*MostSweeps) }
	}
	right := f.start(0)
	if _, err = f.maximize(ctx, right); err != nil {
		return nil, err
	}
	f.alike = f.told(right.likelihood) < leastTold
	state := f.start(startRate)
	settled, err := f.maximize(ctx, state)
	if err != nil {
		return nil, err
	}
	model = f.model(state)
	model.Unsettled = !settled
	if done != nil {
		done(2*MostSweeps, 2*MostSweeps)
	}
	return model, nil
}

// told is the share of the entropy of the labels that predictions with a log-likelihood tell.
func (f *labelFit) told(likelihood float64) float64 {
	counts, n := make([]float64, f.classes), 0.0
	for _, y := range f.labels {
		if y != kv.NoClass {
			counts[y]++
			n++
		}
	}
	var blind float64
	for _, count := range counts {
		if count > 0 {
			blind += float64(count * elementary.Log(count/n))
		}
	}
	if blind == 0 {
		return 0
	}
	return 1 - likelihood/blind
}

// newLabelFit takes the features of rows. Rows that are not finite are left out: their x is
// zero for all classes.
func newLabelFit(ctx context.Context, dir *scratch.Dir, of Rows, workers int) (f *labelFit, err error) {
	rows, classes, width, z := len(of.Labels), of.Classes, of.Width, of.Z
	f = &labelFit{classes: classes, width: width, truth: of.Truth, workers: parallel.Workers(workers)}
	for r, y := range of.Labels {
		if slices.ContainsFunc(z[r*classes*width:(r+1)*classes*width], isNotFinite) {
			y = kv.NoClass
		}
		f.labels = append(f.labels, y)
	}
	for range min(f.workers, f.countBlocks()) { // more do not sweep
		f.scratch = append(f.scratch, newSweepScratch(min(len(f.labels), blockRows), classes, f.width))
	}
	if f.x, err = scratch.New[float32](dir, "log-features", rows*classes*f.width); err != nil {
		return nil, err
	}
	if f.posterior, err = scratch.New[float32](dir, "posterior", rows*classes); err != nil {
		return nil, errors.Join(err, f.x.Close())
	}
	if err := f.takeLogs(ctx, z); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.standardize(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close gives the arrays back.
func (f *labelFit) Close() error { return errors.Join(f.x.Close(), f.posterior.Close()) }

// blocks calls visit for the rows of every block, concurrently.
func (f *labelFit) blocks(ctx context.Context, visit func(worker, block, first, end int)) error {
	return parallel.Do(ctx, f.workers, f.countBlocks(), func(_ context.Context, worker, block int) error {
		visit(worker, block, block*blockRows, min((block+1)*blockRows, len(f.labels)))
		return nil
	})
}

func (f *labelFit) countBlocks() int { return (len(f.labels) + blockRows - 1) / blockRows }

// between is x of the rows from first to end.
func (f *labelFit) between(first, end int) []float32 {
	row := f.classes * f.width
	return f.x.Data[first*row : end*row]
}

// takeLogs fills x, not yet divided by scale.
func (f *labelFit) takeLogs(ctx context.Context, z []float32) error {
	return f.blocks(ctx, func(_, _, first, end int) {
		logs := make([]float64, f.classes*f.width)
		for r := first; r < end; r++ {
			if f.labels[r] == kv.NoClass {
				continue
			}
			LogFeatures(z[r*len(logs):][:len(logs)], logs)
			x := f.between(r, r+1)
			for i, log := range logs {
				x[i] = float32(log)
			}
			for j := range f.width {
				var mean float64
				for k := range f.classes {
					mean += float64(x[k*f.width+j]) / float64(f.classes)
				}
				for k := range f.classes {
					x[k*f.width+j] -= float32(mean)
				}
			}
		}
	})
}

// standardize measures scale and divides x by it; a feature that is the same of all classes is left as it is.
func (f *labelFit) standardize(ctx context.Context) error {
	partial := make([]float64, f.countBlocks()*f.width)
	err := f.blocks(ctx, func(_, block, first, end int) {
		sums := partial[block*f.width:][:f.width]
		for x := range slices.Chunk(f.between(first, end), f.width) {
			for j, value := range x {
				sums[j] += float64(float64(value) * float64(value))
			}
		}
	})
	if err != nil {
		return err
	}
	count := 0
	for _, y := range f.labels {
		if y != kv.NoClass {
			count++
		}
	}
	f.scale = addParts(partial, f.width)
	for j, sum := range f.scale {
		if f.scale[j] = math.Sqrt(sum / float64(max(count*f.classes, 1))); f.scale[j] < 1e-6 {
			f.scale[j] = 1
		}
	}
	return f.blocks(ctx, func(_, _, first, end int) {
		for x := range slices.Chunk(f.between(first, end), f.width) {
			for j, scale := range f.scale {
				x[j] = float32(float64(x[j]) / scale)
			}
		}
	})
}

// addParts sums vectors of a width, one after the other in order.
func addParts(parts []float64, width int) []float64 {
	sums := make([]float64, width)
	for i, part := range parts {
		sums[i%width] += part
	}
	return sums
}
