package labelmodel

import (
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Sampling says how the rows of a fit stand for all labels, and what the user asked for.
type Sampling struct {
	Added             []bool    // rows that were not drawn, and are there for what a person said of them
	Scores            []float64 // of rows with a truth: the score for which a person looked at them, NaN where there was none
	Share             float64   // drawn rows of all that can be
	Expect, Threshold float64   // see calibration.Calibration
}

// Calibrate fills Calibration, Shift and Lapse from the rows that the model was fitted to.
func (m *Model) Calibrate(rows Rows, of Sampling, profile []float64) {
	logOdds := m.Scorer().LogOdds(rows)
	var sample []float64
	corrections := 0.0
	for r, l := range logOdds {
		if of.Added[r] {
			continue
		}
		if sample = append(sample, l); rows.Truth[r] != kv.NoClass && rows.Truth[r] != rows.Labels[r] {
			corrections++
		}
	}
	m.Calibration = calibration.New(RatesFor(m.Classes), profile, rows.Joint, of.Expect, sample, of.Share)
	if m.Calibration.Threshold = of.Threshold; len(sample) > 0 {
		m.Calibration.Corrected = corrections / float64(len(sample))
	}
	before := m.Calibration.Estimate()
	for r, truth := range rows.Truth {
		if truth == kv.NoClass {
			continue
		}
		// People look at the highest scores first. Many of these are lower by another fit, which is no news of the rate.
		shownOdds := before.LogOdds(of.Scores[r])
		if math.IsNaN(shownOdds) {
			shownOdds = logOdds[r]
		}
		m.Calibration.Observe(logOdds[r], shownOdds, truth != rows.Labels[r])
	}
	e := m.Calibration.Estimate()
	m.Shift, m.Lapse = e.Shift, e.Lapse
}

// LogOdds are the log-odds of the scores of the given labels of rows, with all classes for rivals. The model is not
// shifted. An infinite one is a score of 0 or 1.
func (m *Scorer) LogOdds(of Rows) []float64 {
	labels, z, c, width := of.Labels, of.Z, of.Classes, of.Width
	logOdds := make([]float64, len(labels))
	classes, rows, memory := make([]kv.Class, c), make([]float32, c*width), make([]float64, c+c*width)
	var votes []float32
	if of.Votes != nil {
		votes = make([]float32, c)
	}
	for r, label := range labels {
		for i := range classes { // the label under test stands first
			classes[i] = kv.Class((int(label) + i) % c)
			copy(rows[i*width:][:width], z[(r*c+int(classes[i]))*width:])
			if votes != nil {
				votes[i] = of.Votes[r*c+int(classes[i])]
			}
		}
		logOdds[r] = calibration.Logit(m.Score(classes, rows, votes, false, memory))
	}
	return logOdds
}
