package labelmodel

import (
	"math"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A sweepScratch is the memory that a worker sweeps a block of rows in.
type sweepScratch struct {
	chance, excess    []float64 // [rows×classes]: P(y* = k), and the surplus of the posteriors over it
	noise             []float64 // [classes] of a row; see noiseUnder
	likelihood        []float64 // [rows], in the end its logarithm
	means, deviations []float64 // [width] of features, and of those of a class from them
}

func newSweepScratch(rows, classes, width int) sweepScratch {
	return sweepScratch{
		chance: make([]float64, rows*classes), excess: make([]float64, rows*classes), noise: make([]float64, classes),
		likelihood: make([]float64, rows),
		means:      make([]float64, width), deviations: make([]float64, width),
	}
}

// sweepRows writes the posteriors of the rows from first to end, and adds to their sums, row after row.
func (f *labelFit) sweepRows(s *modelState, first, end int, of *sweepScratch, sums []float64) {
	rows, c := end-first, f.classes
	chance, likelihood := of.chance[:rows*c], of.likelihood[:rows]
	for r := range rows {
		f.weigh(s, first+r, chance[r*c:][:c])
	}
	elementary.Exps(chance)
	for r := range rows {
		f.noiseUnder(s, first+r, of.noise)
		likelihood[r] = f.judge(first+r, chance[r*c:][:c], of.excess[r*c:][:c], of.noise)
	}
	elementary.Logs(likelihood)
	surplus := sums[f.weightSums():]
	for r, log := range likelihood {
		if f.labels[first+r] == kv.NoClass {
			continue
		}
		sums[0] += log
		excess := of.excess[r*c:][:c]
		f.addRow(sums[1:], first+r, chance[r*c:][:c], excess, of)
		for k, more := range excess {
			surplus[k] += more
		}
	}
}

// weigh writes the utilities of the classes of a row, the largest of the weighted sums subtracted.
func (f *labelFit) weigh(s *modelState, row int, utility []float64) {
	x, most := f.between(row, row+1), math.Inf(-1)
	for k := range utility {
		var sum float64
		for j, value := range x[k*f.width:][:f.width] {
			sum += float64(s.weights[j] * float64(value))
		}
		utility[k] = sum
		if sum > most { // max would look for NaN, too
			most = sum
		}
	}
	for k, more := range s.intercepts {
		utility[k] = utility[k] - most + more
	}
}

// judge turns the exponentials of the utilities of a row into chances, writes the posterior and what it exceeds the
// chances by, and returns the likelihood. under is of noiseUnder.
func (f *labelFit) judge(row int, chance, excess, under []float64) (sum float64) {
	var whole float64
	for _, e := range chance {
		whole += e
	}
	posterior := f.posterior.Data[row*f.classes:][:f.classes]
	for k := range chance {
		chance[k] /= whole
		joint := float64(chance[k] * under[k])
		sum += joint
		posterior[k] = float32(joint)
	}
	sum = max(sum, math.SmallestNonzeroFloat64)
	for k, q := range posterior {
		posterior[k] = float32(float64(q) / sum)
		excess[k] = float64(posterior[k]) - chance[k]
	}
	return sum
}

// addRow adds a row to sums: the gradient [width], and the upper triangle of the curvature.
func (f *labelFit) addRow(sums []float64, row int, chance, excess []float64, of *sweepScratch) {
	x, width := f.between(row, row+1), f.width
	gradient, curvature := sums[:width], sums[width:]
	clear(of.means)
	for k, p := range chance {
		for j, value := range x[k*width:][:width] {
			of.means[j] += float64(p * float64(value))
			gradient[j] += float64(excess[k] * float64(value))
		}
	}
	for k, p := range chance {
		if p < leastChance {
			continue
		}
		for j, value := range x[k*width:][:width] {
			of.deviations[j] = float64(value) - of.means[j]
		}
		at := 0
		for i, deviation := range of.deviations {
			product := float64(deviation * p)
			for _, other := range of.deviations[i:] {
				curvature[at] += float64(product * other)
				at++
			}
		}
	}
}

// noiseUnder writes the chance of what is known of a row, under each true class [c].
func (f *labelFit) noiseUnder(s *modelState, row int, noise []float64) {
	y, truth := f.labels[row], kv.NoClass
	if f.truth != nil {
		truth = f.truth[row]
	}
	switch {
	case y == kv.NoClass:
		clear(noise) // the row does not count
		return
	case s.noise != nil:
		copy(noise, s.noise.rates.of(int(y)))
		noise[y] = s.noise.right[y]
	case truth == kv.NoClass:
		clear(noise)
		noise[y] = 1
	default:
		for k := range noise {
			noise[k] = 1
		}
	}
	switch {
	case truth == AnotherClass:
		noise[y] = 0
	case truth != kv.NoClass:
		own := noise[truth]
		clear(noise)
		noise[truth] = own
	}
}
