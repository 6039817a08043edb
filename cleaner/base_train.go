package cleaner

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/scratch"
	"github.com/graphcleaner/graphcleaner/kv"
)

// lessons are labelled nodes with their inputs, in an order of their own.
type lessons struct {
	inputs nn.Rows    // by ascending NodeID
	right  []kv.Class // [rows], likewise
	order  []uint32   // rows, at first in file order
	nodes  *nodeSet   // whose ranks are the rows

	numbers *scratch.Array[float32] // memory of inputs
	columns *scratch.Array[uint32]  // likewise; nil if they are dense
}

// learn copies the inputs of the nodes that have a role, or of so many of them drawn with seed.
func (p *baseProblem) learn(
	ctx context.Context, inputs *rowstore.Store, has role, most int, opt PredictOptions,
) (l *lessons, err error) {
	nodes, order, err := drawNodes(p.order, len(p.labels), p.count(has), most, opt.Seed, has)
	if err != nil {
		return nil, err
	}
	l = &lessons{right: make([]kv.Class, len(order)), order: order, nodes: nodes}
	width, nonzero := inputs.Width(), make([]int, len(order))
	each := func(visit func(rank int, row []float32)) error {
		return rowstore.Each(ctx, inputs, len(p.labels), opt.Workers, func(rows kv.Range, values []float32) error {
			nodes.each(rows, func(rank int, v kv.NodeID) { visit(rank, values[int(v-rows.First)*width:][:width]) })
			return nil
		})
	}
	nodes.each(kv.Range{End: kv.NodeID(len(p.labels))}, func(rank int, v kv.NodeID) { l.right[rank] = p.labels[v] })
	if err := each(func(rank int, row []float32) { nonzero[rank] = nn.CountNonzero(row) }); err != nil {
		return nil, err
	}
	total := 0
	for _, count := range nonzero {
		total += count
	}
	sparse := nn.AreSparse(total, len(order), width)
	if !sparse {
		total = len(order) * width
	}
	if l.numbers, err = scratch.New[float32](p.place.temporary(), "learned", total); err != nil {
		return nil, err
	}
	if !sparse {
		l.inputs = nn.Dense(l.numbers.Data, len(order), width)
		err = each(func(rank int, row []float32) { copy(l.numbers.Data[rank*width:], row) })
	} else if l.columns, err = scratch.New[uint32](p.place.temporary(), "columns", total); err == nil {
		l.inputs = nn.Sparse(width, nonzero, l.columns.Data, l.numbers.Data)
		err = each(l.inputs.Fill)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close gives the memory of the inputs back.
func (l *lessons) Close() error {
	err := l.numbers.Close()
	if l.columns != nil {
		err = errors.Join(err, l.columns.Close())
	}
	return err
}
