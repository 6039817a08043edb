package labelmodel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// How a label model is fitted.
const (
	// modelCells bounds the rows of a fit times the classes.
	modelCells = 1 << 19
	modelRows  = 1 << 16

	// Neighbours share what they know, so that the labels say less than as many independent ones would: their likelihood
	// counts to the power 1/dependence.
	dependence = 3

	weightPenalty   = 1     // half the square of each standardized weight, of the log-likelihood
	flipShare       = 0.004 // of the rows: the counts that lean wrong labels to the uniform distribution,
	leastFlips      = 2     // but at least so many
	leastFlipCount  = 1e-3  // expected wrong labels of a pair of classes that are kept
	leastBackground = 1e-3  // share of the top class that is kept
	noBackground    = -1    // in place of a quantile of B,
	clearDecile     = 0.1   // which nearly all rows of a top class are above,
	clearMedian     = 0.5   // or half of them
	manyWrong       = 0.3   // share of labels that confident learning counts as wrong: from it on clearMedian is tried too
	leastOfTop      = 10    // rows of a top class to have a background
	heardWeight     = 0.33  // of the weight of P0 without a background: below it, one leaves hardly anything of the predictions
	confusedRate    = 0.75  // of the rate with a background: where it is below without, labels are confused systematically

	leastSweeps    = 6
	mostHalvings   = 8    // of a Newton step
	pathTolerance  = 1e-2 // gain in log-likelihood below which the sweeps end, on the grid
	finalTolerance = 1e-3 // and at the rate chosen
	sweepRows      = 256  // rows whose sums are one term of all sums: a block
	leastChance    = 1e-9 // of a class that counts in the curvature
)

// MostSweeps is how many sweeps a fit takes at a rate, at most.
const MostSweeps = 60

// A labelFit fits a Model to given labels by maximum a posteriori. Rows are nodes that the base classifier was not
// trained on, whose labels therefore say something that their predictions have not seen. With x as in Model, the
// likelihood of given label i is
//
//	L_v = Σ_k P(y* = k) · P(ỹ = i | y* = k)
//
// At a fixed rate p the weights and U are found by expectation maximization: q_v(k), the posterior of the true class,
// then one Newton step of the weights on Σ_v Σ_k q_v(k) log P(y* = k), which is concave, and U from the expected counts
// of wrong labels.
//
// The likelihood has little to say of p where flips look like doubt: its profile over p is flat, and its maximum may be
// at zero. So p is the mean of its distribution given the labels,
//
//	p ~ exp(log-likelihood(p)/dependence) · prior(p)
//
// Of a row whose true class a person has said, that class alone counts: L_v has one term; where a person has said that
// the label is wrong, its class does not count. What people have said counts for p once more, and in full, in Calibration:
// they say more than a label does.
type labelFit struct {
	classes, width int                     // of x
	columns        []int                   // of the features, that x is made of, before the votes
	votes          []float32               // n [rows×classes]; nil: x has none
	labels         []kv.Class              // [rows]
	kinds          []kind                  // what is known of the true classes of rows; the first is of rows without a label
	kindOf         []int32                 // [lines×lanes]
	noise          []float64               // [kinds×classes], of a sweep; see noiseUnder
	rates          []float64               // that are tried, ascending
	uniform        bool                    // V stays uniform
	background     *lines                  // B, a line a top class
	scale          []float64               // of each feature: its standard deviation between the classes of a row
	x              *scratch.Array[float32] // [lines×classes×width×lanes], centred on each row, divided by scale; zero without a label
	posterior      *scratch.Array[float32] // q [lines×classes×lanes]
	workers        int
	scratch        []sweepScratch // of each worker that sweeps
	prior          float64        // counts a true class
}

// Rows are what a Model is fitted to.
type Rows struct {
	Labels []kv.Class // [rows]: the labels

	// Truth is what a person has said of the true class [rows], NoClass where nobody has, AnotherClass where no more is known
	// than that the label is wrong; nil: nobody has said anything of any.
	Truth []kv.Class

	Z              []float32 // features [rows×classes×width]
	Votes          []float32 // n [rows×classes]; nil: none
	Classes, Width int
	Joint          float64 // share of labels that confident learning counts as wrong, no more than SeeDoubt believes
	Doubtful       bool    // all labels are in doubt: see SeeDoubt

	Fits Fits // models that were fitted before: one of the same rows is not fitted again; nil: none are kept
}

