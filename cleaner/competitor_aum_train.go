package cleaner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// How the network is trained that a competitor watches.
const (
	areaUnits      = 64
	areaRate       = 0.01
	areaDecay      = 0.05
	areaDropout    = 0.5 // of hidden activations, and of inputs if they are areaWide
	areaWide       = 64
	areaEpochs     = 200
	areaPatience   = 10    // epochs without a better validation loss
	areaMost       = 40000 // steps
	areaLook       = 8     // steps at least from one look at the validation nodes to the next
	areaValidation = 1 << 17
)

// areaLeast is how many steps there are before training may stop; tests that are not about what it learns have fewer.
var areaLeast = 400

// watch trains a network on the inputs of the base classifier, the last of those that are tried, for what observe sees
// of it.
func (p *baseProblem) watch(ctx context.Context, opt PredictOptions, observe func(net *nn.Network, train *lessons) error) (err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return err
	}
	candidates, err := p.candidates(ctx, opt)
	if err != nil {
		return err
	}
	inputs, err := candidates[len(candidates)-1].make(ctx, opt, opt.MemoryBudget-p.heldInTraining())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inputs.Close()) }()
	train, err := p.learn(ctx, inputs, p.teaches, baseTraining, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, train.Close()) }()
	stops := func(v kv.NodeID) bool { return p.labels[v] != kv.NoClass && p.splits[v] == SplitValidation }
	validation, err := p.learn(ctx, inputs, stops, areaValidation, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, validation.Close()) }()
	dropout := 0.0
	if p.hasFeatures() && inputs.Width() >= areaWide {
		dropout = areaDropout
	}
	f := watchedTraining{
		train: train, validation: validation, classes: p.classes, workers: opt.Workers, dropout: dropout,
		random: rand.New(rand.NewPCG(opt.Seed, streamBase)), progress: opt.Progress, observe: observe,
	}
	return f.fit(ctx)
}

// gather copies the inputs and labels of rows.
func (l *lessons) gather(rows []uint32, workers int, x *nn.Rows, right []int) {
	x.Gather(&l.inputs, rows, workers)
	for i, row := range rows {
		right[i] = int(l.right[row])
	}
}

// A watchedTraining trains a network with one hidden layer until its loss on the validation nodes rises, and shows it
// after every epoch.
type watchedTraining struct {
	train, validation *lessons
	classes, workers  int
	dropout           float64 // of inputs
	random            *rand.Rand
	progress          kv.Progress
	observe           func(net *nn.Network, train *lessons) error // what it is called with is borrowed
}

func (f *watchedTraining) fit(ctx context.Context) error {
	width := f.train.inputs.Width
	net := nn.New(f.random, width, areaUnits, f.classes)
	t := nn.NewTrainer(net, f.random)
	t.Rate, t.Decay, t.Dropout, t.InputDropout = areaRate, areaDecay, areaDropout, f.dropout
	t.Workers = parallel.Workers(f.workers)
	rows := slices.Clone(f.train.order)
	batch := min(baseBatch, len(rows))
	perEpoch, most := areaSteps(len(rows))
	between := (areaLook + perEpoch - 1) / perEpoch
	var x nn.Rows
	right := make([]int, batch)
	least, since := math.Inf(1), 0
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
		epochs := epoch + 1
		if f.progress != nil {
			f.progress("train", int64(epochs), int64(most))
		}
		if err := f.observe(net, f.train); err != nil {
			return err
		}
		since++
		if epochs%between == 0 || epochs == most {
			loss, err := f.validation.meanLoss(ctx, net, f.workers)
			if err != nil {
				return err
			}
			if loss < least || len(f.validation.order) == 0 {
				least, since = loss, 0
			}
		}
		if steps := epochs * perEpoch; since >= areaPatience && steps >= areaLeast || steps >= areaMost {
			break
		}
	}
	return nil
}

// areaSteps is how many steps an epoch has, and how many epochs there are at most, where so many nodes are learned
// from.
func areaSteps(rows int) (perEpoch, epochs int) {
	batch := min(baseBatch, rows)
	perEpoch = (rows + batch - 1) / batch
	return perEpoch, max(areaEpochs, (areaLeast+perEpoch-1)/perEpoch)
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
