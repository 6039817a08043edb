package nn

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// SoftmaxLoss returns the mean cross-entropy of logits [rows×classes] against the right class of each row. It
// overwrites the logits with its gradient.
func SoftmaxLoss(logits []float32, right []int) float64 {
	rows := max(len(right), 1)
	classes := len(logits) / rows
	Softmaxes(logits, classes)
	var loss float64
	for r, y := range right {
		row := logits[r*classes:][:classes]
		loss -= elementary.Log(max(float64(row[y]), math.SmallestNonzeroFloat32))
		row[y]--
	}
	for i := range logits {
		logits[i] /= float32(rows)
	}
	return loss / float64(rows)
}

// Softmaxes turns logits [rows×classes] into probabilities, in place.
func Softmaxes(logits []float32, classes int) {
	exps := make([]float64, classes)
	for len(logits) > 0 {
		row := logits[:classes]
		logits = logits[classes:]
		largest, sum := slices.Max(row), 0.0
		for j, x := range row {
			exps[j] = float64(x - largest)
		}
		elementary.Exps(exps)
		for _, e := range exps {
			sum += e
		}
		for j, e := range exps {
			row[j] = float32(float64(float32(e)) / sum)
		}
	}
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
