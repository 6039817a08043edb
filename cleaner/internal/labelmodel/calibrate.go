package labelmodel

import (
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Sampling says how the rows of a fit stand for all labels, and what the user asked for.
type Sampling struct {
	Added             []bool  // rows that were not drawn, and are there for what a person said of them
	Expect, Threshold float64 // rate of wrong labels that is expected, and threshold that was asked for; zero: none was
}

// guessedShare is the share of labels that would be wrong as often as the model doubts, in place of as often as the fit found. Labels that
// go wrong where everybody would doubt look right: neither graph nor predictions tell them from labels that are hard to judge.
const guessedShare = 0.03

// Calibrate fills Told, Shift and Threshold from the rows that the model was fitted to. What a person has said of a row takes the place
// of its score.
func (m *Model) Calibrate(rows Rows, of Sampling) {
	m.Shift = 0
	var logOdds []float64
	var doubt float64
	for r, j := range m.Scorer().judge(rows) {
		if math.IsNaN(j.Score) || rows.Truth != nil && rows.Truth[r] != kv.NoClass || of.Added != nil && of.Added[r] {
			continue
		}
		logOdds = append(logOdds, calibration.Logit(j.Score))
		doubt += j.Doubt
	}
	count := float64(max(len(logOdds), 1))
	if m.Told = of.Expect; m.Told == 0 {
		m.Told = float64((1-guessedShare)*meanScore(logOdds)) + float64(guessedShare*doubt/count)
	}
	m.Shift = calibration.Shift(logOdds, m.Told)
	scores := make([]float64, len(logOdds))
	for i, l := range logOdds {
		scores[i] = elementary.Sigmoid(l + m.Shift)
	}
	if m.Threshold = of.Threshold; m.Threshold == 0 {
		m.Threshold = calibration.Threshold(scores)
	}
}

func meanScore(logOdds []float64) (mean float64) {
	for _, l := range logOdds {
		mean += elementary.Sigmoid(l)
	}
	return mean / float64(max(len(logOdds), 1))
}

// LogOdds are the log-odds of the scores of the given labels of rows, with all classes for rivals. An infinite one is a score of 0 or 1.
func (m *Scorer) LogOdds(of Rows) []float64 {
	judged := m.judge(of)
	logOdds := make([]float64, len(judged))
	for r, j := range judged {
		logOdds[r] = calibration.Logit(j.Score)
	}
	return logOdds
}

// judge judges the given labels of rows, with all classes for rivals.
func (m *Scorer) judge(of Rows) []Judgement {
	labels, z, c, width := of.Labels, of.Z, of.Classes, of.Width
	judged := make([]Judgement, len(labels))
	classes, rows, memory := make([]kv.Class, c), make([]float32, c*width), make([]float64, c+c*width)
	for r, label := range labels {
		if label == kv.NoClass {
			judged[r].Score = math.NaN()
			continue
		}
		for i := range classes { // the label under test stands first
			classes[i] = kv.Class((int(label) + i) % c)
			copy(rows[i*width:][:width], z[(r*c+int(classes[i]))*width:])
		}
		judged[r] = m.Judge(classes, rows, false, memory)
	}
	return judged
}
