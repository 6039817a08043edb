// Package calibration estimates the share of wrong labels from the log-odds of each, and shifts the scores so that this share
// is their mean. It knows log-odds and rates, and nothing of their source.
package calibration

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
)

// A Calibration says how likely every mislabel rate is, and what the scores become at each. With L the log-odds of a
// score as the fit has it, before any shift,
//
//	score = (1−λ) · σ(L + δ)
//
// δ, the shift, gives the scores a rate as their mean; λ, the lapse, is the share of labels that are right though all
// evidence is against them. There are three hypotheses of how labels went wrong:
//
//	flips   whatever the evidence says: the likelihood of the labels tells the rate
//	doubt   where the evidence is unsure: the labels tell nothing
//	hidden  where the evidence is for them: neither the labels nor confident learning tell; only verdicts speak for it
//
// Before that the rate is believed to be somewhere around the share of labels that confident learning counts as wrong, by
// the hypotheses of flips and hidden not below PriorRate: where predictions say nothing, neither does that share.
// Verdicts, labels that a person has said to be right or wrong, change the weights of all: a Bernoulli trial each, with
// the score for its chance. Without a verdict nothing speaks for a lapse, and λ is zero.
//
// Its fields are exported so that a store can keep it.
type Calibration struct {
	Rates []float64 // [r], ascending

	// Shifts are δ [lapses×r]; infinite where no shift gives the mean. Flips, Doubt and Hidden are the logarithms of the weights
	// of the hypotheses [lapses×r], with what the verdicts say of them.
	Shifts, Flips, Doubt, Hidden []float64

	// Bins counts the nodes that the calibration rests on by their L; Share is what part of all they are. Decided counts
	// the nodes that have a verdict, wherever they come from.
	Bins, Decided []uint32
	Share         float64
	Right, Wrong  int64

	// Expect is the rate that was expected, the prior of which is then alone, and Threshold the threshold that was asked
	// for; zero: none was.
	Expect, Threshold float64

	// Before is the rate before any verdict. Only labels that were found wrong raise the rate above it.
	Before float64

	// Corrected is the share of the labels, as they were before all decisions, that decisions have put right before the fit.
	Corrected float64
}

// PriorRate is the mean of the rate that is believed before anything is seen, a beta distribution.
const PriorRate = 1. / 11

// What else is believed before anything is seen.
const (
	doubtWeight  = 0.15 // of the hypothesis of doubt
	hiddenWeight = 0.3  // of hidden, as soon as there are verdicts, beside 1 of the others
	lapseScale   = 0.1  // of flips: the weight of a lapse falls by e over so much; of the others all are alike
	priorHits    = 2    // first parameter of the beta distribution of the rate; the mean sets the second
	expectWidth  = 0.35 // standard deviation of the log-odds of a rate that was expected
	fullRise     = 10   // labels found wrong, as many as let the rate rise to where the hypotheses put it
	leastJoint   = 0.005
	mostJoint    = 0.6
)

// lapses are the λ that are tried.
var lapses = []float64{0, .1, .2, .3, .4, .5, .6}

// How L is counted, and how surely a trial can end one way.
const (
	binsPerUnit  = 64
	mostLogOdds  = 24
	leastChance  = 0.005
	greyQuantile = 0.95
)

// New weighs the rates, whose log-likelihoods, are given, by the share of labels that
// confident learning counts as wrong, before any verdict; its bins are those of the log-odds. Where a rate is expected, it
// is one of those.
func New(rates, logLikelihoods []float64, joint, expect float64, logOdds []float64, share float64) *Calibration {
	if at, ok := slices.BinarySearch(rates, expect); expect > 0 && !ok {
		rates, logLikelihoods = slices.Insert(slices.Clone(rates), at, expect), make([]float64, len(rates)+1)
	}
	c := &Calibration{
		Rates: slices.Clone(rates), Share: share, Expect: expect,
		Bins: make([]uint32, CountBins), Decided: make([]uint32, CountBins),
	}
	for _, l := range logOdds {
		if !math.IsNaN(l) {
			c.Bins[binOf(l)]++
		}
	}
	flips, doubt, hidings := make([]float64, len(rates)), make([]float64, len(rates)), make([]float64, len(rates))
	if joint = min(max(joint, leastJoint), mostJoint); math.IsNaN(joint) { // nothing was counted
		joint = PriorRate
	}
	for i, p := range rates {
		doubt[i], hidings[i] = logBeta(p, joint), logBeta(p, max(joint, PriorRate))
		if flips[i] = logLikelihoods[i] + hidings[i]; expect > 0 {
			away := (Logit(p) - Logit(expect)) / expectWidth
			flips[i] = float64(-away*away/2) - elementary.Log(p*(1-p))
			doubt[i], hidings[i] = flips[i], flips[i]
		}
		for _, hypothesis := range [][]float64{flips, doubt, hidings} {
			hypothesis[i] += elementary.Log(span(rates, i))
		}
	}
	for _, hypothesis := range [][]float64{flips, doubt, hidings} {
		normalizeLogs(hypothesis)
	}
	var scale float64
	for _, lapse := range lapses {
		scale += elementary.Exp(-lapse / lapseScale)
	}
	seen := c.occupied()
	for _, lapse := range lapses {
		for i, p := range rates {
			c.Shifts = append(c.Shifts, shiftTo(seen, p, lapse))
			c.Flips = append(c.Flips, elementary.Log(1-doubtWeight)-lapse/lapseScale-elementary.Log(scale)+flips[i])
			c.Doubt = append(c.Doubt, elementary.Log(doubtWeight/float64(len(lapses)))+doubt[i])
			c.Hidden = append(c.Hidden, elementary.Log(hiddenWeight/float64(len(lapses)))+hidings[i])
		}
	}
	c.Before = c.Estimate().Rate
	return c
}

