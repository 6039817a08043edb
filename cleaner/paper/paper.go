// Package paper is GraphCleaner as published (Li, Xiong, Hooi: "GraphCleaner: Detecting Mislabelled Samples in Popular
// Graph Learning Benchmarks", ICML 2023, arXiv:2306.00015), to compare with. The default of package cleaner does
// without it.
//
// Confident learning on the fitting set gives the joint distribution Q of given and true label: class thresholds, the
// confident joint, the joint distribution, the transition matrix. A class that no fitting node is given takes no part.
// A wrong label is planted on half of the fitting nodes: a node labelled j becomes i ≠ j with probability Q[i|j],
// renormalised without its diagonal. A small network, the detector, learns from the agreement features which labels of
// the fitting set were planted (L1 loss), and scores the given label of every labelled node. The mislabel rate is the
// mass of Q off its diagonal, and a node is a suspect above a score of 0.97.
package paper

import (
	"context"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/classmatrix"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/confident"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/method"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Name is the preset of the published method.
const Name = "paper"

// What the paper says.
const (
	threshold  = 0.97
	sampleRate = 0.5 // share of the fitting nodes on which wrong labels are planted
)

// The published method, and the method without one of its parts.
var (
	Published       method.Method = published{}
	LabelsOnly      method.Method = published{withoutPredictions: true} // the detector sees L1 … LK
	PredictionsOnly method.Method = published{withoutLabels: true}      // the detector sees P0 … PK
	NoTransition    method.Method = published{uniformFlips: true}       // any other class is planted with equal chance
)

// Preset is Published for its name, and nil, which is the default, for another.
func Preset(name string) method.Method {
	if name == Name {
		return Published
	}
	return nil
}

type published struct{ withoutPredictions, withoutLabels, uniformFlips bool }

// Name is that of the preset.
func (published) Name() string { return Name }

// SampleSize is how many of the fitting nodes the detector is fitted on.
func (published) SampleSize(fitting int) int { return min(fitting, mostRows) }

// Of a cell that has a count: in the counts, the joint distribution and the transition matrix; and counting it.
const cellBytes = 3*24 + 48

// MatrixBytes are those of the matrices by cells, and of the dense one that wrong labels are drawn from.
func (published) MatrixBytes(classes, fitting int) int64 {
	cells := int64(classes) * int64(classes)
	return cellBytes*min(cells, int64(fitting)) + 8*cells
}

// Score plants, fits a detector, and scores by it.
func (m published) Score(ctx context.Context, c *method.Case, scores []float32) (result method.Result, err error) {
	if result.Joint, err = jointDistribution(ctx, c); err != nil {
		return result, err
	}
	result.Rate, result.Threshold = confident.MislabelRate(result.Joint), threshold
	c.Stage("noise")
	labels, order, err := c.Sample()
	if err != nil {
		return result, err
	}
	planted := m.plant(result.Joint, labels, order, c.Seed)
	c.Stage("sample")
	tested, sample, err := c.Features(ctx, planted)
	if err != nil {
		return result, err
	}
	rows := fittingRows{
		z: sample, width: tested.Width(), columns: m.columns(c.Hops), order: order,
		planted: func(row uint32) bool { return planted[row] != labels[row] },
	}
	d, err := rows.fit(ctx, c.Seed)
	if err != nil {
		return result, err
	}
	c.Stage("detector")
	err = d.scoreAll(ctx, c, tested, rows.columns, scores)
	c.Stage("score")
	return result, err
}

// jointDistribution is that of the fitting nodes. It reads their predictions twice: for the thresholds, whose sums run
// in ascending NodeID, then for the confident joint, whose counts may be added in any order.
func jointDistribution(ctx context.Context, c *method.Case) (*classmatrix.Matrix, error) {
	sums := confident.NewThresholdSum(c.Classes)
	err := rowstore.EachRow(ctx, c.Predictions, len(c.Labels), 1, func(v kv.NodeID, row []float32) error {
		if y := c.Labels[v]; c.IsFitting(v) {
			sums.Add(y, float64(row[y]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	thresholds, counts := sums.Thresholds(), make(map[uint64]uint32) // by given·c + true class
	var adding sync.Mutex
	err = rowstore.EachRow(ctx, c.Predictions, len(c.Labels), c.Workers, func(v kv.NodeID, row []float32) error {
		if !c.IsFitting(v) {
			return nil
		}
		if j := confident.Class(row, c.Labels[v], thresholds); j != kv.NoClass {
			adding.Lock()
			defer adding.Unlock()
			counts[uint64(c.Labels[v])*uint64(c.Classes)+uint64(j)]++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return confident.JointDistribution(classmatrix.OfCounts(c.Classes, counts), sums.Count), nil
}

// plant returns labels by rank, some of which are wrong; they are drawn in an order of the ranks.
func (m published) plant(joint *classmatrix.Matrix, labels []kv.Class, order []uint32, seed uint64) []kv.Class {
	flip := confident.Flips(joint.ByColumn())
	if m.uniformFlips {
		flip = confident.UniformFlips(joint.Classes)
	}
	ordered, planted := make([]kv.Class, len(order)), make([]kv.Class, len(order))
	for i, rank := range order {
		ordered[i] = labels[rank]
	}
	for i, y := range confident.Plant(ordered, flip, sampleRate, seed) {
		planted[order[i]] = y
	}
	return planted
}

// columns are the agreement features that the detector sees, ascending.
func (m published) columns(hops int) (columns []int) {
	for f := range 2*hops + 1 {
		if ofPredictions := f <= hops; ofPredictions && !m.withoutPredictions || !ofPredictions && !m.withoutLabels {
			columns = append(columns, f)
		}
	}
	return columns
}

// scoreAll writes the score of every row of z; NaN rows score NaN. Scores are rounded to float32, as they are stored,
// so that thresholds mean the same before and after. Of untaught nodes, the agreement with predictions is taken to be
// that of the mean fitting node.
func (d *detector) scoreAll(ctx context.Context, c *method.Case, z ops.Source, columns []int, scores []float32) error {
	return rowstore.Each(ctx, z, len(scores), c.Workers, func(rows kv.Range, values []float32) error {
		inputs := values[:rows.Len()*len(columns)] // moved together in place
		for i := range rows.Len() {
			untaught := c.IsUntaught(rows.First + kv.NodeID(i))
			for j, f := range columns {
				x := values[i*z.Width()+f]
				if untaught && f <= c.Hops {
					x = float32(d.mean[j])
				}
				inputs[i*len(columns)+j] = x
			}
		}
		for i, score := range d.score(new(nn.Activations), inputs, nil) {
			scores[int(rows.First)+i] = float32(score)
		}
		return nil
	})
}
