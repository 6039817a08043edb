package labelmodel

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Sampling says how the rows of a fit stand for all labels, and what the user asked for.
type Sampling struct {
	Added             []bool  // rows that were not drawn, and are there for what a person said of them
	Expect, Threshold float64 // rate of wrong labels that is expected, and threshold that was asked for; zero: none was
}

// Calibrate fills the scale from the rows that the model was fitted to. What a person has said of a row takes the
// place of its score.
func (m *Model) Calibrate(rows Rows, of Sampling) {
	m.Scale = Scale{}
	var logOdds []float64
	for r, l := range m.Scorer().LogOdds(rows) {
		if math.IsNaN(l) || rows.Truth != nil && rows.Truth[r] != kv.NoClass || of.Added != nil && of.Added[r] {
			continue
		}
		logOdds = append(logOdds, l)
	}
	if m.Told = of.Expect; m.Told == 0 {
		m.Told = meanScore(logOdds)
	} else {
		m.Shift = calibration.Shift(logOdds, m.Told)
	}
	m.Threshold, m.Asked = of.Threshold, of.Threshold != 0
	m.setThreshold(logOdds)
	m.Fitted = m.Scale
}

// setThreshold chooses the threshold for labels with these log-odds, unless the user asked for one.
func (m *Model) setThreshold(logOdds []float64) {
	if m.Asked {
		return
	}
	scores := make([]float64, len(logOdds))
	slope := elementary.Exp(m.Bend)
	for i, l := range logOdds {
		scores[i] = elementary.Sigmoid(float64(slope*l) + m.Shift)
	}
	m.Threshold = calibration.Threshold(scores)
}

// Follow makes the scale that of a look of an audit, from a random part of the labels as they came, beside which all
// drawn labels are Added. Truth says which of the drawn labels are right, and which are wrong. Rate is the share of
// wrong labels that the audit tells by so many draws.
func (m *Model) Follow(rate float64, draws int, rows Rows, added []bool) {
	m.Scale = Scale{Threshold: m.Fitted.Threshold}
	var all, drawn []float64
	var wrong []bool
	for r, l := range m.Scorer().LogOdds(rows) {
		if math.IsNaN(l) {
			continue
		}
		if !added[r] {
			all = append(all, l)
		}
		if truth := rows.Truth[r]; truth != kv.NoClass {
			drawn, wrong = append(drawn, l), append(wrong, truth != rows.Labels[r])
		}
	}
	m.Told = rate
	m.Shift, m.Bend = calibration.Fit(all, drawn, wrong, rate, draws)
	m.setThreshold(all)
}

func meanScore(logOdds []float64) (mean float64) {
	for _, l := range logOdds {
		mean += elementary.Sigmoid(l)
	}
	return mean / float64(max(len(logOdds), 1))
}

// LogOdds are the log-odds of the scores of the given labels of rows, with all classes for rivals. NaN of a row
// without a label, or with a feature that is not finite.
func (m *Scorer) LogOdds(of Rows) []float64 {
	labels, z, c, width := of.Labels, of.Z, of.Classes, of.Width
	logOdds := make([]float64, len(labels))
	classes, rows, memory := make([]kv.Class, c), make([]float32, c*width), make([]float64, c+c*width)
	for r, label := range labels {
		if label == kv.NoClass {
			logOdds[r] = math.NaN()
			continue
		}
		for i := range classes { // the label under test stands first
			classes[i] = kv.Class((int(label) + i) % c)
			copy(rows[i*width:][:width], z[(r*c+int(classes[i]))*width:])
		}
		_, untaught := slices.BinarySearch(m.untaught, label)
		score := m.Judge(classes, rows, untaught, memory).Score
		logOdds[r] = logOddsOf(score, 1-score)
	}
	return logOdds
}
