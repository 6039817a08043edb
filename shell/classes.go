package shell

import (
	"context"
	"errors"
	"math"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// classTally is what is counted of one class.
type classTally struct {
	nodes         int64
	agreeing      int64   // labelled neighbours with the same label, over the nodes of the class
	neighbors     int64   // labelled neighbours
	confidence    float64 // sum of the predicted probability of the given label
	confident     int64   // nodes that have one
	suspects      int64
	suspectsKnown bool
}

// classes answers classes.
func (q *query) classes(ctx context.Context) (*Result, error) {
	names := q.tx.Classes()
	labels := make([]kv.Class, q.tx.NumNodes())
	if err := q.tx.ReadClasses("label", labels); err != nil {
		return nil, err
	}
	tallies := make([]classTally, len(names))
	labelled := int64(0)
	for _, class := range labels {
		if class != kv.NoClass {
			tallies[class].nodes++
			labelled++
		}
	}
	for _, tally := range []func(context.Context, []kv.Class, []classTally) error{
		q.tallyNeighbors, q.tallyConfidence, q.tallySuspects,
	} {
		if err := tally(ctx, labels, tallies); err != nil {
			return nil, err
		}
	}
	columns := []ColumnInfo{
		{"class", kv.KindString}, {"nodes", kv.KindInt}, {"share", kv.KindFloat}, {"homophily", kv.KindFloat},
		{"self_confidence", kv.KindFloat}, {"suspects", kv.KindInt},
	}
	rows := make([][]kv.Value, 0, len(names))
	for _, i := range classOrder(names) {
		t := tallies[i]
		suspects := kv.Value{}
		if t.suspectsKnown {
			suspects = kv.IntValue(t.suspects)
		}
		rows = append(rows, []kv.Value{
			kv.StringValue(names[i]), kv.IntValue(t.nodes), ratio(float64(t.nodes), labelled),
			ratio(float64(t.agreeing), t.neighbors), ratio(t.confidence, t.confident), suspects,
		})
	}
	return inMemory(columns, rows), nil
}

// ratio is null of nothing.
func ratio(sum float64, of int64) kv.Value {
	if of == 0 {
		return kv.Value{}
	}
	return kv.FloatValue(sum / float64(of))
}

// tallyNeighbors counts labelled neighbours and those of the same label.
func (q *query) tallyNeighbors(ctx context.Context, labels []kv.Class, tallies []classTally) error {
	blocks, err := q.tx.AdjacencyBlocks()
	if err != nil {
		return err
	}
	var lists kv.Adjacency
	for _, block := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := q.tx.ReadAdjacency(block, &lists); err != nil {
			return err
		}
		for v := block.First; v < block.End; v++ {
			class := labels[v]
			if class == kv.NoClass {
				continue
			}
			i := v - block.First
			for _, u := range lists.Neighbors[lists.Offsets[i]:lists.Offsets[i+1]] {
				if labels[u] != kv.NoClass {
					tallies[class].neighbors++
				}
				if labels[u] == class {
					tallies[class].agreeing++
				}
			}
		}
	}
	return nil
}

// tallyConfidence sums the predicted probability of the given labels, where there are predictions.
func (q *query) tallyConfidence(ctx context.Context, labels []kv.Class, tallies []classTally) error {
	predictions, err := cleaner.Predictions(q.tx)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil
	case errors.Is(err, cleaner.ErrMissingRows):
		q.notices = append(q.notices, "no self-confidence: "+err.Error())
		return nil
	case err != nil:
		return err
	}
	width := predictions.Width()
	const held = 1 << 20 // probabilities at a time
	step := max(1, held/max(1, width))
	p := make([]float32, min(step, len(labels))*width)
	for first := 0; first < len(labels); first += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+step, len(labels))
		rows := p[:(end-first)*width]
		if err := predictions.Read(kv.Range{First: kv.NodeID(first), End: kv.NodeID(end)}, 0, width, rows); err != nil {
			return err
		}
		for v := first; v < end; v++ {
			if labels[v] == kv.NoClass {
				continue
			}
			if own := float64(rows[(v-first)*width+int(labels[v])]); !math.IsNaN(own) {
				tallies[labels[v]].confidence += own
				tallies[labels[v]].confident++
			}
		}
	}
	return nil
}

// tallySuspects counts suspects above the threshold of the last run, where there was one.
func (q *query) tallySuspects(ctx context.Context, labels []kv.Class, tallies []classTally) error {
	find, err := q.suspectQuery(&suspectsStatement{})
	if errors.Is(err, ErrNotCleaned) {
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := index.NewPlan(q.tx, find)
	if err != nil {
		return err
	}
	for v, err := range plan.Rows(ctx) {
		if err != nil {
			return err
		}
		if labels[v] != kv.NoClass {
			tallies[labels[v]].suspects++
		}
	}
	for i := range tallies {
		tallies[i].suspectsKnown = true
	}
	return nil
}
