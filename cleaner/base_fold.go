package cleaner

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/nn"
	"github.com/graphcleaner/graphcleaner/cleaner/internal/rowstore"
	"github.com/graphcleaner/graphcleaner/internal/parallel"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A crossFit has a network for each fold. The network has learned from all nodes outside its fold. So every node has a
// network that has not seen its label. If there is a single network, it has learned from all nodes.
type crossFit struct {
	nets  []*nn.Network
	nodes *nodeSet // that were learned from
	folds []uint8  // of them, by rank
	loss  float64  // of the first network on the validation nodes
}

// judge is the network that a node is predicted by, and false if all of them are to be asked.
func (f *crossFit) judge(v kv.NodeID) (net int, alone bool) {
	if len(f.nets) == 1 {
		return 0, true
	}
	if rank, ok := f.nodes.has(v); ok {
		return int(f.folds[rank]), true
	}
	return 0, false
}

// foldsOf is how many networks learn from so many nodes.
func foldsOf(rows int) int {
	if rows < leastFoldNodes {
		return 1
	}
	return min(max(foldedRows/rows, leastFolds), mostFolds)
}

// crossFits reports whether there is for every node a network that has not learned its label.
func (p *baseProblem) crossFits() bool { return foldsOf(p.count(p.teaches)) > 1 }

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

// assignFolds deals the rows of every class to the folds in turn, in a random order.
func (l *lessons) assignFolds(random *rand.Rand, classes, folds int) []uint8 {
	order := slices.Clone(l.order)
	random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	next, foldOf := make([]int, classes), make([]uint8, len(order))
	for _, row := range order {
		y := int(l.right[row])
		foldOf[row] = uint8((y + next[y]) % folds)
		next[y]++
	}
	sizes := make([]int, folds)
	for _, fold := range foldOf {
		sizes[fold]++
	}
	if 2*slices.Max(sizes) > len(order) && folds > 2 { // classes of so few nodes that the deal is uneven
		for i, row := range order {
			foldOf[row] = uint8(i % folds)
		}
	}
	return foldOf
}

// fitBase trains on inputs. Each network is the one with the least validation loss, or the last if there is no
// validation.
func (p *baseProblem) fitBase(
	ctx context.Context, inputs *rowstore.Store, opt PredictOptions, report *PredictReport,
) (fit *crossFit, err error) {
	train, err := p.learn(ctx, inputs, p.teaches, baseTraining, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, train.Close()) }()
	validation, err := p.learn(ctx, inputs, p.stops, baseValidation, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, validation.Close()) }()

	random := rand.New(rand.NewPCG(opt.Seed, streamBase))
	folds := foldsOf(len(train.order))
	if p.observe != nil {
		folds = 1
	}
	fit = &crossFit{nodes: train.nodes, folds: train.assignFolds(random, p.classes, folds)}
	dropouts := []float64{0}
	if p.hasFeatures() && inputs.Width() >= baseWide {
		dropouts = inputDropouts
	}
	if p.observe != nil || len(validation.order) == 0 {
		dropouts = dropouts[:1]
	}
	fit.nets = make([]*nn.Network, folds)
	seeds := make([]uint64, folds)
	for fold := range seeds {
		seeds[fold] = random.Uint64()
	}
	progress := &foldProgress{progress: opt.Progress, trainings: folds + len(dropouts) - 1}
	one := func(ctx context.Context, fold, workers int, dropout float64) (*training, error) {
		t := &training{
			baseProblem: p, train: train, rows: fit.rowsFor(fold, train.order), validation: validation, dropout: dropout,
			random: rand.New(rand.NewPCG(seeds[fold], 0)), workers: workers,
			progress: progress.begin(),
		}
		return t, t.fit(ctx)
	}
	workers, chosen := parallel.Workers(opt.Workers), dropouts[0]
	all, open := make([]*training, folds), 0 // open is the first fold that has no training
	if len(dropouts) > 1 {                   // the others do as the first has chosen
		tried := make([]*training, len(dropouts))
		err = sideBySide(ctx, workers, len(dropouts), func(ctx context.Context, i, workers int) (err error) {
			tried[i], err = one(ctx, 0, workers, dropouts[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		all[0] = slices.MinFunc(tried, func(a, b *training) int { return cmp.Compare(a.loss, b.loss) })
		chosen, open = all[0].dropout, 1
	}
	err = sideBySide(ctx, workers, folds-open, func(ctx context.Context, i, workers int) (err error) {
		all[open+i], err = one(ctx, open+i, workers, chosen)
		return err
	})
	if err != nil {
		return nil, err
	}
	for fold, t := range all {
		fit.nets[fold], report.Epochs = t.net, max(report.Epochs, t.epochs)
	}
	fit.loss = all[0].loss
	return fit, nil
}

// sideBySide runs tasks that can each use several workers: with one each, as many as leave no worker idle, then the others, which share the
// workers.
func sideBySide(ctx context.Context, workers, tasks int, task func(ctx context.Context, i, workers int) error) error {
	rest := tasks % workers
	err := parallel.Do(ctx, workers, tasks-rest, func(ctx context.Context, _, i int) error { return task(ctx, i, 1) })
	if err != nil || rest == 0 {
		return err
	}
	return parallel.Do(ctx, rest, rest, func(ctx context.Context, _, i int) error {
		return task(ctx, tasks-rest+i, workers/rest)
	})
}

// rowsFor are the rows that the network of a fold learns from.
func (f *crossFit) rowsFor(fold int, rows []uint32) []uint32 {
	rows = slices.Clone(rows)
	if len(f.nets) == 1 {
		return rows
	}
	return slices.DeleteFunc(rows, func(row uint32) bool { return int(f.folds[row]) == fold })
}

// foldProgress adds up how far the trainings of the folds are.
type foldProgress struct {
	progress  kv.Progress // nil: nobody is told
	trainings int         // in all
	mu        sync.Mutex  // guards epochs, and calls of progress
	epochs    []int       // of those that have begun
}

// begin returns what a training tells.
func (f *foldProgress) begin() func(epoch, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	training := len(f.epochs)
	f.epochs = append(f.epochs, 0)
	return func(epoch, most int) {
		if f.progress == nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.epochs[training] = epoch
		done := 0
		for _, epochs := range f.epochs {
			done += epochs
		}
		f.progress("train", int64(done), int64(f.trainings*most))
	}
}
