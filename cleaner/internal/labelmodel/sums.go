package labelmodel

import "github.com/graphcleaner/graphcleaner/kv"

// lanes are the features of a class in x, where there are no more: zeros fill them up.
const lanes = 8

// strideOf is how many numbers of x a class takes.
func strideOf(width int) int { return max(width, lanes) }

// moments are what sweep sums up over rows, of no more features than lanes. The curvature is a symmetric matrix in three
// parts, the last of them at 4+i, 4+j; what lies below the diagonal of a part is not used.
type moments struct {
	gradient      [lanes]float64
	first, second [4][4]float64 // at i, j and at 4+i, 4+j
	beside        [4][4]float64 // [j][i]: at i, 4+j
}

// addTo adds the moments to the sums of addRowsPlainly.
func (m *moments) addTo(sums []float64, width int) {
	at := 0
	add := func(value float64) {
		sums[at] += value
		at++
	}
	for j := range width {
		add(m.gradient[j])
	}
	for i := range width {
		for j := i; j < width; j++ {
			switch {
			case j < 4:
				add(m.first[i][j])
			case i < 4:
				add(m.beside[j-4][i])
			default:
				add(m.second[i-4][j-4])
			}
		}
	}
}

// weighPlainly writes to utility the sum of weights times the features of x [utility×stride], one after the other.
func weighPlainly(utility []float64, x []float32, weights []float64, stride int) {
	for i := range utility {
		var sum float64
		for j, value := range x[i*stride:][:len(weights)] {
			sum += float64(weights[j] * float64(value))
		}
		utility[i] = sum
	}
}

// addRowsPlainly adds rows to sums: the gradient [width], and the upper triangle of the curvature.
func (f *labelFit) addRowsPlainly(first, end int, of sweepScratch, sums []float64) {
	for r, y := range f.labels[first:end] {
		if y != kv.NoClass {
			f.addRowPlainly(first+r, of.chance[r*f.classes:][:f.classes], of.excess[r*f.classes:], of.mean, of.deviation, sums)
		}
	}
}

// addRowPlainly adds a row; mean and deviation [width] are overwritten.
func (f *labelFit) addRowPlainly(r int, chance, excess, mean, deviation, sums []float64) {
	x, gradient, curvature := f.between(r, r+1), sums[:f.width], sums[f.width:]
	clear(mean)
	for k, p := range chance {
		for j, value := range x[k*f.stride:][:len(mean)] {
			mean[j] += float64(p * float64(value))
			gradient[j] += float64(excess[k] * float64(value))
		}
	}
	for k, p := range chance {
		if p < leastChance {
			continue
		}
		for j, value := range x[k*f.stride:][:len(mean)] {
			deviation[j] = float64(value) - mean[j]
		}
		rest := curvature
		for i, own := range deviation {
			own *= p
			line := rest[:len(deviation)-i]
			for j, other := range deviation[i:] {
				line[j] += float64(own * other)
			}
			rest = rest[len(line):]
		}
	}
}

// A sweepScratch is the memory that a worker computes a block of rows in.
type sweepScratch struct {
	chance, excess  []float64 // [rows×classes]
	likelihood      []float64 // [rows], in the end its logarithm
	mean, deviation []float64 // [width]
}

func newSweepScratch(rows, classes, width int) sweepScratch {
	return sweepScratch{
		chance: make([]float64, rows*classes), excess: make([]float64, rows*classes), likelihood: make([]float64, rows),
		mean: make([]float64, width), deviation: make([]float64, width),
	}
}

// of is that of the first rows.
func (s sweepScratch) of(rows, classes int) sweepScratch {
	s.chance, s.excess, s.likelihood = s.chance[:rows*classes], s.excess[:rows*classes], s.likelihood[:rows]
	return s
}
