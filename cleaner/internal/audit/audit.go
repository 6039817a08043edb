// Package audit tells the share of wrong labels from labels that chance chose for a look. It knows strata, draws and
// judgements, and nothing of graphs, stores or how scores are made. A draw that is Unsettled counts as right in the low
// end of an interval, and as wrong in its high end.
package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
)

// Level is the chance that the intervals of all looks contain the true share.
const Level = 0.9

const (
	countStrata = 5
	firstLook   = 25

	// MostDraws bounds the order of draws. It is a look.
	MostDraws = 3200

	// lookError is the error of an interval at one look, of the looks up to lastFullLook; a later one has half the
	// error of the look before. Looks share draws and the intervals are cautious, so that all hold together with Level:
	// in .90 of simulated audits where scores say nothing, in .93 on average; see docs/detection/results/audit.md.
	lookError    = 0.025
	lastFullLook = 400

	// mostGain bounds by how much strata raise the effective number of draws.
	mostGain = 2
)

// A Draw is a drawn label: its node and the stratum that it stands for.
type Draw struct {
	Node    uint32
	Stratum uint8
}

// A Sample is the labels that chance chose, in the order in which they are looked at.
type Sample struct {
	Sizes []int64 // labels by stratum, the drawn ones included
	Draws []Draw
}

// Labels is how many labels the sample stands for.
func (s *Sample) Labels() (sum int64) {
	for _, n := range s.Sizes {
		sum += n
	}
	return sum
}

// An Estimate is the share of wrong labels, with an interval.
type Estimate struct {
	Right, Wrong    int     // of the draws; the others are unsure
	Rate, Low, High float64 // Rate is NaN if less than half of the draws are right or wrong
}

// NextLook is the first look after so many draws: 25, 50, 100, 200, … 3200, or all draws where there are fewer.
func (s *Sample) NextLook(after int) int {
	look := firstLook
	for look <= after {
		look *= 2
	}
	return min(look, len(s.Draws))
}

// Look is the latest look whose draws are all answered; zero before the first.
func (s *Sample) Look(answers []decide.Judgement) (look int) {
	for i, answer := range answers {
		if answer == decide.Unjudged {
			break
		}
		if i+1 == s.NextLook(i) {
			look = i + 1
		}
	}
	return look
}

// Estimate tells the rate from the answers to the first draws of the order [look], where look is a look. With W_h the
// share of stratum h among the labels, n_h its draws, p_h the share of wrong ones among them and f_h = n_h/N_h,
//
//	rate = Σ W_h p_h        variance = Σ W_h² (1−f_h) q_h(1−q_h)/n_h        q_h = (n_h p_h + rate)/(n_h+1)
//
// The interval is that of Clopper and Pearson for rate·m wrong ones among m = rate(1−rate)/variance draws, as Korn and
// Graubard have it for samples in strata; m is at most twice the draws. A draw that is unsure has the share of wrong
// ones among the others in the rate; where most are unsure, the others do not tell their share, and only the interval
// is known.
func (s *Sample) Estimate(answers []decide.Judgement, look int) (e Estimate) {
	for _, answer := range answers[:look] {
		switch answer {
		case decide.Right:
			e.Right++
		case decide.Wrong:
			e.Wrong++
		}
	}
	e.Rate = math.NaN()
	if settled := e.Right + e.Wrong; 2*settled >= look {
		e.Rate, _ = s.rate(answers[:look], float64(e.Wrong)/float64(settled))
	}
	if look == int(s.Labels()) { // every label was looked at
		e.Low, _ = s.rate(answers[:look], 0)
		e.High, _ = s.rate(answers[:look], 1)
		return e
	}
	low, atLow := s.rate(answers[:look], 0)
	high, atHigh := s.rate(answers[:look], 1)
	err := lookError
	for at := lastFullLook; at < look; at *= 2 {
		err /= 2
	}
	e.Low, _ = clopperPearson(low, atLow, err)
	_, e.High = clopperPearson(high, atHigh, err)
	return e
}