// Logit is the inverse of the sigmoid.
func Logit(p float64) float64 { return elementary.Log(p) - elementary.Log(1-p) }

// logBeta is the logarithm, but for a constant, of the beta distribution with priorHits and a mean.
func logBeta(p, mean float64) float64 {
	return float64((priorHits-1)*elementary.Log(p)) + float64((priorHits/mean-priorHits-1)*elementary.Log(1-p))
}

// span is how much of the line an element of an ascending grid stands for.
func span(grid []float64, i int) float64 {
	below, above := grid[max(i-1, 0)], grid[min(i+1, len(grid)-1)]
	if i == 0 || i == len(grid)-1 {
		return above - below
	}
	return (above - below) / 2
}

// normalizeLogs makes weights of a sum of 1 from their logarithms, as logarithms.
func normalizeLogs(logs []float64) {
	most := slices.Max(logs)
	var sum float64
	for _, l := range logs {
		sum += elementary.Exp(l - most)
	}
	for i := range logs {
		logs[i] -= most + elementary.Log(sum)
	}
}

// MeanRate is the mean of the rate by the log-likelihoods at those of a grid, ascending, before any
func MeanRate(grid, profile []float64) (mean float64) {
	logs := make([]float64, len(grid))
	for i, p := range grid {
		logs[i] = profile[i] + logBeta(p, PriorRate) + elementary.Log(span(grid, i))
	}
	normalizeLogs(logs)
	for i, p := range grid {
		mean += float64(elementary.Exp(logs[i]) * p)
	}
	return mean
}

// binOf is where log-odds are counted.
func binOf(l float64) int {
	return int(math.Round((min(max(l, -mostLogOdds), mostLogOdds) + mostLogOdds) * binsPerUnit))
}

// logOddsOf is the middle of a bin.
func logOddsOf(bin int) float64 { return float64(float64(bin)/binsPerUnit) - mostLogOdds }

// A binCount is a bin with nodes in it.
type binCount struct{ logOdds, nodes float64 }

func (c *Calibration) occupied() (seen []binCount) {
	for b, n := range c.Bins {
		if n > 0 {
			seen = append(seen, binCount{logOddsOf(b), float64(n)})
		}
	}
	return seen
}

// shiftTo is how far the log-odds move for the mean of the scores to be a rate; infinite where no shift does that.
func shiftTo(seen []binCount, rate, lapse float64) float64 {
	const (
		mostShift  = 64
		bisections = 40
		nearly     = 0.98
	)
	if rate >= nearly*(1-lapse) {
		return math.Inf(1)
	}
	low, high := -float64(mostShift), float64(mostShift)
	powers := make([]float64, len(seen)) // of e: a sigmoid is 1/(1+power)
	for range bisections {
		shift := float64((low + high) / 2)
		for i, bin := range seen {
			powers[i] = -(bin.logOdds + shift)
		}
		elementary.Exps(powers)
		var sum, count float64
		for i, bin := range seen {
			sum += float64(bin.nodes * (1 / (1 + powers[i])))
			count += bin.nodes
		}
		if (1-lapse)*sum < rate*count {
			low = shift
		} else {
			high = shift
		}
	}
	return (low + high) / 2
}

