package labelmodel

import (
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// lanes are the blocks of rows that are swept at once, a team: a vector has a number of each of them. The sums of a
// block are those of its rows one after the other, whatever the other lanes have.
const lanes = 8

// placeOf is where the numbers of a row lie among those of all teams: a lane of a line.
func placeOf(row int) (line, lane int) {
	block := row / sweepRows
	return block/lanes*sweepRows + row%sweepRows, block % lanes
}

// rowAt is the row whose place a line and a lane are. There may be none.
func rowAt(line, lane int) int { return (line/sweepRows*lanes+lane)*sweepRows + line%sweepRows }

// linesOf is how many lines so many rows take. The last team is no higher than its first block.
func linesOf(rows int) int {
	const team = lanes * sweepRows
	return rows/team*sweepRows + min(rows%team, sweepRows)
}

// chunkCells is how many lines times classes are swept before the next ones, so that their numbers stay in the first
// cache.
const chunkCells = 128

// A sweepScratch is the memory that a worker sweeps a few lines in.
type sweepScratch struct {
	chance, excess []float64 // [lines×classes×lanes]
	likelihood     []float64 // [lines×lanes], in the end its logarithm
	deviations     []float64 // [2×classes×width×lanes] of features from their means, their products with chances, and [width×lanes] the means
}

func newSweepScratch(classes, width int) sweepScratch {
	lines := max(chunkCells/classes, 1)
	return sweepScratch{
		chance: make([]float64, lines*classes*lanes), excess: make([]float64, lines*classes*lanes), likelihood: make([]float64, lines*lanes),
		deviations: make([]float64, (2*classes+1)*width*lanes),
	}
}

// of is that of the first lines.
func (s sweepScratch) of(lines, classes int) sweepScratch {
	cells := lines * classes * lanes
	s.chance, s.excess, s.likelihood = s.chance[:cells], s.excess[:cells], s.likelihood[:lines*lanes]
	return s
}

// ofLanes are the numbers at a place of vectors.
func ofLanes[T float32 | float64 | int32](numbers []T, at int) *[lanes]T {
	return (*[lanes]T)(numbers[at*lanes:])
}

// weigh writes to utility [lines×classes×lanes] the sums of weights times the features x [lines×classes×width×lanes],
// one after the other, less the largest of the classes.
func weigh(utility []float64, x []float32, weights []float64, classes, width int) {
	for line := range len(utility) / (classes * lanes) {
		var most [lanes]float64
		for l := range most {
			most[l] = math.Inf(-1)
		}
		for k := range classes {
			var sum [lanes]float64
			for j := range width {
				value, weight := ofLanes(x, (line*classes+k)*width+j), ofLanes(weights, j)
				for l := range sum {
					sum[l] += float64(weight[l] * float64(value[l]))
				}
			}
			*ofLanes(utility, line*classes+k) = sum
			for l, own := range sum {
				if own > most[l] { // max would look for NaN, too
					most[l] = own
				}
			}
		}
		for k := range classes {
			own := ofLanes(utility, line*classes+k)
			for l := range own {
				own[l] -= most[l]
			}
		}
	}
}

// judge computes the posteriors of lines, what they exceed the chances by, and the likelihoods. The chances come as
// exponentials. noise [kinds×classes] is the chance of what is known of a row under each true class, by the kind of the
// row.
func judge(chance, excess []float64, posterior []float32, likelihood, noise []float64, kinds []int32, classes int) {
	for line := range len(likelihood) / lanes {
		var whole, sum [lanes]float64
		var under [lanes][]float64
		for l, kind := range ofLanes(kinds, line) {
			under[l] = noise[int(kind)*classes:][:classes]
		}
		for k := range classes {
			for l, e := range ofLanes(chance, line*classes+k) {
				whole[l] += e
			}
		}
		for k := range classes {
			own, q := ofLanes(chance, line*classes+k), ofLanes(posterior, line*classes+k)
			for l := range own {
				own[l] /= whole[l]
				joint := float64(own[l] * under[l][k])
				sum[l] += joint
				q[l] = float32(joint)
			}
		}
		for l := range sum {
			sum[l] = max(sum[l], math.SmallestNonzeroFloat64)
		}
		for k := range classes {
			own, q, more := ofLanes(chance, line*classes+k), ofLanes(posterior, line*classes+k), ofLanes(excess, line*classes+k)
			for l := range own {
				q[l] = float32(float64(q[l]) / sum[l])
				more[l] = float64(q[l]) - own[l]
			}
		}
		*ofLanes(likelihood, line) = sum
	}
}

// addLines adds lines to sums: the gradient [width×lanes], and the upper triangle of the curvature. Rows without a
// label, whose x is zero, add nothing.
func addLines(sums []float64, x []float32, of sweepScratch, classes, width int) {
	for line := range len(of.chance) / (classes * lanes) {
		x, chance, excess := x[line*classes*width*lanes:], of.chance[line*classes*lanes:], of.excess[line*classes*lanes:]
		deviations, products := of.deviations, of.deviations[classes*width*lanes:]
		for j := range width {
			var mean [lanes]float64
			gradient := ofLanes(sums, j)
			for k := range classes {
				value, p, more := ofLanes(x, k*width+j), ofLanes(chance, k), ofLanes(excess, k)
				for l := range mean {
					mean[l] += float64(p[l] * float64(value[l]))
					gradient[l] += float64(more[l] * float64(value[l]))
				}
			}
			for k := range classes {
				value, p, deviation, product := ofLanes(x, k*width+j), ofLanes(chance, k), ofLanes(deviations, k*width+j), ofLanes(products, k*width+j)
				for l := range mean {
					deviation[l] = float64(value[l]) - mean[l]
					product[l] = 0
					if !(p[l] < leastChance) {
						product[l] = float64(deviation[l] * p[l])
					}
				}
			}
		}
		at := width
		for i := range width {
			for j := i; j < width; j++ {
				sum := ofLanes(sums, at)
				at++
				for k := range classes {
					product, deviation := ofLanes(products, k*width+i), ofLanes(deviations, k*width+j)
					for l := range sum {
						sum[l] += float64(product[l] * deviation[l])
					}
				}
			}
		}
	}
}

// A kind is what is known of the true class of a row: its label, and what a person has said.
type kind struct{ label, truth kv.Class }

// noiseUnder writes the chance of what is known of a row, under each true class.
func (s *modelState) noiseUnder(of kind, noise []float64) {
	y := int(of.label)
	for k := range noise {
		switch {
		case of.truth == AnotherClass && k == y || of.truth >= 0 && k != int(of.truth):
			noise[k] = 0
		case !s.allRight:
			noise[k] = s.noise.of(y, k)
		case k == y || of.truth != kv.NoClass:
			noise[k] = 1
		default:
			noise[k] = 0
		}
	}
}
