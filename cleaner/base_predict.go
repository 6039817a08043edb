package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// predictAll predicts every row of inputs: a node that was learned from by the network that has not seen it, others by
// the mean of all networks. If there are several they are corrected and smoothed, unless the inputs are of labels.
func (p *baseProblem) predictAll(
	ctx context.Context, fit *crossFit, inputs *rowstore.Store, opt PredictOptions, budget int64,
) (out *rowstore.Store, err error) {
	all, err := rowstore.New(p.place.temporary(), p.graph.NumNodes(), p.classes)
	if err != nil {
		return nil, err
	}
	own, err := rowstore.New(p.place.temporary(), p.graph.NumNodes(), p.classes)
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	refiner := refiner{baseProblem: p, fit: fit, opt: opt, budget: budget}
	for net := range fit.nets {
		err := p.predictBy(ctx, fit.nets[net], inputs, own, opt.Workers)
		if err == nil && len(fit.nets) > 1 && p.hasFeatures() {
			err = refiner.refine(ctx, net, own)
		}
		if err == nil {
			err = fit.gather(ctx, net, own, all, opt.Workers)
		}
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
	}
	return all, nil
}

// gather takes into all [n×c] what a network predicts.
func (f *crossFit) gather(ctx context.Context, net int, own, all *rowstore.Store, workers int) error {
	return rowstore.Each(ctx, own, own.Rows, workers, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			judge, alone := f.judge(v)
			if alone && judge != net {
				continue
			}
			share := float32(1)
			if !alone {
				share /= float32(len(f.nets))
			}
			row := values[int(v-rows.First)*own.Width():][:own.Width()]
			if err := all.Add(kv.Range{First: v, End: v + 1}, 0, own.Width(), share, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// predictBy applies a network to every row of inputs.
func (p *baseProblem) predictBy(ctx context.Context, net *nn.Network, inputs, out *rowstore.Store, workers int) error {
	// A block of narrow inputs has very many rows, whose activations together would not fit.
	layers := make([]nn.Activations, parallel.Workers(workers))
	x := make([][]float32, len(layers))
	n := inputs.Rows
	return parallel.Do(ctx, len(layers), (n+baseBatch-1)/baseBatch, func(_ context.Context, worker, b int) error {
		rows := kv.Range{First: kv.NodeID(b * baseBatch), End: kv.NodeID(min((b+1)*baseBatch, n))}
		count := int(rows.End - rows.First)
		x[worker] = float32s.Resize(x[worker], count*inputs.Width())
		if err := inputs.Read(rows, 0, inputs.Width(), x[worker]); err != nil {
			return err
		}
		logits := layers[worker].Outputs(net, nn.Dense(x[worker], count, inputs.Width()))
		nn.Softmaxes(logits, p.classes)
		return out.Write(rows, 0, p.classes, logits)
	})
}

// measure fills the report's counts and accuracies.
func (p *baseProblem) measure(ctx context.Context, predictions ops.Source, report *PredictReport) error {
	var nodes, right [SplitUnused + 1]int64
	err := rowstore.Each(ctx, predictions, p.graph.NumNodes(), 1, func(rows kv.Range, values []float32) error {
		for v := rows.First; v < rows.End; v++ {
			if p.labels[v] == kv.NoClass {
				continue
			}
			row := values[int(v-rows.First)*p.classes:][:p.classes]
			split := p.splits[v]
			if p.teaches(v) {
				split = SplitTrain
			}
			nodes[split]++
			if best, _, tied := largest(row); best == p.labels[v] && !tied {
				right[split]++
			}
		}
		return nil
	})
	accuracy := func(s Split) float64 { return float64(right[s]) / float64(nodes[s]) }
	report.TrainNodes, report.TrainAccuracy = nodes[SplitTrain], accuracy(SplitTrain)
	report.ValidationNodes, report.ValidationAccuracy = nodes[SplitValidation], accuracy(SplitValidation)
	report.TestNodes, report.TestAccuracy = nodes[SplitTest], accuracy(SplitTest)
	return err
}
