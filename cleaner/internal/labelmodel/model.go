// Package labelmodel says how likely a given label is to be wrong: it fits a model of the true class to agreement features and
// given labels, and scores labels by it. It knows features, votes and labels, and neither a graph nor a store.
package labelmodel

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Model gives the posterior of a node's true class, and with it the chance that its given label is wrong, from
// the agreement features Z[v][k] of its classes k [2K+1]. With top the class of the largest prediction of v,
//
//	x_f(v,k) = log(ε + max(0, Z_f[v][k] − B[top][k] · Z_f[v][top]))   B[top][top] = 0; no B where several are largest
//	u(v,k)   = Σ_f Weights[f] · x_f(v,k) + VoteWeight · n(v,k)        Weights[f], VoteWeight ≥ 0; Weights of P1 … PK zero
//	P(y* = k)         ∝ exp(u(v,k))
//	P(ỹ = i | y* = k) = 1−p where i = k, else p · U[k][i]
//	score             = (1−λ) · σ(L + δ), L the log-odds of P(y* ≠ ỹ | ỹ), λ Lapse and δ Shift
//
// Where neighbours do not agree, n counts their votes, each of which speaks for the classes whose nodes have such
// neighbours: with their given labels ỹ, d of them labelled, and C = Compatibility,
//
//	n(v,k) = 20/(20+d) · Σ_u C[k][ỹ_u]
//
// where their votes have weights, d times the weighted mean in place of the sum. p is Rate. B is the background: what a classifier that was trained on wrong labels predicts of class k for nodes that
// are clearly of another; it may be zero. U is how labels go wrong: of a node of true class k that is given a wrong label,
// the distribution of that label. P1 … PK have no weight: the predictions of the neighbours have learned the label of the
// node, and repeat it, right or wrong. Agreement with a class never speaks against it: features of neighbouring hops say nearly
// the same, and few labels would give them large weights of either sign, which order the most suspect nodes by noise.
//
// Its fields are exported so that a store can keep it; they are read only.
type Model struct {
	Classes int
	Rate    float64   // p
	Weights []float64 // [2K+1]

	// C [c×c], a line the class of the node: the logarithm of how much more often than others its neighbours are given a
	// class. nil: votes are not counted, as neighbours agree (LowHomophily), or classes are more than 256.
	Compatibility []float32
	VoteWeight    float64

	// Background has the entries of B that are not zero, Row the top class. Flips has expected counts of wrong labels,
	// Row the true class k and Column the given one i. With V[k][i] the count and Prior/(Classes−1), over the sum of row
	// k and Prior, U[k][i] = λ/(Classes−1) + (1−λ)·V[k][i]: a share λ of the wrong labels may be anything. None are kept of a
	// Doubtful model: all of them may be anything then.
	Background, Flips []classmatrix.Cell
	Prior             float64

	// Shift and Lapse are what Calibration comes to. It is that of when the model was fitted: a Rescore changes Shift and
	// Lapse alone.
	Shift, Lapse float64
	Calibration  *calibration.Calibration

	// Doubtful says that the predictions are too poor to tell doubt from wrong labels: Rate is mostly what is believed
	// before anything is seen, and wrong labels may be anything.
	Doubtful bool

	// Unsettled is how many of the fits, one at every rate that was tried and one at Rate, still improved when they were
	// ended.
	Unsettled int

	// Untaught are the classes that the classifier has not learned, ascending. For a label of theirs Weights of the
	// agreement with predictions are zero.
	Untaught []kv.Class
}

// How a model sees features.
const (
	featureFloor = 1e-3 // ε: less agreement is none
	anyFlip      = 0.25 // λ
	modelClasses = 4    // rivals of a label under test; see ChooseRivals
)

