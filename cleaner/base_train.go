package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
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

// gather copies the inputs and labels of rows.
func (l *lessons) gather(rows []uint32, workers int, x *nn.Rows, right []int) {
	x.Gather(&l.inputs, rows, workers)
	for i, row := range rows {
		right[i] = int(l.right[row])
	}
}

// A training makes one network.
type training struct {
	*baseProblem
	train, validation *lessons
	rows              []uint32 // of train, that are learned from
	dropout           float64  // of inputs
	random            *rand.Rand
	workers           int
	progress          func(epoch, most int)

	net    *nn.Network
	loss   float64 // on the validation nodes
	epochs int
}

// fit trains the network and keeps the one with the least validation loss.
func (f *training) fit(ctx context.Context) error {
	width := f.train.inputs.Width
	net := nn.New(f.random, width, baseUnits, f.classes)
	t := nn.NewTrainer(net, f.random)
	t.Rate, t.Decay, t.Dropout, t.InputDropout = baseRate, baseDecay, baseDropout, f.dropout
	t.Workers = parallel.Workers(f.workers)
	rows := f.rows
	batch := min(baseBatch, len(rows))
	perEpoch, most := baseSteps(len(rows))
	between := (baseLook + perEpoch - 1) / perEpoch
	var x nn.Rows
	right := make([]int, batch)
	f.net, f.loss = net.Clone(), math.Inf(1)
	since := 0
	for epoch := range most {
		f.random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for first := 0; first < len(rows); first += batch {
			if err := ctx.Err(); err != nil {
				return err
			}
			count := min(batch, len(rows)-first)
			f.train.gather(rows[first:first+count], parallel.Workers(f.workers), &x, right)
			t.Step(&x, func(logits []float32) float64 {
				return nn.SoftmaxLoss(logits, right[:count])
			})
		}
		f.epochs = epoch + 1
		f.progress(f.epochs, most)
		if f.observe != nil {
			if err := f.observe(net, f.train); err != nil {
				return err
			}
		}
		since++
		if f.epochs%between == 0 || f.epochs == most {
			loss, err := f.validation.meanLoss(ctx, net, f.workers)
			if err != nil {
				return err
			}
			if loss < f.loss || len(f.validation.order) == 0 {
				f.net, f.loss, since = net.Clone(), loss, 0
			}
		}
		if steps := f.epochs * perEpoch; since >= basePatience && steps >= baseLeast || steps >= baseMost {
			break
		}
	}
	return nil
}

// baseSteps is how many steps an epoch has, and how many epochs there are at most, where so many nodes are learned from.
func baseSteps(rows int) (perEpoch, epochs int) {
	batch := min(baseBatch, rows)
	perEpoch = (rows + batch - 1) / batch
	return perEpoch, max(baseEpochs, (baseLeast+perEpoch-1)/perEpoch)
}

// meanLoss is the mean cross-entropy of a network.
func (l *lessons) meanLoss(ctx context.Context, net *nn.Network, workers int) (float64, error) {
	layers := nn.Activations{Workers: parallel.Workers(workers)}
	var sum float64
	batch := min(baseBatch, len(l.order))
	var x nn.Rows
	right := make([]int, batch)
	for first := 0; first < len(l.order); first += batch {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		count := min(batch, len(l.order)-first)
		l.gather(l.order[first:first+count], parallel.Workers(workers), &x, right)
		logits := layers.Outputs(net, x)
		sum += float64(nn.SoftmaxLoss(logits, right[:count]) * float64(count))
	}
	return sum / float64(max(len(l.order), 1)), nil
}