// Observe takes a verdict in, on a label with log-odds l, whose log-odds were shownOdds when a person chose to
// look at it.
func (c *Calibration) Observe(l, shownOdds float64, wrong bool) {
	if math.IsNaN(l) {
		return
	}
	c.Decided[binOf(l)]++
	if wrong {
		c.Wrong++
	} else {
		c.Right++
	}
	for j, lapse := range lapses {
		for i := range c.Rates {
			at := j*len(c.Rates) + i
			says := math.Inf(-1)
			if shift := c.Shifts[at]; !math.IsInf(shift, 1) {
				chance := min(max((1-lapse)*elementary.Sigmoid(shownOdds+shift), leastChance), 1-leastChance)
				if !wrong {
					chance = 1 - chance
				}
				says = elementary.Log(chance)
			}
			for _, hypothesis := range [][]float64{c.Flips, c.Doubt, c.Hidden} {
				if len(hypothesis) > 0 {
					hypothesis[at] += says
				}
			}
		}
	}
}

// An Estimate is what a Calibration comes to.
type Estimate struct {
	Rate         float64 // mean, of the labels as the fit found them
	Low, High    float64 // an interval that has nine tenths of the weight, a twentieth on either side
	Shift, Lapse float64
	Threshold    float64 // of the greatest expected F1

	// Labels that are wrong where the evidence is unsure could be so many that the suspects would be those with scores above
	// this, in terms of the scores as they are.
	GreyFrom float64
}

// Estimate sums the calibration up.
func (c *Calibration) Estimate() (e Estimate) {
	r, rows, hidings := len(c.Rates), len(lapses), c.Hidden
	if c.Right+c.Wrong == 0 {
		rows, hidings = 1, nil
	}
	all := slices.Concat(c.Flips[:rows*r], c.Doubt[:rows*r], hidings)
	normalizeLogs(all)
	byRate, byLapse, doubt := make([]float64, r), make([]float64, rows), make([]float64, r)
	for at, l := range all {
		weight := elementary.Exp(l)
		byRate[at%r] += weight
		byLapse[at/r%rows] += weight
		if at >= rows*r && at < 2*rows*r {
			doubt[at%r] += weight
		}
	}
	for i, p := range c.Rates {
		e.Rate += float64(byRate[i] * p)
	}
	if c.Expect > 0 && rows == 1 {
		e.Rate = c.Expect
	}
	var sum float64
	for j, weight := range byLapse {
		if sum += weight; sum >= 0.5 {
			e.Lapse = lapses[j]
			break
		}
	}
	if e.Shift = c.shiftAt(e.Rate, e.Lapse); c.Right+c.Wrong > 0 {
		rise := min(float64(c.Wrong)/fullRise, 1)
		e.Shift = float64(rise*e.Shift) + float64((1-rise)*c.shiftAt(min(e.Rate, c.Before), 0))
		// What is known of decided labels takes the place of their scores.
		e.Rate = min((c.mislabels(e.Shift, e.Lapse)+float64(c.Share*float64(c.Wrong)))/c.count(), 1)
	}
	e.Low, e.High = c.quantile(byRate, (1-0.9)/2), c.quantile(byRate, (1+0.9)/2)
	e.Low, e.High = min(e.Low, e.Rate), max(e.High, e.Rate)
	grey := max(c.quantile(doubt, greyQuantile), e.Rate)
	cut := c.cut(e.Shift, e.Lapse)
	if c.Right > 0 && c.Wrong == 0 {
		cut = max(cut, c.cutBefore())
	}
	e.Threshold = e.Score(cut)
	if c.mislabels(e.Shift, e.Lapse) < 1 {
		e.Threshold = 0.5
	}
	e.Threshold = min(max(e.Threshold, edge), 1-edge)
	if c.Threshold > 0 {
		e.Threshold = c.Threshold
	}
	if e.GreyFrom = e.Threshold; c.Expect == 0 {
		e.GreyFrom = min(max(e.Score(c.cut(c.shiftAt(grey, e.Lapse), e.Lapse)), edge), e.Threshold)
	}
	for _, rate := range []*float64{&e.Rate, &e.Low, &e.High} {
		*rate = max(0, *rate-c.Corrected)
	}
	return e
}

// edge keeps a threshold from 0 and 1.
const edge = 1e-6

// Score is what log-odds of a fit become.
func (e *Estimate) Score(l float64) float64 { return (1 - e.Lapse) * elementary.Sigmoid(l+e.Shift) }

// quantile is where the weights of the rates [r] reach a share of their sum, between the rates that are tried.
func (c *Calibration) quantile(weights []float64, share float64) float64 {
	var sum, whole float64
	for _, weight := range weights {
		whole += weight
	}
	if whole == 0 {
		return 0
	}
	lastAt, last := 0.0, c.Rates[0]
	for i, weight := range weights {
		at := (sum + float64(weight/2)) / whole
		if at >= share {
			if i == 0 || at == lastAt {
				return c.Rates[i]
			}
			return last + (c.Rates[i]-last)*(share-lastAt)/(at-lastAt)
		}
		sum += weight
		lastAt, last = at, c.Rates[i]
	}
	return last
}