// A Scorer is a Model with its matrices as they are used.
type Scorer struct {
	rate          float64
	odds          float64 // exp(Shift)
	certain       float64 // 1 − Lapse
	weights       []float64
	columns       []int  // of the features that have a weight, ascending
	firstOfLabels int    // place among columns
	background    *lines // B [c×c], a line a top class
	flip          *lines // U [c×c], a line a given class; see normalizeFlips
	untaught      []kv.Class

	compatible *Compatibility // nil: votes are not counted
	voteWeight float64
}

// Scorer is the model with its matrices as they are used.
func (m *Model) Scorer() *Scorer {
	var tops, labels []int
	for _, cell := range m.Background {
		tops = append(tops, cell.Row)
	}
	for _, cell := range m.Flips {
		labels = append(labels, cell.Column)
	}
	d := &Scorer{
		rate: m.Rate, odds: elementary.Exp(m.Shift), certain: 1 - m.Lapse, weights: m.Weights, untaught: m.Untaught,
		background: newLines(m.Classes, tops), flip: newLines(m.Classes, labels),
	}
	for _, cell := range m.Background {
		d.background.of(cell.Row)[cell.Column] = cell.Value
	}
	for _, cell := range m.Flips {
		d.flip.of(cell.Column)[cell.Row] = cell.Value
	}
	normalizeFlips(d.flip, m.Prior)
	blendFlips(d.flip)
	for column, weight := range m.Weights {
		if weight == 0 {
			continue
		}
		if d.columns = append(d.columns, column); column <= len(m.Weights)/2 {
			d.firstOfLabels = len(d.columns)
		}
	}
	if m.Compatibility != nil {
		d.compatible, d.voteWeight = &Compatibility{m.Classes, m.Compatibility}, m.VoteWeight
	}
	return d
}

// normalizeFlips turns expected counts of wrong labels, a line the given class and an entry the true one, into
// distributions over the given classes, V, that lean to the uniform one by prior counts a true class. What a class has
// of itself is zero, and is not to be asked for in a line that is not held.
func normalizeFlips(counts *lines, prior float64) {
	each, mass := prior/float64(max(counts.classes-1, 1)), counts.other
	for k := range mass {
		mass[k] = prior
	}
	for _, i := range counts.numbers {
		line := counts.of(i)
		line[i] = 0
		for k, count := range line {
			mass[k] += count
		}
	}
	for _, i := range counts.numbers {
		line := counts.of(i)
		for k := range line {
			if k != i {
				line[k] = (line[k] + each) / mass[k]
			}
		}
	}
	for k, all := range mass {
		counts.other[k] = each / all
	}
}

// blendFlips turns V into U, in place.
func blendFlips(flip *lines) {
	blend := func(share float64) float64 { return anyFlip/float64(flip.classes-1) + float64((1-anyFlip)*share) }
	for _, i := range flip.numbers {
		line := flip.of(i)
		for k := range line {
			if k != i {
				line[k] = blend(line[k])
			}
		}
	}
	for k, share := range flip.other {
		flip.other[k] = blend(share)
	}
}

// Reach is the most hops over which a label has a part in a score: those of the last of L1 … LK with a weight, and at least one, as the
// votes of neighbours choose rivals.
func (m *Model) Reach() int {
	hops := len(m.Weights) / 2
	for k := hops; k > 1; k-- {
		if m.Weights[hops+k] != 0 {
			return k
		}
	}
	return 1
}

// noTop is the place of the top class where several classes have the largest prediction.
const noTop = -1

// topClass is the place of the class with the largest prediction among count classes with features z [count×width]. The
// first feature of a class is its prediction.
func topClass(z []float32, count, width int) (place int) {
	tied := false
	for i := 1; i < count; i++ {
		switch p, most := z[i*width], z[place*width]; {
		case p > most:
			place, tied = i, false
		case p == most:
			tied = true
		}
	}
	if tied {
		return noTop
	}
	return place
}

// evidenceColumns are the agreement features that a label model weighs, of so many: P0 and L1 … LK, which do not know
// the label of their node. P1 … PK do: the neighbours' predictions have learned it.
func evidenceColumns(width int) []int {
	columns := []int{0}
	for f := width/2 + 1; f < width; f++ {
		columns = append(columns, f)
	}
	return columns
}

