package labelmodel

import (
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/calibration"
	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/kv"
)

// When rows are doubtful; agreement is the share of rows whose label has the largest prediction.
const (
	surestShare  = 0.1  // of the rows, those with the largest predictions
	hopelessTop  = 0.4  // agreement of the surest below which all labels are in doubt;
	doubtfulTop  = 0.55 // the same where neighbours disagree,
	doubtfulAll  = 0.65 // or the share of the agreement of the surest that that of all is below there
	leastSurest  = 10   // rows
	surestPrior  = 1    // labels, right and wrong, that are counted before any: few rows say little
	chanceErrors = 2    // standard errors by which the surest agree more often than with the most frequent class
	distrust     = 0.5  // share of wrong labels among the surest from which on predictions say nothing of the rate
)

// agreementShares say how far predictions agree with the labels of rows.
type agreementShares struct {
	all, surest float64 // shares of the rows, and of the surest
	mostWrong   float64 // share of wrong labels among the surest, which leans to a half where they are few
	frequent    float64 // share of the most frequent class
	deviation   float64 // standard error of surest
	loss, blind float64 // cross-entropy of the labels, by the predictions and by the shares of the classes
}

// agreement is false where rows are too few to say.
func (of *Rows) agreement() (a agreementShares, ok bool) {
	var sure []float32 // the largest prediction of every row
	var agrees []bool
	row, counts := of.Classes*of.Width, make([]float64, of.Classes)
	for r, y := range of.Labels {
		z := of.Z[r*row:][:row]
		if y == kv.NoClass || !float32s.AllFinite(z) {
			continue
		}
		most, own := z[0], z[int(y)*of.Width]
		for k := range of.Classes {
			most = max(most, z[k*of.Width])
		}
		sure, agrees = append(sure, most), append(agrees, own == most)
		counts[y]++
		a.loss -= elementary.Log(featureFloor + max(0, float64(own)))
	}
	if len(sure) < leastSurest/surestShare {
		return a, false
	}
	ascending := slices.Sorted(slices.Values(sure))
	from := ascending[len(ascending)-int(surestShare*float64(len(ascending)))]
	n := float64(len(sure))
	var surest, agreeing, wrong float64
	for i, most := range sure {
		if agrees[i] {
			agreeing++
		}
		if most >= from {
			surest++
			if !agrees[i] {
				wrong++
			}
		}
	}
	for _, count := range counts {
		if a.frequent = max(a.frequent, count/n); count > 0 {
			a.blind -= float64(count / n * elementary.Log(count/n))
		}
	}
	a.all, a.surest, a.loss = agreeing/n, 1-wrong/surest, a.loss/n
	a.mostWrong = (wrong + surestPrior) / (surest + 2*surestPrior)
	a.deviation = math.Sqrt(a.mostWrong * (1 - a.mostWrong) / surest)
	return a, true
}

// SeeDoubt sets joint, the share of labels that confident learning counts as wrong, and says whether all labels are in
// doubt: where the predictions know nothing, where not even the surest agree, and where these do in a graph whose neighbours
// disagree, but hardly any others. The label model cannot tell doubt from flips there. Flips spare no node: joint is then no
// more than the share of wrong labels among the surest, and calibration.PriorRate at most where that says nothing either.
func (of *Rows) SeeDoubt(joint float64) {
	of.Joint = joint
	a, ok := of.agreement()
	if !ok {
		return
	}
	knowsNothing := a.surest < a.frequent+chanceErrors*a.deviation && a.loss >= a.blind
	disagree := of.Votes != nil && (a.surest < doubtfulTop || a.all < doubtfulAll*a.surest)
	if of.Doubtful = knowsNothing || disagree || a.surest < hopelessTop; !of.Doubtful {
		return
	}
	if of.Joint = min(joint, a.mostWrong); knowsNothing || a.mostWrong >= distrust {
		of.Joint = min(joint, calibration.PriorRate)
	}
}
