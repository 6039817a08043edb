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
	var marks []func(*kv.Tx) error
	if g.Splits != "" {
		err := r.Timed("splits", func(stage *ops.Stage) error {
			mark, err := w.splits(ctx, g.Splits, stage)
			marks = append(marks, mark)
			return err
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, "splits")
	}
	features := 0
	if g.Features != "" {
		err := r.Timed("import features", func(stage *ops.Stage) error {
			err := w.features(ctx, g.Features, stage)
			features = stage.Columns
			return err
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, "features")
	}
	if g.Predictions != "" {
		var predictions *cleaner.PredictionWriter
		w.partial, w.seen = true, g.run != nil
		opt := cleaner.PredictionOptions{Logits: g.Logits, Partial: w.partial}
		err := r.Timed("import predictions", func(stage *ops.Stage) (err error) {
			predictions, err = w.predictions(ctx, g.Predictions, opt, stage)
			return err
		})
		if err != nil {
			return nil, err
		}
		marks = append(marks, predictions.Mark)
		parts = append(parts, "predictions")
	}
	if g.run != nil {
		var run *cleaner.RunWriter
		err := r.Timed("import scores", func(stage *ops.Stage) (err error) {
			run, err = w.scores(ctx, g, stage)
			return err
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, run.Close()) }()
		marks = append(marks, run.Mark)
		defer func() {
			if err == nil {
				r.say("%s", wording.Elsewhere(run.Run()))
			}
		}()
	}
	if labelIndex {
		err := r.Timed("index", func(stage *ops.Stage) error {
			stage.Columns = 1
			labels, err := index.Build(bulk, kv.LabelColumn)
			if err != nil {
				return err
			}
			marks = append(marks, labels.Mark)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	err = r.Timed("commit", func(*ops.Stage) error {
		return bulk.Commit(func(tx *kv.Tx) error {
			for _, mark := range marks {
				if err := mark(tx); err != nil {
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
	return parts, err
}