// Fits are models by the digest of their rows.
type Fits map[[sha256.Size]byte]fitted

type fitted struct {
	model   Model
	profile []float64
}

// digest depends on all that Fit looks at.
func (of *Rows) digest() (sum [sha256.Size]byte, err error) {
	hash, evidence := sha256.New(), make([]float32, 0, len(of.Z))
	for z := range slices.Chunk(of.Z, of.Width) {
		for _, column := range evidenceColumns(of.Width) {
			evidence = append(evidence, z[column])
		}
	}
	sizes := []int64{int64(of.Classes), int64(of.Width)}
	for _, data := range []any{evidence, of.Votes, of.Labels, of.Truth, sizes, of.Joint >= manyWrong, of.Doubtful} {
		if err := binary.Write(hash, binary.LittleEndian, data); err != nil {
			return sum, err
		}
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// AnotherClass is the truth of a node of which nothing is known but that its label was wrong.
const AnotherClass = kv.NoClass - 1

// MostRows is the most rows that a model of so many classes is fitted to: more would not make a handful of weights better.
func MostRows(classes int) int { return min(modelCells/max(classes, 1), modelRows) }

// Fit fits a Model to rows; whoever knows the compatibility puts it in. profile has the log-likelihoods at
// the rates of RatesFor, over dependence. done, where not nil, is told of every rate that was tried.
//
// Two are fitted, with a background and without, and where very many labels seem wrong a third. Without it a systematic
// confusion that the classifier has learned passes for doubt about the nodes, and the rate comes out too low. With it
// classes that are hard to tell apart look certain, and the nodes with the least agreement are not told apart. So it is left
// out unless the rate is far lower without it, and where it leaves hardly anything of the predictions: they are poor then,
// and any rate fits. A background of the first
// decile leaves a part of such a confusion; that of the median leaves none, but takes doubt for flips where few labels are
// wrong.
//
// Where rows are doubtful it is left out as well, and wrong labels go anywhere: what predictions confuse would pass for
// flips, of nearly every second label.
func Fit(
	ctx context.Context, dir *scratch.Dir, rows Rows, workers int, done func(rates, of int),
) (model *Model, profile []float64, err error) {
	var digest [sha256.Size]byte
	if rows.Fits != nil {
		if digest, err = rows.digest(); err != nil {
			return nil, nil, err
		}
	}
	if known, ok := rows.Fits[digest]; ok {
		return &known.model, slices.Clone(known.profile), nil
	}
	tries := 2
	if rows.Joint >= manyWrong {
		tries = 3
	}
	if rows.Doubtful {
		tries = 1
	}
	for i, quantile := range []float64{noBackground, clearDecile, clearMedian}[:tries] {
		candidate, its, err := fitBehind(ctx, dir, rows, workers, quantile, func(rates, of int) {
			if done != nil {
				done(i*of+rates, tries*of)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		least := confusedRate
		if i == 2 && len(model.Background) > 0 {
			least = 1
		}
		if i == 0 || model.Rate < least*candidate.Rate && candidate.Weights[0] >= heardWeight*model.Weights[0] {
			model, profile = candidate, its
		}
	}
	if rows.Fits != nil {
		rows.Fits[digest] = fitted{*model, slices.Clone(profile)}
	}
	return model, profile, nil
}

// fitBehind fits one, with the background of a quantile.
func fitBehind(
	ctx context.Context, dir *scratch.Dir, rows Rows, workers int, quantile float64, done func(rates, of int),
) (*Model, []float64, error) {
	f, err := newLabelFit(ctx, dir, rows, evidenceColumns(rows.Width), workers, quantile)
	if err != nil {
		return nil, nil, err
	}
	model, profile, err := f.fit(ctx, done)
	return model, profile, errors.Join(err, f.Close())
}

// newLabelFit takes columns of the features of rows, and their votes. Rows that are not finite are left out: their x is
// zero for all classes.
func newLabelFit(
	ctx context.Context, dir *scratch.Dir, of Rows, columns []int, workers int, quantile float64,
) (f *labelFit, err error) {
	rows, classes, width, z := len(of.Labels), of.Classes, of.Width, of.Z
	f = &labelFit{
		classes: classes, width: len(columns), columns: columns, votes: of.Votes, uniform: of.Doubtful, workers: parallel.Workers(workers),
		rates: RatesFor(classes), prior: max(leastFlips, flipShare*float64(rows)) / float64(classes),
	}
	if f.votes != nil {
		f.width++
	}
	for r, y := range of.Labels {
		if !float32s.AllFinite(z[r*classes*width : (r+1)*classes*width]) {
			y = kv.NoClass
		}
		f.labels = append(f.labels, y)
	}
	for range min(f.workers, f.countTeams()) { // more do not sweep
		f.scratch = append(f.scratch, newSweepScratch(classes, f.width))
	}
	f.findKinds(of.Truth)
	if f.x, err = scratch.New[float32](dir, "log-features", linesOf(rows)*lanes*classes*f.width); err != nil {
		return nil, err
	}
	if f.posterior, err = scratch.New[float32](dir, "posterior", linesOf(rows)*lanes*classes); err != nil {
		return nil, errors.Join(err, f.x.Close())
	}
	tops := f.tops(z, width)
	if f.background = newLines(classes, nil); quantile != noBackground {
		f.measureBackground(z, width, tops, quantile)
	}
	if err := f.takeLogs(ctx, z, width, tops); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.standardize(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close gives the arrays back.
func (f *labelFit) Close() error { return errors.Join(f.x.Close(), f.posterior.Close()) }

// tops are the top classes of the rows, noTop where several have the largest prediction.
func (f *labelFit) tops(z []float32, width int) []int {
	tops := make([]int, len(f.labels))
	for r := range tops {
		tops[r] = topClass(z[r*f.classes*width:], f.classes, width)
	}
	return tops
}

// measureBackground is B: of the rows with a top class, a quantile of what is predicted of each other class, over that of
// the top class. The others are predicted as much, clear ones too.
func (f *labelFit) measureBackground(z []float32, width int, tops []int, quantile float64) {
	byTop := make([][]int, f.classes)
	for r, top := range tops {
		if f.labels[r] != kv.NoClass && top != noTop {
			byTop[top] = append(byTop[top], r)
		}
	}
	var often []int
	for top, rows := range byTop {
		if len(rows) >= leastOfTop {
			often = append(often, top)
		}
	}
	f.background = newLines(f.classes, often)
	var values []float32
	for _, top := range often {
		rows := byTop[top]
		among := func(k int) float64 {
			values = values[:0]
			for _, r := range rows {
				values = append(values, z[(r*f.classes+k)*width])
			}
			slices.Sort(values)
			return float64(values[int(quantile*float64(len(values)-1))])
		}
		own := among(top)
		for k := range f.classes {
			if k == top || own <= 0 {
				continue
			}
			if share := min(among(k)/own, 1); share >= leastBackground {
				f.background.of(top)[k] = share
			}
		}
	}
}

// findKinds finds out what is known of the rows.
func (f *labelFit) findKinds(truth []kv.Class) {
	f.kinds, f.kindOf = []kind{{kv.NoClass, kv.NoClass}}, make([]int32, linesOf(len(f.labels))*lanes)
	places := make(map[kind]int32)
	for r, y := range f.labels {
		if y == kv.NoClass {
			continue
		}
		of := kind{y, kv.NoClass}
		if truth != nil {
			of.truth = truth[r]
		}
		place, ok := places[of]
		if !ok {
			place = int32(len(f.kinds))
			places[of], f.kinds = place, append(f.kinds, of)
		}
		line, lane := placeOf(r)
		f.kindOf[line*lanes+lane] = place
	}
	f.noise = make([]float64, len(f.kinds)*f.classes)
}

// teams calls visit for the lines of every team, concurrently.
func (f *labelFit) teams(ctx context.Context, visit func(worker, team, first, end int)) error {
	lines := linesOf(len(f.labels))
	return parallel.Do(ctx, f.workers, f.countTeams(), func(_ context.Context, worker, team int) error {
		visit(worker, team, team*sweepRows, min((team+1)*sweepRows, lines))
		return nil
	})
}

func (f *labelFit) countTeams() int { return (linesOf(len(f.labels)) + sweepRows - 1) / sweepRows }

// between is x of the lines from first to end.
func (f *labelFit) between(first, end int) []float32 {
	line := f.classes * f.width * lanes
	return f.x.Data[first*line : end*line]
}

// takeLogs fills x, not yet divided by scale.
func (f *labelFit) takeLogs(ctx context.Context, z []float32, width int, tops []int) error {
	return f.teams(ctx, func(_, _, first, end int) {
		logs, own := make([]float64, f.classes*len(f.columns)), make([]float32, f.classes*f.width)
		for line := first; line < end; line++ {
			for lane := range lanes {
				r := rowAt(line, lane)
				if r >= len(f.labels) || f.labels[r] == kv.NoClass {
					continue
				}
				of, top := z[r*f.classes*width:], tops[r]
				for k := range f.classes {
					for i, column := range f.columns {
						most, background := float32(0), 0.0
						if top != noTop {
							most, background = of[top*width+column], f.background.at(top, k)
						}
						logs[k*len(f.columns)+i] = feature(of[k*width+column], most, background)
					}
				}
				elementary.Logs(logs)
				for k := range f.classes {
					for i := range f.columns {
						own[k*f.width+i] = float32(logs[k*len(f.columns)+i])
					}
					if f.votes != nil {
						own[k*f.width+len(f.columns)] = f.votes[r*f.classes+k]
					}
				}
				for j := range f.width {
					var mean float64
					for k := range f.classes {
						mean += float64(own[k*f.width+j]) / float64(f.classes)
					}
					for k := range f.classes {
						own[k*f.width+j] -= float32(mean)
					}
				}
				x := f.between(line, line+1)
				for i, value := range own {
					x[i*lanes+lane] = value
				}
			}
		}
	})
}

// standardize measures scale and divides x by it; a feature that is the same of all classes is left as it is.
func (f *labelFit) standardize(ctx context.Context) error {
	partial := make([]float64, f.countTeams()*lanes*f.width)
	err := f.teams(ctx, func(_, team, first, end int) {
		sums := make([]float64, f.width*lanes)
		for x := range slices.Chunk(f.between(first, end), len(sums)) {
			for i := range sums {
				sums[i] += float64(float64(x[i]) * float64(x[i]))
			}
		}
		putLanes(partial, team, sums)
	})
	if err != nil {
		return err
	}
	sums := addParts(partial, f.width)
	count := 0
	for _, y := range f.labels {
		if y != kv.NoClass {
			count++
		}
	}
	f.scale = make([]float64, f.width)
	for j, sum := range sums {
		if f.scale[j] = math.Sqrt(sum / float64(max(count*f.classes, 1))); f.scale[j] < 1e-6 {
			f.scale[j] = 1
		}
	}
	return f.teams(ctx, func(_, _, first, end int) {
		for x := range slices.Chunk(f.between(first, end), f.width*lanes) {
			for j, scale := range f.scale {
				for l, value := range ofLanes(x, j) {
					x[j*lanes+l] = float32(float64(value) / scale)
				}
			}
		}
	})
}

// putLanes writes the sums of a team [width×lanes] to those of all blocks [blocks×width].
func putLanes(blocks []float64, team int, sums []float64) {
	width := len(sums) / lanes
	for i, sum := range sums {
		blocks[(team*lanes+i%lanes)*width+i/lanes] = sum
	}
}

// addParts sums vectors of a width, one after the other in order.
func addParts(parts []float64, width int) []float64 {
	sums := make([]float64, width)
	for i, part := range parts {
		sums[i%width] += part
	}
	return sums
}

// Weigh finds the weights of some columns of the features when the labels are taken for right, without a background.
func Weigh(ctx context.Context, dir *scratch.Dir, rows Rows, columns []int, workers int) (weights []float64, err error) {
	f, err := newLabelFit(ctx, dir, rows, columns, workers, noBackground)
	if err != nil {
		return nil, err
	}
	state := f.start() // its rate is zero
	if _, _, err = f.maximize(ctx, state, finalTolerance); err == nil {
		weights = f.model(state).Weights
	}
	return weights, errors.Join(err, f.Close())
}
