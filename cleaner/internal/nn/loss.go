package nn

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// SoftmaxLoss returns the mean cross-entropy of logits [rows×classes] against the right class of each row. It
// overwrites the logits with its gradient.
func SoftmaxLoss(logits []float32, right []int) float64 {
	classes := len(logits) / max(len(right), 1)
	Softmaxes(logits, classes)
	var loss float64
	var memory [64]float64
	rows := logits
	for part := range slices.Chunk(right, len(memory)) {
		logs := memory[:len(part)]
		for r, y := range part {
			logs[r] = max(float64(rows[r*classes+y]), math.SmallestNonzeroFloat32)
			rows[r*classes+y]--
		}
		elementary.Logs(logs)
		for _, log := range logs {
			loss -= log
		}
		rows = rows[len(part)*classes:]
	}
	divide(logits, float64(len(right)))
	return loss / float64(max(len(right), 1))
}

// Softmax turns the logits of a row into probabilities, in place.
func Softmax(row []float32) { Softmaxes(row, len(row)) }

// Softmaxes turns logits [rows×classes] into probabilities, in place.
func Softmaxes(logits []float32, classes int) {
	if len(logits) == 0 {
		return
	}
	subtractLargest(logits, classes)
	var memory [512]float64
	var sum float64
	first, summed := 0, 0 // the first number of a row, and how many of the row are summed
	for part := range slices.Chunk(logits, len(memory)) {
		exps := memory[:len(part)]
		widen(exps, part)
		elementary.Exps(exps)
		round(part, exps)
		for len(exps) > 0 {
			count := min(classes-summed, len(exps))
			for _, e := range exps[:count] {
				sum += e
			}
			exps = exps[count:]
			if summed += count; summed == classes {
				divide(logits[first:first+classes], sum)
				first, summed, sum = first+classes, 0, 0
			}
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
