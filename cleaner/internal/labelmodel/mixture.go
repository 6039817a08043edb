package labelmodel

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/internal/elementary"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// Weigh finds the weights of the features when the labels are taken for right.
func Weigh(ctx context.Context, dir *scratch.Dir, rows Rows, workers int) (weights []float64, err error) {
	f, err := newLabelFit(ctx, dir, rows, workers)
	if err != nil {
		return nil, err
	}
	state := f.start(0)
	if _, err = f.maximize(ctx, state); err == nil {
		weights = f.model(state).Weights
	}
	return weights, errors.Join(err, f.Close())
}

// Mix turns a row of B into one of P.
func Mix(weights []float64, own, from []float32) {
	c := len(own)
	var few [64]float64
	numbers := few[:]
	if 2*c > len(few) {
		numbers = make([]float64, 2*c)
	}
	logs, fromLogs := numbers[:c], numbers[c:2*c]
	LogFeatures(own, logs)
	LogFeatures(from, fromLogs)
	most := float32(math.Inf(-1))
	for k := range own {
		own[k] = float32(float64(weights[0]*logs[k]) + float64(weights[1]*fromLogs[k]))
		most = max(most, own[k])
	}
	for k := range own {
		logs[k] = float64(own[k] - most)
	}
	elementary.Exps(logs)
	var sum float32
	for k, e := range logs {
		own[k] = float32(e)
		sum += own[k]
	}
	for k := range own {
		own[k] /= sum
	}
}

// Told is how much predictions U tell of the labels that predictions B contradict, which have not seen them: 0 is as
// much as B, 1 is all of them. It looks at some rows of both [rows×classes×2] and of the labels [rows].
//
// B contradicts a label y where another class t is its largest. The rank of y is the share of the nodes with the label
// t, whose largest class of B is t too, that have less of y; equal ones count half. If the label is wrong, only who has
// seen it knows to which of these nodes it was given. With m how much more of t than of y B has, and 0 where nothing is
// contradicted:
//
//	told = Σ m·(rank in U − rank in B) / Σ m·(1 − rank in B)
func Told(rows []int, labels []kv.Class, both []float32, classes int) float64 {
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
		if top := kv.Class(slices.Index(own, slices.Max(own))); top == labels[row] {
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
	if all == 0 {
		return 0
	}
	return gained / all
}

// rank is the share of ascending values that are smaller than one; equal ones count half.
func rank(ascending []float32, value float32) float64 {
	smaller := sort.Search(len(ascending), func(i int) bool { return ascending[i] >= value })
	more := sort.Search(len(ascending), func(i int) bool { return ascending[i] > value })
	return float64(smaller+more) / float64(2*len(ascending))
}
