package files

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/npy"
)

// predictions writes the matrix of predictions; the caller marks it when it commits.
func (w *writing) predictions(
	ctx context.Context, path string, opt cleaner.PredictionOptions, stage *ops.Stage,
) (out *cleaner.PredictionWriter, err error) {
	in, err := w.openMatrix(ctx, path, cleaner.PredictionsMatrix, stage)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if out, err = w.beginPredictions(in, opt); err != nil {
		return nil, err
	}
	rows := 0
	err = in.each(ctx, w, func(v kv.NodeID, row npy.Row) error {
		if w.partial && !slices.ContainsFunc(row.Values, func(x float64) bool { return !math.IsNaN(x) }) {
			return nil
		}
		rows++
		return out.Put(v, row.Values)
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, in.errorf("has predictions of no node")
	}
	if err := out.Finish(); err != nil {
		if errors.Is(err, cleaner.ErrNotLogits) {
			return nil, in.errorf("its rows are probabilities already, not logits: leave out --logits, and " +
				"divide percentages by 100")
		}
		return nil, err
	}
	if all := w.tx.Shape().Present; w.partial && !w.seen && rows < all {
		w.say("%s: %d of %s have no predictions. clean takes those of the built-in classifier for them if enough "+
			"nodes are labelled; with --as-given they get no score.", in.Path(), all-rows, wording.Nodes(all))
	}
	return out, nil
}

// beginPredictions finds the classes of the columns.
func (w *writing) beginPredictions(in *matrixFile, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error) {
	if in.isNamed() {
		if len(w.classes) > 0 {
			return nil, in.table.HeaderErrorf("", "names the classes of its columns, so it goes without --prediction-classes")
		}
		columns := in.names(classNames(w.tx, in.table.Header()))
		out, err := w.begin(columns, opt)
		if errors.Is(err, cleaner.ErrUnknownClass) {
			classes := w.tx.Classes()
			isClass := func(column string) bool { return slices.Contains(classes, column) }
			if w.rows == nil && len(classes) > 0 && !slices.ContainsFunc(columns, isClass) {
				return nil, in.table.HeaderErrorf("", "has no column of a class, want a column of probabilities for each class: %s",
					namelist.Of(namelist.Sorted(classes)))
			}
			err = in.table.HeaderErrorf("", "%w%s", err, w.classesHint(err))
		} else if err != nil {
			err = in.errorf("%w", err)
		}
		return out, err
	}
	classes, asked := namelist.Sorted(w.tx.Classes()), "class in the order "
	advice := " (--classes names classes that no node is labelled with, --prediction-classes the columns of the file)"
	if w.rows != nil {
		advice = " (--prediction-classes names the columns of the file)"
	}
	if len(w.classes) > 0 {
		classes, asked, advice = classNames(w.tx, w.classes), "class of --prediction-classes ", ""
	}
	if columns := in.columns(); columns != len(classes) {
		return nil, in.errorf("has %d columns, want %d, one for each %s%s%s", columns, len(classes), asked,
			namelist.Of(classes), advice)
	}
	out, err := w.begin(classes, opt)
	if err != nil {
		err = fmt.Errorf("%s: %w%s", in.Path(), err, w.classesHint(err))
	}
	return out, err
}

// classesHint advises on classes that differ.
func (w *writing) classesHint(err error) string {
	switch {
	case !errors.Is(err, cleaner.ErrUnknownClass):
		return ""
	case w.rows != nil:
		return "; append without --predictions, and then import --predictions of all nodes, with a column for each class"
	}
	return " (--classes names classes that no node is labelled with)"
}