// shiftAt is δ at a rate between those that are tried; of a rate that no shift gives, the largest that one does.
func (c *Calibration) shiftAt(rate, lapse float64) float64 {
	shifts := c.Shifts[slices.Index(lapses, lapse)*len(c.Rates):][:len(c.Rates)]
	last := math.NaN()
	for i, p := range c.Rates {
		if math.IsInf(shifts[i], 1) {
			return last
		}
		if p >= rate {
			if i == 0 || p == rate {
				return shifts[i]
			}
			of := (Logit(rate) - Logit(c.Rates[i-1])) / (Logit(p) - Logit(c.Rates[i-1]))
			return last + float64(of*(shifts[i]-last))
		}
		last = shifts[i]
	}
	return last
}

// count is how many nodes the calibration rests on.
func (c *Calibration) count() (sum float64) {
	for _, n := range c.Bins {
		sum += float64(n)
	}
	return sum
}

// countUndecided is how many nodes of a bin have no verdict.
func (c *Calibration) countUndecided(bin int) float64 {
	return max(0, float64(c.Bins[bin])-float64(c.Share*float64(c.Decided[bin])))
}

// Mislabels is how many of the undecided labels are wrong, by an estimate.
func (c *Calibration) Mislabels(e Estimate) float64 { return c.mislabels(e.Shift, e.Lapse) }

// mislabels is that of a shift and a lapse.
func (c *Calibration) mislabels(shift, lapse float64) (sum float64) {
	for b := range c.Bins {
		sum += float64(c.countUndecided(b) * (1 - lapse) * elementary.Sigmoid(logOddsOf(b)+shift))
	}
	return sum
}

// cut is between the log-odds of a label that is flagged and of one that is not, for the greatest expected F1,
//
//	2 Σ_{flagged} s / (flags + Σ s)
//
// over the undecided labels.
func (c *Calibration) cut(shift, lapse float64) float64 {
	whole, best := c.mislabels(shift, lapse), len(c.Bins)-1
	var hits, flags, most float64
	for b := len(c.Bins) - 1; b >= 0; b-- {
		n := c.countUndecided(b)
		if n == 0 {
			continue
		}
		hits += float64(n * (1 - lapse) * elementary.Sigmoid(logOddsOf(b)+shift))
		flags += n
		if f1 := 2 * hits / (flags + whole); f1 > most {
			most, best = f1, b
		}
	}
	for below := best - 1; below >= 0; below-- {
		if c.countUndecided(below) > 0 {
			return (logOddsOf(best) + logOddsOf(below)) / 2
		}
	}
	return logOddsOf(best) - 1./binsPerUnit // all are flagged
}

// cutBefore is the cut before any verdict. Labels that are found right lower it no more: where they were the most suspect, the others
// are all alike, and the greatest expected F1 would flag many of these.
func (c *Calibration) cutBefore() float64 {
	before := *c
	before.Decided = make([]uint32, len(c.Decided))
	return before.cut(c.shiftAt(c.Before, 0), 0)
}

// CountBins is the length of Bins.
const CountBins = 2*mostLogOdds*binsPerUnit + 1

// CountScores counts scores as an estimate has made them in bins [CountBins]; NaN scores are left out.
func (e *Estimate) CountScores(scores []float32, bins []uint32) {
	for _, s := range scores {
		if l := e.LogOdds(float64(s)); !math.IsNaN(l) {
			bins[binOf(l)]++
		}
	}
}

// Rebin makes the calibration rest on all nodes in place of a sample: bins are those of their scores.
func (c *Calibration) Rebin(bins []uint32) {
	copy(c.Bins, bins)
	c.Share = 1
}

// LogOdds is the inverse of Score.
func (e *Estimate) LogOdds(s float64) float64 {
	if s != s {
		return s
	}
	s /= 1 - e.Lapse
	if s >= 1 {
		return mostLogOdds - e.Shift
	}
	if s <= 0 {
		return -mostLogOdds - e.Shift
	}
	return Logit(s) - e.Shift
}

// IsWhole says whether all that a calibration is made of is there.
func (c *Calibration) IsWhole() bool {
	cells := len(lapses) * len(c.Rates)
	return len(c.Rates) > 0 && len(c.Shifts) == cells && len(c.Flips) == cells && len(c.Doubt) == cells &&
		len(c.Hidden) == cells && len(c.Bins) == CountBins && len(c.Decided) == CountBins
}

// Clone is a calibration that takes verdicts in without changing c.
func (c *Calibration) Clone() *Calibration {
	other := *c
	other.Flips, other.Doubt, other.Hidden = slices.Clone(c.Flips), slices.Clone(c.Doubt), slices.Clone(c.Hidden)
	other.Decided = slices.Clone(c.Decided)
	return &other
}