// rate is the share of wrong labels and the effective number of draws, with a share of wrong ones among the unsure.
func (s *Sample) rate(answers []decide.Judgement, unsure float64) (rate, effective float64) {
	wrong, draws := make([]float64, len(s.Sizes)), make([]float64, len(s.Sizes))
	for i, answer := range answers {
		h := s.Draws[i].Stratum
		draws[h]++
		switch answer {
		case decide.Wrong:
			wrong[h]++
		case decide.Unsettled:
			wrong[h] += unsure
		}
	}
	labels := float64(s.Labels())
	var drawn float64 // share of the labels in strata with draws
	for h, n := range draws {
		if n > 0 {
			drawn += float64(s.Sizes[h]) / labels
			rate += float64(float64(s.Sizes[h]) / labels * wrong[h] / n)
		}
	}
	rate = min(rate/drawn, 1)
	var variance float64
	for h, n := range draws {
		if n == 0 {
			continue
		}
		share := float64(s.Sizes[h]) / labels / drawn
		shrunk := (wrong[h] + rate) / (n + 1)
		left := 1 - n/float64(s.Sizes[h])
		variance += float64(share * share * left * shrunk * (1 - shrunk) / n)
	}
	effective = float64(len(answers))
	if most := mostGain * effective; rate > 0 && rate < 1 {
		effective = most
		if variance > 0 {
			effective = min(rate*(1-rate)/variance, most)
		}
	}
	return rate, effective
}

// clopperPearson is the interval of a share that was seen among draws, with half the error on either side.
func clopperPearson(share, draws, err float64) (low, high float64) {
	const none = 1e-9 // a share of rounding errors is none
	wrong := float64(share * draws)
	high = 1
	if wrong > none {
		low = mathext.InvRegIncBeta(wrong, draws-wrong+1, err/2)
	}
	if draws-wrong > none {
		high = mathext.InvRegIncBeta(wrong+1, draws-wrong, 1-float64(err/2))
	}
	return min(low, share), max(high, share)
}

// A Group counts the answers to the draws of a part of the labels, such as a class.
type Group struct {
	Answered, Wrong int
	Rate, Low, High float64 // NaN if too few are answered
}

// leastOfGroup is how many answered draws of a group tell its rate.
const leastOfGroup = 10

// ByGroup tells the rate of each group, from the answers to the first draws [look] and the group of each draw. The
// interval of a group holds with Level by itself, not together with others.
func (s *Sample) ByGroup(answers []decide.Judgement, groups []int, look, count int) []Group {
	all := make([]Group, count)
	draws := make([]float64, len(s.Sizes))
	for i := range look {
		draws[s.Draws[i].Stratum]++
	}
	wrong, settled, unsure := make([]float64, count), make([]float64, count), make([]float64, count) // weights
	for i, answer := range answers[:look] {
		h, g := s.Draws[i].Stratum, groups[i]
		weight := float64(s.Sizes[h]) / draws[h]
		switch answer {
		case decide.Wrong:
			wrong[g] += weight
			all[g].Wrong++
			fallthrough
		case decide.Right:
			settled[g] += weight
			all[g].Answered++
		case decide.Unsettled:
			unsure[g] += weight
		}
	}
	for g := range all {
		whole := settled[g] + unsure[g]
		n := float64(all[g].Answered) * whole / settled[g]
		switch {
		case int64(look) == s.Labels() && settled[g] > 0: // every label was looked at
			all[g].Rate, all[g].Low, all[g].High = wrong[g]/settled[g], wrong[g]/whole, (wrong[g]+unsure[g])/whole
			continue
		case all[g].Answered < leastOfGroup:
			all[g].Rate, all[g].Low, all[g].High = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		all[g].Rate = wrong[g] / settled[g]
		all[g].Low, _ = clopperPearson(wrong[g]/whole, n, 1-Level)
		_, all[g].High = clopperPearson((wrong[g]+unsure[g])/whole, n, 1-Level)
	}
	return all
}
