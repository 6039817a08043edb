package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A baseFit predicts every node that was learned from by the fit without it.
type baseFit struct {
	*nn.Ridge
	nodes *nodeSet // that were learned from
}

// crossFitsFrom says whether predictions of so many nodes that are learned from, each without itself, are good for
// anything.
func crossFitsFrom(rows int) bool { return rows >= leastFitting }

// crossFits reports whether there is for every node a fit that has not learned its label.
func (p *baseProblem) crossFits() bool { return crossFitsFrom(p.count(p.teaches)) }

// crossFitting is p where it cross-fits, and else with a split drawn from all labelled nodes.
func (p *baseProblem) crossFitting(seed uint64) (_ *baseProblem, err error) {
	if p.crossFits() {
		return p, nil
	}
	other := *p
	other.drawn = true
	other.splits, err = drawSplits(p.order, p.labels, defaultShares, seed)
	return &other, err
}

// fitBase fits a classifier to inputs.
func (p *baseProblem) fitBase(ctx context.Context, inputs *rowstore.Store, opt PredictOptions) (fit *baseFit, err error) {
	train, err := p.learn(ctx, inputs, p.teaches, baseTraining, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, train.Close()) }()
	class := func(row int) int { return int(train.right[row]) }
	progress := func(done, total int64) {
		if opt.Progress != nil {
			opt.Progress("train", done, total)
		}
	}
	ridge, err := nn.FitRidge(ctx, &train.inputs, class, p.classes, parallel.Workers(opt.Workers), progress)
	return &baseFit{ridge, train.nodes}, err
}

// predictAll predicts every row of inputs.
func (p *baseProblem) predictAll(ctx context.Context, fit *baseFit, inputs *rowstore.Store, opt PredictOptions) (*rowstore.Store, error) {
	out, err := rowstore.New(p.place.temporary(), p.graph.NumNodes(), p.classes)
	if err != nil {
		return nil, err
	}
	return out.OrClose(p.predictBy(ctx, fit.Net, inputs, opt.Workers, func(rows kv.Range, logits []float32) error {
		fit.nodes.each(rows, func(row int, v kv.NodeID) {
			fit.LeaveOut(row, int(p.labels[v]), logits[int(v-rows.First)*p.classes:][:p.classes])
		})
		nn.Softmaxes(logits, p.classes)
		return out.Write(rows, 0, p.classes, logits)
	}))
}
