package evaluate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Confident learning (Northcutt, Jiang, Chuang, arXiv:1911.00068) as cleanlab 2.9 does it where nothing else is asked
// for (filter_by="prune_by_noise_rate"), flag by flag, with its tolerances and its way of rounding:
//
//  1. t_j = mean P[v][j] over the nodes given j, at least 2e-6; no threshold if there is no such node.
//  2. Node v counts in C[ỹ][j] where P[v][j] ≥ t_j − 1e-6 for a single class j; where it holds for several, j is the
//     class with the largest P[v]. The diagonal is at least 1.
//  3. C is calibrated: row i scaled to the number of nodes given i, and rounded to whole nodes so that rows keep their
//     sums.
//  4. If a class has no node left on the diagonal it gets one, at the price of the others of its row.
//  5. For all i ≠ j the C[i][j] nodes given i with the largest P[v][j] − P[v][i] are flagged, unless i is their only
//     node.
//  6. No node whose label is the class with the largest prediction, within 1e-6, is flagged.
//
// Predictions must not have seen the labels that they speak of. All numbers are
// float64, so cleanlab agrees when it is given predictions as float64, except at ties: of nodes with equal differences,
// where not all can be flagged, the first by NodeID are, and of equal remainders in step 3 the first is rounded down.
// cleanlab takes those that its sort happens to leave first.
const (
	confidentTolerance = 1e-6
	leastThreshold     = 2e-6
)

// confidentLearning flags as above; the score is 1 − P[v][ỹ], cleanlab's self-confidence from the other side.
func confidentLearning(ctx context.Context, t *trial, m *Measurement) error {
	joint, counts, err := t.confidentCounts(ctx)
	if err != nil {
		return err
	}
	if err := t.flagLargestMargins(ctx, pruneCounts(joint, counts), counts, m.Flagged); err != nil {
		return err
	}
	return t.each(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		m.Scores[v] = 1 - float64(row[y])
		own := float64(row[y]) + confidentTolerance
		for j, p := range row {
			if float64(p) > own || float64(p) == own && j < int(y) {
				return // another class is the largest
			}
		}
		m.Flagged[v] = false
	})
}

// confidentCounts are steps 1 and 2, and how many nodes are given each class.
func (t *trial) confidentCounts(ctx context.Context) (joint [][]float64, counts []int, err error) {
	classes := t.Predictions.Width()
	sums := confident.NewThresholdSum(classes)
	counts = make([]int, classes)
	err = t.each(ctx, func(_ kv.NodeID, y kv.Class, row []float32) {
		sums.Add(y, float64(row[y]))
		counts[y]++
	})
	if err != nil {
		return nil, nil, err
	}
	thresholds := sums.Thresholds()
	for j, threshold := range thresholds {
		thresholds[j] = max(threshold, leastThreshold) - confidentTolerance // NaN stays
	}
	joint = classmatrix.Dense(classes)
	err = t.each(ctx, func(_ kv.NodeID, y kv.Class, row []float32) {
		first, above := -1, 0
		for j, p := range row {
			if float64(p) >= thresholds[j] {
				if above++; above == 1 {
					first = j
				}
			}
		}
		if above > 1 {
			first = slices.Index(row, slices.Max(row)) // of equals the first, as numpy.argmax
		}
		if first >= 0 {
			joint[y][first]++
		}
	})
	return joint, counts, err
}

// pruneCounts are steps 3 and 4: how many nodes given i are taken for nodes of j.
func pruneCounts(joint [][]float64, counts []int) [][]int {
	c := len(joint)
	calibration, byTrue := classmatrix.Dense(c), make([]float64, c*c)
	count := 0
	for i, row := range joint {
		row[i] = max(row[i], 1)
		sum := sumOf(row)
		for j, n := range row {
			calibration[i][j] = n / sum * float64(counts[i])
			byTrue[j*c+i] = calibration[i][j]
		}
		count += counts[i]
	}
	total := sumOf(byTrue)
	prune := make([][]int, c)
	for i, row := range calibration {
		for j := range row {
			row[j] = row[j] / max(total, math.SmallestNonzeroFloat64) * float64(count)
		}
		prune[i] = roundKeepingSum(row)
	}
	for i, row := range prune {
		if row[i] >= 1 {
			continue
		}
		kinds := 0.0
		for _, n := range row {
			if n != 0 {
				kinds++
			}
		}
		less := float64(1-row[i]) / max(kinds-1, 1)
		for j, n := range row {
			row[j] = int(max(float64(n)-less, 0))
		}
		row[i] = 1
	}
	return prune
}

// roundKeepingSum rounds numbers to integers, halves to even, and then changes those that were rounded the farthest by
// 1 until their sum is the rounded sum of the numbers.
func roundKeepingSum(values []float64) []int {
	integers := make([]float64, len(values))
	var sum float64
	for i, x := range values {
		integers[i] = math.RoundToEven(x)
		sum += integers[i]
	}
	order := make([]int, len(values))
	for total := math.RoundToEven(sumOf(values)); sum != total; {
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a]-integers[a], values[b]-integers[b]) })
		step := -1.0
		if total > sum {
			step = 1
			slices.Reverse(order)
		}
		for _, i := range order[:min(int(math.Abs(total-sum)), len(order))] {
			integers[i] += step
			sum += step
		}
	}
	whole := make([]int, len(values))
	for i, x := range integers {
		whole[i] = int(x)
	}
	return whole
}

func sumOf(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum
}

// flagLargestMargins is step 5. It holds at most twice as many margins as there are nodes, since the rows of
// prune add up to counts.
func (t *trial) flagLargestMargins(ctx context.Context, prune [][]int, counts []int, flagged []bool) error {
	type pair struct {
		class   kv.Class
		margins []margin
		most    int
	}
	pairs := make([][]*pair, len(prune)) // by given label
	for i, row := range prune {
		for j, most := range row {
			if i != j && most > 0 && counts[i] > 1 {
				pairs[i] = append(pairs[i], &pair{class: kv.Class(j), most: most})
			}
		}
	}
	err := t.each(ctx, func(v kv.NodeID, y kv.Class, row []float32) {
		for _, p := range pairs[y] {
			p.margins = append(p.margins, margin{v, float64(row[p.class]) - float64(row[y])})
			if len(p.margins) == 2*p.most {
				p.margins = largestMargins(p.margins, p.most)
			}
		}
	})
	for _, row := range pairs {
		for _, p := range row {
			for _, m := range largestMargins(p.margins, p.most) {
				flagged[m.node] = true
			}
		}
	}
	return err
}

// A margin is P[v][j] − P[v][ỹ] of a node.
type margin struct {
	node  kv.NodeID
	value float64
}

// largestMargins are the most largest, of equal ones those of the first nodes.
func largestMargins(all []margin, most int) []margin {
	slices.SortFunc(all,
		func(a, b margin) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.node, b.node)) })
	return all[:min(most, len(all))]
}
