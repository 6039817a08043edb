package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// Add writes features, predictions and splits, those that are given, into a store, all of them or none. It returns what
// it wrote.
func (g *Graph) Add(ctx context.Context, store *kv.Store, r Job) (parts []string, err error) {
	if g.Features == "" && g.Predictions == "" && g.Splits == "" {
		return nil, nil
	}
	if err := store.View(func(tx *kv.Tx) error { return g.sayPositions(tx, r) }); err != nil {
		return nil, err
	}
	return g.add(ctx, store, r, false)
}

// A marker makes visible what was written, by the transaction of the commit.
type marker interface{ Mark(tx *kv.Tx) error }

// add is Add, which builds the index of labels too if it is asked to.
func (g *Graph) add(ctx context.Context, store *kv.Store, r Job, labelIndex bool) (parts []string, err error) {
	bulk, err := store.Bulk(ctx)
	if err != nil {
		return nil, err
	}
	defer bulk.Abort()
	w := writing{Job: r, bulk: bulk, tx: bulk.Tx(), nodes: g.Nodes, classes: g.PredictionClasses}
	w.begin = func(classes []string, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error) {
		return cleaner.NewPredictionWriter(bulk, classes, opt)
	}
	var marks []marker
	// write writes a part as a stage of its own, if it is given.
	write := func(isGiven bool, name, stage string, part func(*ops.Stage) (marker, error)) {
		if !isGiven || err != nil {
			return
		}
		parts = append(parts, name)
		err = r.Timed(stage, func(stage *ops.Stage) error {
			mark, err := part(stage)
			if mark != nil {
				marks = append(marks, mark)
			}
			return err
		})
	}
	split, _ := w.tx.Column("split")
	write(g.Splits != "", "splits", "splits", func(stage *ops.Stage) (marker, error) {
		stage.Columns = 1
		return nil, w.splits(ctx, g.Splits)
	})
	features := 0
	write(g.Features != "", "features", "import features", func(stage *ops.Stage) (marker, error) {
		err := w.features(ctx, g.Features, stage)
		features = stage.Columns
		return nil, err
	})
	write(g.Predictions != "", "predictions", "import predictions", func(stage *ops.Stage) (marker, error) {
		w.partial, w.seen = true, g.run != nil
		opt := cleaner.PredictionOptions{Logits: g.Logits, Partial: w.partial}
		return w.predictions(ctx, g.Predictions, opt, stage)
	})
	var run *cleaner.RunWriter
	write(g.run != nil, "scores", "import scores", func(stage *ops.Stage) (_ marker, err error) {
		run, err = w.scores(ctx, g, stage)
		return run, err
	})
	if run != nil {
		defer func() { err = errors.Join(err, run.Close()) }()
	}
	write(labelIndex, "labels", "index", func(stage *ops.Stage) (marker, error) {
		stage.Columns = 1
		return index.Build(bulk, kv.LabelColumn)
	})
	if err != nil {
		return nil, err
	}
	err = r.Timed("commit", func(*ops.Stage) error {
		return bulk.Commit(func(tx *kv.Tx) error {
			for _, mark := range marks {
				if err := mark.Mark(tx); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if errors.Is(err, kv.ErrCatalogTooBig) && features > 0 {
		err = fmt.Errorf("%s: the names of its %d columns do not fit into a store, want fewer columns or more "+
			"memory: %w", g.Features, features, err)
	}
	if err == nil && g.Splits != "" && split.Indexed {
		if err = index.Create(ctx, store, "split"); err != nil { // that of the column before is gone with it
			err = fmt.Errorf("the import is done, but the index on split was not made again: %w", err)
		}
	}
	if run != nil && err == nil {
		r.say("%s", wording.Elsewhere(run.Run()))
	}
	return parts, err
}
