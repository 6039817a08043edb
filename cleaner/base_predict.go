package cleaner

import (
	"context"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/float32s"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// predictBy calls visit with what a network makes of the rows of inputs, concurrently.
func (p *baseProblem) predictBy(
	ctx context.Context, net *nn.Network, inputs *rowstore.Store, workers int, visit func(rows kv.Range, logits []float32) error,
) error {
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
		return visit(rows, logits)
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
			if p.teaches(v) && !p.drawn {
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