// LogFeature is x of a class under test, from its feature without a background.
func LogFeature(z float32) float64 { return elementary.Log(feature(z, 0, 0)) }

// LogFeatures writes the LogFeature of each feature.
func LogFeatures(z []float32, logs []float64) {
	for i, own := range z {
		logs[i] = feature(own, 0, 0)
	}
	elementary.Logs(logs)
}

// feature is exp(x) of a class under test, from its feature z and that of the top class.
func feature(z, top float32, background float64) float64 {
	return featureFloor + max(0, float64(z)-float64(background*float64(top)))
}

// CountsVotes reports whether the votes of neighbours count.
func (m *Scorer) CountsVotes() bool { return m.compatible != nil }

// Votes writes n of classes under test to into [len(classes)] and returns it; nil where votes are not counted.
func (m *Scorer) Votes(classes []kv.Class, around Ballot, into []float32) []float32 {
	if m.compatible == nil {
		return nil
	}
	for i, k := range classes {
		into[i] = m.compatible.Evidence(around, k)
	}
	return into
}

// Score is the chance that the label classes[0] is wrong, where classes are all that the true one may be, z
// [len(classes)×(2K+1)] their features and n [len(classes)] the votes, nil for none; NaN where a feature is not finite. Of
// an untaught label the features of predictions do not count. memory [len(classes)+len(z)] is overwritten.
func (m *Scorer) Score(classes []kv.Class, z, n []float32, untaught bool, memory []float64) float64 {
	if !float32s.AllFinite(z) {
		return math.NaN()
	}
	width, columns := len(m.weights), m.columns
	if untaught {
		columns = columns[m.firstOfLabels:]
	}
	utility, logs := memory[:len(classes)], memory[len(classes):][:len(classes)*len(columns)]
	top := topClass(z, len(classes), width)
	for i, k := range classes {
		of, logs := z[i*width:][:width], logs[i*len(columns):]
		if top == noTop {
			for j, column := range columns {
				logs[j] = feature(of[column], 0, 0)
			}
			continue
		}
		most, background := z[top*width:][:width], m.background.at(int(classes[top]), int(k))
		for j, column := range columns {
			logs[j] = feature(of[column], most[column], background)
		}
	}
	elementary.Logs(logs)
	most := math.Inf(-1)
	for i := range classes {
		utility[i] = 0
		for j, log := range logs[i*len(columns):][:len(columns)] {
			utility[i] += float64(m.weights[columns[j]] * log)
		}
		if n != nil {
			utility[i] += float64(m.voteWeight * float64(n[i]))
		}
		most = max(most, utility[i])
	}
	for i := range utility {
		utility[i] -= most
	}
	elementary.Exps(utility)
	right := float64((1 - m.rate) * utility[0])
	var wrong float64
	for i, k := range classes[1:] {
		wrong += float64(m.rate * m.flip.at(int(classes[0]), int(k)) * utility[i+1])
	}
	wrong = float64(wrong * m.odds)
	return m.certain * (wrong / (right + wrong))
}

// Hypothetical is the score of a node, had it label, from the features of all its classes z [c][2K+1].
func (m *Scorer) Hypothetical(label kv.Class, z [][]float32, by Evidence) float64 {
	by.Predictions = make([]float32, len(z))
	for k := range z {
		by.Predictions[k] = z[k][0]
	}
	classes := make([]kv.Class, 1+CountRivals(len(z)))
	classes[0] = label
	by.ChooseRivals(label, classes[1:])
	var rows []float32
	for _, k := range classes {
		rows = append(rows, z[k]...)
	}
	_, untaught := slices.BinarySearch(m.untaught, label)
	votes := m.Votes(classes, by.Ballot, make([]float32, len(classes)))
	return m.Score(classes, rows, votes, untaught, make([]float64, len(classes)+len(rows)))
}
