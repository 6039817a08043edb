// Package labelmodel says how likely a given label is to be wrong: it fits a model of the true class to agreement
// features and given labels, and scores labels by it. It knows features and labels, and neither a graph nor a store.
package labelmodel

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Model gives the posterior of a node's true class, and with it the chance that its given label is wrong, from
// the agreement features Z[v][k] of its classes k [K+1], P0 and L1 … LK:
//
//	u(v,k)            = Intercepts[k] + Σ_f Weights[f] · log(ε + Z_f[v][k])    no weight below zero
//	P(y* = k)         ∝ exp(u(v,k))
//	P(ỹ = i | y* = k) = r[k][i] for i ≠ k, and 1 − Σ_i r[k][i] for i = k
//	score             = σ(Shift + exp(Bend) · L),    L the log-odds of P(y* ≠ ỹ | ỹ)
//
// The rates r of pairs of classes: see channel. Intercepts are how far the predictions fall short of a class: those of
// a class with few labels do. The predictions of the neighbours are no feature: they have learned the label of the
// node, and repeat it, right or wrong. Agreement with a class never speaks against it: features of neighbouring hops
// say nearly the same, and few labels would give them large weights of either sign, which order the most suspect nodes
// by noise.
//
// Its fields are exported so that a store can keep it; they are read only.
type Model struct {
	Classes    int
	Weights    []float64 // [K+1]
	Intercepts []float64 // [c]

	// Flips has expected counts of wrong labels, Row the true class k and Column the given one i, Right [c] those of
	// right labels. Where Alike, all pairs have one rate: the predictions say too little of the labels to tell pairs
	// apart.
	Flips []classmatrix.Cell
	Right []float64
	Alike bool

	// The scale of the scores, and that of the fit: they differ while scores follow an audit.
	Scale
	Fitted Scale
	Asked  bool // the user asked for Threshold

	Unsettled bool // the fit still improved when it was ended

	// Untaught are the classes that the classifier has not learned, ascending. For a label of theirs Weights of the
	// agreement with predictions are zero.
	Untaught []kv.Class
}

// A Scale makes scores of log-odds.
type Scale struct {
	Told        float64 // share of wrong labels that is told, which Shift makes the mean of the scores
	Shift, Bend float64
	Threshold   float64 // that of the greatest expected F1
}

// How a model sees features.
const (
	featureFloor = 1e-3 // ε: less agreement is none
	modelClasses = 4    // rivals of a label under test; see ChooseRivals
	mostLogOdds  = 64   // of a label to be wrong, or to be right
)

// A Scorer is a Model with its matrices as they are used.
type Scorer struct {
	odds, bend    float64 // exp(Shift), exp(Bend) − 1
	weights       []float64
	intercepts    []float64
	columns       []int // of the features that have a weight, ascending
	firstOfLabels int   // place among columns
	noise         *channel
	untaught      []kv.Class
}

// Scorer is the model with its matrices as they are used.
func (m *Model) Scorer() *Scorer {
	var labels []int
	for _, cell := range m.Flips {
		labels = append(labels, cell.Column)
	}
	flips := newLines(m.Classes, labels)
	for _, cell := range m.Flips {
		flips.of(cell.Column)[cell.Row] = cell.Value
	}
	d := &Scorer{
		odds: elementary.Exp(m.Shift), bend: elementary.Exp(m.Bend) - 1,
		weights: m.Weights, intercepts: m.Intercepts, untaught: m.Untaught,
		noise: newChannel(flips, m.Right, m.Alike),
	}
	for column, weight := range m.Weights {
		if weight == 0 {
			continue
		}
		if d.columns = append(d.columns, column); column == 0 {
			d.firstOfLabels = 1
		}
	}
	return d
}

// Transition tells the rates of pairs of classes, P(ỹ = given | y* = true).
func (m *Model) Transition() func(given, true int) float64 {
	return m.Scorer().noise.of
}

