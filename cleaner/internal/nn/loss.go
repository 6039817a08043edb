package nn

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// SoftmaxLoss returns the mean cross-entropy of logits [rows×classes] against the right class of each row. It overwrites
// the logits with its gradient.
func SoftmaxLoss(logits []float32, right []int) float64 {
	classes := len(logits) / max(len(right), 1)
	var loss float64
	for r, y := range right {
		row := logits[r*classes : (r+1)*classes]
		Softmax(row)
		loss -= elementary.Log(max(float64(row[y]), math.SmallestNonzeroFloat32))
		row[y]--
		divide(row, float32(len(right)))
	}
	return loss / float64(max(len(right), 1))
}

// Softmax turns logits into probabilities, in place.
func Softmax(row []float32) {
	most := float32(math.Inf(-1))
	for _, value := range row {
		if value > most {
			most = value
		}
	}
	var memory [64]float64
	var sum float64
	for part := range slices.Chunk(row, len(memory)) {
		exps := memory[:len(part)]
		subtract(exps, part, most)
		elementary.Exps(exps)
		round(part, exps)
		for _, e := range exps {
			sum += e
		}
	}
	divideBy(row, sum)
}

// L1Loss returns the mean of |sigmoid(output) − right| over the rows of a network with one output. It overwrites the
// outputs with its gradient.
func L1Loss(outputs []float32, right []bool) float64 {
	var loss float64
	for r, wrong := range right {
		p := elementary.Sigmoid(float64(outputs[r]))
		slope := p * (1 - p) / float64(len(right))
		if wrong {
			loss += 1 - p
			slope = -slope
		} else {
			loss += p
		}
		outputs[r] = float32(slope)
	}
	return loss / float64(len(right))
}
