package cleaner

import (
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// When rows are doubtful; agreement is the share of rows whose label has the largest prediction.
const (
	surestShare   = 0.1  // of the rows, those with the largest predictions
	doubtfulAll   = 0.65 // of the agreement of the surest rows: that of all is below it,
	doubtfulTop   = 0.55 // or that of the surest is below this
	leastSurest   = 10   // rows
	surestCounted = 1    // labels, right and wrong, that are counted before any: few rows say little
)

// mostWrong is the share of labels that can be wrong at most, where neighbours disagree and the predictions are poor, else
// zero. Flips spare no node: there are no more of them than labels that the surest predictions do not agree with. Where
// these agree and others do not, or where none agree, the others are in doubt, and the label model cannot tell doubt from
// flips.
func (of *labelRows) mostWrong() float64 {
	if of.votes == nil {
		return 0
	}
	var sure []float32 // the largest prediction of every row
	var agrees []bool
	row := of.classes * of.width
	for r, y := range of.given {
		z := of.z[r*row:][:row]
		if y == kv.NoClass || !allFinite(z) {
			continue
		}
		most := z[0]
		for k := range of.classes {
			most = max(most, z[k*of.width])
		}
		sure, agrees = append(sure, most), append(agrees, z[int(y)*of.width] == most)
	}
	if len(sure) < leastSurest/surestShare {
		return 0
	}
	ordered := slices.Sorted(slices.Values(sure))
	from := ordered[len(ordered)-int(surestShare*float64(len(ordered)))]
	var all, surest, agreeing, wrong float64
	for i, most := range sure {
		all++
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
	top := 1 - wrong/surest
	if agreeing/all >= doubtfulAll*top && top >= doubtfulTop {
		return 0
	}
	return (wrong + surestCounted) / (surest + 2*surestCounted)
}