// Joint is P(ỹ = i, y* = j) [c×c] of the labels that the model was fitted to, Row the given label i and Column the true
// class j.
func (m *Model) Joint() *classmatrix.Matrix {
	joint := &classmatrix.Matrix{Classes: m.Classes}
	var labels float64
	for k, count := range m.Right {
		joint.Cells, labels = append(joint.Cells, classmatrix.Cell{Row: k, Column: k, Value: count}), labels+count
	}
	for _, cell := range m.Flips {
		joint.Cells, labels = append(joint.Cells, classmatrix.Cell{Row: cell.Column, Column: cell.Row, Value: cell.Value}),
			labels+cell.Value
	}
	slices.SortFunc(joint.Cells, classmatrix.Compare)
	for i := range joint.Cells {
		joint.Cells[i].Value /= labels
	}
	return joint
}

// Reach is the most hops over which a label has a part in a score: those of the last of L1 … LK with a weight, and at
// least one, as neighbours choose a rival.
func (m *Model) Reach() int {
	for k := len(m.Weights) - 1; k > 1; k-- {
		if m.Weights[k] != 0 {
			return k
		}
	}
	return 1
}

// LogFeatures writes the logarithm of each feature, as the model sees it.
func LogFeatures(z []float32, logs []float64) {
	for i, own := range z {
		logs[i] = feature(own)
	}
	elementary.Logs(logs)
}

func feature(z float32) float64 { return featureFloor + max(0, float64(z)) }

// A Judgement is the output of a model for a label.
type Judgement struct {
	Score float64 // the chance that the label is wrong

	Rival  int     // the place of the likeliest other class
	Chance float64 // its posterior
}

// Judge judges the label classes[0], where classes are all that the true one may be, z [len(classes)×(K+1)] their
// features; all is NaN where a feature is not finite. Of an untaught label the features of predictions do not count.
// memory [len(classes)+len(z)] is overwritten.
func (m *Scorer) Judge(classes []kv.Class, z []float32, untaught bool, memory []float64) (j Judgement) {
	if slices.ContainsFunc(z, isNotFinite) {
		return Judgement{math.NaN(), 1, math.NaN()}
	}
	width, columns := len(m.weights), m.columns
	if untaught {
		columns = columns[m.firstOfLabels:]
	}
	utility, logs := memory[:len(classes)], memory[len(classes):][:len(classes)*len(columns)]
	for i := range classes {
		for at, column := range columns {
			logs[i*len(columns)+at] = feature(z[i*width+column])
		}
	}
	elementary.Logs(logs)
	most := math.Inf(-1)
	for i, k := range classes {
		utility[i] = m.intercepts[k]
		for at, log := range logs[i*len(columns):][:len(columns)] {
			utility[i] += float64(m.weights[columns[at]] * log)
		}
		most = max(most, utility[i])
	}
	for i := range utility {
		utility[i] -= most
	}
	elementary.Exps(utility)
	right := float64(m.noise.right[classes[0]] * utility[0])
	rates := m.noise.rates.of(int(classes[0]))
	var wrong, best float64
	j.Rival = min(1, len(classes)-1)
	for i, k := range classes[1:] {
		joint := float64(rates[k] * utility[i+1])
		if wrong += joint; joint > best {
			best, j.Rival = joint, i+1
		}
	}
	odds := m.odds
	if m.bend != 0 {
		odds *= elementary.Exp(float64(m.bend * logOddsOf(wrong, right)))
	}
	wrong, best = float64(wrong*odds), float64(best*odds)
	j.Score, j.Chance = wrong/(right+wrong), best/(right+wrong)
	return j
}

// logOddsOf are the log-odds of two chances, or of what is proportional to them. They are finite, so that they can be
// scaled.
func logOddsOf(wrong, right float64) float64 {
	return min(max(elementary.Log(wrong)-elementary.Log(right), -mostLogOdds), mostLogOdds)
}

// isNotFinite says whether a value is NaN or infinite.
func isNotFinite(value float32) bool { return value-value != 0 }
