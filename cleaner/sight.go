package cleaner

import (
	"cmp"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
)

// mostTold is the largest share of labels that predictions from outside may tell to be joined unasked. The table that
// chose it is docs/detection/results/seen.md: it lies between what predictions out of fold tell and those that have
// seen a third of the labels.
const mostTold = 0.22

// told is how much predictions U tell of the labels that predictions B contradict, which have not seen them: 0 is as
// much as B, 1 is all of them. It looks at some rows of both [rows×classes×2] and of the labels [rows].
//
// B contradicts a label y where another class t is its largest. The rank of y is the share of the nodes with the label
// t, whose largest class of B is t too, that have less of y; equal ones count half. If the label is wrong, only who has
// seen it knows to which of these nodes it was given. With m how much more of t than of y B has, and 0 where nothing is
// contradicted:
//
//	told = Σ m·(rank in U − rank in B) / Σ m·(1 − rank in B)
func told(rows []int, labels []kv.Class, both []float32, classes int) float64 {
	type contradiction struct {
		top kv.Class
		row int
	}
	var contradicted []contradiction
	agreeing := make([][]int, classes)
	own := make([]float32, classes)
	for _, row := range rows {
		for k := range own {
			own[k] = both[2*(row*classes+k)]
		}
		if top, _, _ := largest(own); top == labels[row] {
			agreeing[top] = append(agreeing[top], row)
		} else {
			contradicted = append(contradicted, contradiction{top, row})
		}
	}
	slices.SortStableFunc(contradicted, func(a, b contradiction) int {
		return cmp.Or(cmp.Compare(a.top, b.top), cmp.Compare(labels[a.row], labels[b.row]))
	})
	var gained, all float64
	var others [2][]float32 // B and U of the agreeing nodes, ascending
	of := contradiction{top: kv.NoClass}
	for _, c := range contradicted {
		label, some := labels[c.row], agreeing[c.top]
		if len(some) == 0 {
			continue
		}
		if c.top != of.top || label != labels[of.row] {
			of = c
			for i := range others {
				others[i] = others[i][:0]
				for _, row := range some {
					others[i] = append(others[i], both[2*(row*classes+int(label))+i])
				}
				slices.Sort(others[i])
			}
		}
		at := 2 * (c.row*classes + int(label))
		margin := float64(both[2*(c.row*classes+int(c.top))] - both[at])
		b, u := rank(others[0], both[at]), rank(others[1], both[at+1])
		gained += float64(margin * float64(u-b))
		all += float64(margin * float64(1-b))
	}
	return share(gained, all)
}

// rank is the share of ascending values that are smaller than one; equal ones count half.
func rank(ascending []float32, value float32) float64 {
	smaller := sort.Search(len(ascending), func(i int) bool { return ascending[i] >= value })
	more := sort.Search(len(ascending), func(i int) bool { return ascending[i] > value })
	return float64(smaller+more) / float64(2*len(ascending))
}

// share is part/whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
