package cleaner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv"
)

// checkBudget says, before predictions are trained or an index is made, that the budget is too small for them or for
// what comes after. Before predictions are trained it computes the diagonals, which may cost too much, and keeps them
// for what comes after. It returns what it comes to know of baseProblem.disagrees.
func checkBudget(ctx context.Context, s *kv.Store, opt Options, predicted bool) (disagrees *bool, err error) {
	err = s.View(func(tx *kv.Tx) (err error) {
		silent := opt
		silent.Notice, silent.Warn = nil, nil // all of it is said when the problem is read again
		p, err := readProblem(tx, silent)
		if err != nil {
			return err
		}
		var free func() error
		p.graph, free = inSeries(p.graph)
		defer func() { err = errors.Join(err, free()) }()
		base := p.base()
		if !predicted {
			if base.features, _, err = baseFeatures(ctx, tx); err != nil {
				return err
			}
		}
		opt.stage("read")
		if p.sizes, err = base.graphSizes(ctx, opt.ops(0)); err != nil {
			return err
		}
		fitting := p.mostFitting()
		least, ofClasses := leastForScore(opt.Method, p.sizes, tx.NumNodes(), fitting, p.classes, opt.Hops), matrixBytes(opt.Method, p.classes, fitting)
		if !predicted {
			training, err := base.leastForTraining(ctx, opt.ops(0))
			if err != nil {
				return err
			}
			_, ofFit := base.fitBytes()
			least, ofClasses = max(least, training), max(ofClasses, ofFit)
		}
		source, err := predictionSource(tx)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if source == SourceImported && opt.joinsImported() {
			if base.features, _, err = baseFeatures(ctx, tx); err != nil {
				return err
			}
			if err := p.checkJoining(ctx, base, opt); err != nil {
				return err
			}
		}
		if err := p.requireForScore(opt, least, ofClasses); err != nil || predicted {
			return err
		}
		place, err := openWorkplace(ctx, s, tx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, place.Close()) }()
		p.place = place
		diagonals, err := p.computeDiagonals(ctx, opt)
		if err := errors.Join(err, diagonals.Close()); err != nil {
			return err
		}
		err = p.checkRoom(ctx, s, tx, base, opt)
		disagrees = base.disagrees
		return err
	})
	return disagrees, err
}

// checkRoom returns kv.ErrNoSpace if the disk of the store has too little room for the cleaning. It is asked of a store
// without predictions, before a classifier is trained, which takes long. What an interrupted run has kept is there
// already.
func (p *problem) checkRoom(ctx context.Context, s *kv.Store, tx *kv.Tx, base *baseProblem, opt Options) (err error) {
	counts := p.counts()
	if base.hasFeatures() {
		counts.features = base.features.Width()
		if counts.disagree, err = base.disagree(ctx, opt.Workers); err != nil {
			return err
		}
	}
	counts.steps = func(context.Context, int) (float64, error) { return 0, nil } // the diagonals are there
	e, err := counts.plan(ctx, opt)
	if err != nil {
		return err
	}
	var kept int64
	done, err := tx.Store().Finished()
	if err == nil && done != nil {
		kept, err = bytesBelow(done.Path())
	}
	if err != nil {
		return err
	}
	return s.CheckRoom(e.RoomBytes - kept)
}

// bytesBelow is the size of the files in a directory.
func bytesBelow(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		info, err := file.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// checkJoining says, before the built-in classifier is trained beside predictions from outside, that the budget is too
// small for it or for what comes after.
func (p *problem) checkJoining(ctx context.Context, base *baseProblem, opt Options) error {
	base, err := base.crossFitting(opt.Seed)
	if err != nil {
		return err
	}
	if !base.crossFits() || !joins(len(p.labels), p.classes) {
		return nil
	}
	training, err := base.leastForTraining(ctx, opt.ops(0))
	if err != nil {
		return err
	}
	fitting := p.mostFitting()
	least := max(training, leastForScore(opt.Method, base.sizes, len(p.labels), fitting, p.classes, opt.Hops))
	_, ofFit := base.fitBytes()
	return p.requireForScore(opt, least, max(matrixBytes(opt.Method, p.classes, fitting), ofFit))
}

// checkLabels says early what no base classifier could repair: labels of less than two classes.
func checkLabels(tx *kv.Tx) error {
	labels, err := readLabels(tx)
	if err != nil {
		return err
	}
	return checkTwoClasses(labels, tx.Classes())
}

// checkTwoClasses returns ErrNoLabels or ErrOneClass if the nodes are given no two classes.
func checkTwoClasses(labels []kv.Class, names []string) error {
	first := kv.NoClass
	for _, y := range labels {
		if y != kv.NoClass && first == kv.NoClass {
			first = y
		}
		if y != kv.NoClass && y != first {
			return nil
		}
	}
	if first == kv.NoClass {
		return fmt.Errorf("nothing to clean: %w", ErrNoLabels)
	}
	return fmt.Errorf("all %d labelled nodes are %q, want at least two classes: %w",
		countLabelled(labels), names[first], ErrOneClass)
}
