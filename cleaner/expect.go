package cleaner

import (
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// sampleScores are the scores of the given labels of a sample [rows], by the features z [rows×classes×(2K+1)] and the
// votes n [rows×classes], nil for none, of all of its classes.
func (m *labelModel) sampleScores(given []kv.Class, z, n []float32, width int) []float64 {
	scores := make([]float64, len(given))
	c := len(z) / max(len(given)*width, 1)
	classes, rows, memory := make([]kv.Class, c), make([]float32, c*width), make([]float64, c)
	var votes []float32
	if n != nil {
		votes = make([]float32, c)
	}
	for r, label := range given {
		for i := range classes { // the label under test stands first
			classes[i] = kv.Class((int(label) + i) % c)
			copy(rows[i*width:][:width], z[(r*c+int(classes[i]))*width:])
			if n != nil {
				votes[i] = n[r*c+int(classes[i])]
			}
		}
		scores[r] = m.score(classes, rows, votes, false, memory)
	}
	return scores
}

// How far the log-odds of scores may move, and how exactly.
const (
	mostShift     = 64
	shiftBisected = 60
)

// shiftTo is how far the log-odds of scores move for their mean to be a share. NaN scores are left out.
func shiftTo(scores []float64, share float64) float64 {
	low, high := -float64(mostShift), float64(mostShift)
	for range shiftBisected {
		shift := (low + high) / 2
		odds := math.Exp(shift)
		var sum, count float64
		for _, s := range scores {
			if !math.IsNaN(s) {
				sum += s * odds / (1 - s + s*odds)
				count++
			}
		}
		if sum < share*count {
			low = shift
		} else {
			high = shift
		}
	}
	return (low + high) / 2
}
