package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// predictions writes the matrix of predictions; the caller marks it when it commits.
func (w *writing) predictions(
	ctx context.Context, path string, opt cleaner.PredictionOptions, stage *ops.Stage,
) (out *cleaner.PredictionWriter, err error) {
	in, err := w.openMatrix(ctx, path, cleaner.PredictionsMatrix, stage)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	if out, err = w.beginPredictions(in, opt); err != nil {
		return nil, err
	}
	var dense []float64
	rows := 0
	err = in.each(ctx, w, func(v kv.NodeID, columns []uint32, values []float64) error {
		if w.partial && columns == nil && !slices.ContainsFunc(values, func(x float64) bool { return !math.IsNaN(x) }) {
			return nil
		}
		rows++
		if columns == nil {
			return out.Put(v, values)
		}
		dense = slices.Grow(dense[:0], stage.Columns)[:stage.Columns]
		clear(dense)
		for i, j := range columns {
			dense[j] = values[i]
		}
		return out.Put(v, dense)
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, in.arrayErrorf("has predictions of no node")
	}
	if err := out.Finish(); err != nil {
		if errors.Is(err, cleaner.ErrNotLogits) {
			return nil, in.arrayErrorf("its rows are probabilities already, not logits: leave out --logits, and " +
				"divide percentages by 100")
		}
		if order, ok := errors.AsType[*cleaner.ColumnOrderError](err); ok {
			err = &OrderError{path, order}
		}
		return nil, err
	}
	w.sayLoss(out.Encoding(), stage.Columns, out.Loss())
	return out, w.sayRows(in, out, rows)
}

// beginPredictions finds the classes of the columns.
func (w *writing) beginPredictions(in *matrixFile, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error) {
	if in.isNamed() {
		if len(w.classes) > 0 {
			return nil, in.table.HeaderErrorf("", "names the classes of its columns, so it goes without --prediction-classes")
		}
		columns := in.names(classNames(w.tx, w.form.ofAll(in.table.Header())))
		out, err := w.begin(columns, opt)
		if errors.Is(err, cleaner.ErrUnknownClass) {
			classes := w.tx.Classes()
			isClass := func(column string) bool { return slices.Contains(classes, column) }
			hint := spellingHint(classes, in.names(in.table.Header()))
			if w.rows == nil && hint == "" && len(classes) > 0 && !slices.ContainsFunc(columns, isClass) {
				return nil, in.table.HeaderErrorf("", "has no column of a class, want a column of probabilities for each class: %s",
					namelist.Of(namelist.Sorted(classes)))
			}
			err = in.table.HeaderErrorf("", "%w%s", err, cmp.Or(hint, w.classesHint(err)))
		} else if err != nil {
			err = in.table.Errorf(0, "", "%w", err)
		}
		return out, err
	}
	classes, asked := namelist.Sorted(w.tx.Classes()), "class in the order "
	advice := " (--classes names classes that no node is labelled with, --prediction-classes the columns of the file)"
	if w.rows != nil {
		advice = " (--prediction-classes names the columns of the file)"
	}
	if opt.AssumedOrder = len(w.classes) == 0; !opt.AssumedOrder {
		classes, asked, advice = classNames(w.tx, w.form.ofAll(w.classes)), "class of --prediction-classes ", ""
	}
	if columns := in.columns(); columns != len(classes) {
		return nil, in.arrayErrorf("has %d columns, want %d, one for each %s%s%s", columns, len(classes), asked,
			namelist.Of(classes), advice)
	}
	out, err := w.begin(classes, opt)
	if err != nil {
		err = fmt.Errorf("%s: %w%s", in.path(), err, w.classesHint(err))
	}
	return out, err
}

// An OrderError says that the columns of the predictions in a file seem to be in another order than was believed.
type OrderError struct {
	Path string
	*cleaner.ColumnOrderError
}

// Unwrap returns the error of the cleaner.
func (e *OrderError) Unwrap() error { return e.ColumnOrderError }

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

// spellingHint names a class that a column has in another spelling, such as True of true, or 0.0 of 0; empty if there
// is none.
func spellingHint(classes, columns []string) string {
	spelling := func(name string) string { return strings.ToLower(numberKey(looks(name))) }
	for _, column := range columns {
		for _, class := range classes {
			if column != class && spelling(column) == spelling(class) && !slices.Contains(classes, column) &&
				!slices.Contains(columns, class) {
				return fmt.Sprintf(". The store has the class %q, and the file the column %q: rename the column", class, column)
			}
		}
	}
	return ""
}

// logitsHint advises on a row that may be logits.
func logitsHint(bad *cleaner.RowError) string {
	if !bad.MayBeLogits {
		return ""
	}
	return ". If these are logits, or natural logarithms of probabilities, add --logits"
}

// sayLoss says what the encoding of predictions lost, where it can lose anything.
func (r Job) sayLoss(e cleaner.PredictionEncoding, classes int, loss cleaner.PredictionLoss) {
	if e != (cleaner.PredictionEncoding{}) {
		r.say("Predictions are kept as %s. Of the probability in a row this moves %.3g on average, %.3g at most.",
			wording.Encoding(e, classes), loss.Mean, loss.Greatest)
	}
}

// sayRows tells what should be known of the rows of predictions: scaled ones, nodes without one, and rows that may be
// of other nodes.
func (w *writing) sayRows(in *matrixFile, out *cleaner.PredictionWriter, rows int) error {
	if s := out.Scaled(); s.Rows > 0 {
		sums := fmt.Sprintf("%.4g", s.Least)
		if greatest := fmt.Sprintf("%.4g", s.Greatest); greatest != sums {
			sums += " to " + greatest
		}
		w.say("%s: the probabilities of %s add up to %s, as rounded numbers do: they are scaled to add up to 1.", in.path(),
			wording.Count(s.Rows, "row", "rows"), sums)
	}
	if lacking := w.tx.Shape().Present - rows; w.partial && !w.seen && lacking > 0 {
		w.say("%s: %d of %s have no predictions. clean takes those of the built-in classifier for them if enough "+
			"nodes are labelled; with --as-given they get no score.",
			in.path(), lacking, wording.Nodes(w.tx.Shape().Present))
	}
	if out.NoneIsNegative() {
		w.warn("%s: no logit is below 0. If these are probabilities, percentages, counts or the like, divide each "+
			"row by its sum, and leave --logits out", in.path())
	}
	a := out.Agreement()
	if a.AreTied() {
		w.warn("%s: the rows of %s have no largest prediction, so they say nothing of the labels", in.path(),
			wording.Nodes(a.Tied))
	}
	if a.OneOnly && a.Matches < a.Nodes {
		w.say("%s: all largest predictions, or all labels, are of one class: whether rows are in the right order cannot be seen.", in.path())
	}
	if (!a.IsLittle() || a.OneOnly) && a.Order == nil {
		return nil
	}
	text := fmt.Sprintf("%s: the largest prediction of a row is the label of %d of %s, and of %.0f by chance. ",
		in.path(), a.Matches,
		wording.Nodes(a.Nodes), a.Chance)
	columns := "as the header names them"
	switch {
	case in.isNamed():
	case len(w.classes) > 0:
		columns = "for " + namelist.Of(w.classes)
	default:
		columns = "for " + namelist.Of(namelist.Sorted(w.tx.Classes()))
	}
	if a.Order != nil {
		w.warn("%sIt is the label of %d if the columns are %s. They were taken %s: is that right?", text,
			a.Order.PermutedMatches,
			namelist.Of(a.Order.Classes), columns)
		return nil //nolint:nilerr // the order is a warning here
	}
	order, err := w.rowOrder(in)
	if err != nil {
		return err
	}
	w.warn("%sEither the predictions are useless, or columns or rows are in another order. Columns were taken %s, "+
		"and %s", text, columns, order)
	return nil
}

// rowOrder says for which nodes the rows of a matrix were taken.
func (w *writing) rowOrder(in *matrixFile) (string, error) {
	if in.table != nil {
		return fmt.Sprintf("each row for the node whose id it has in the column %s.", in.table.Header()[in.id]), nil
	}
	nodes := w.rows
	if nodes == nil {
		nodes = w.tx.InFileOrder()
	}
	next, stop := iter.Pull2(nodes)
	defer stop()
	var ids []any
	for range 2 {
		v, err, _ := next()
		if err != nil {
			return "", err
		}
		id, err := w.tx.ID(v)
		if err != nil {
			return "", err
		}
		ids = append(ids, wording.Short(id))
	}
	return fmt.Sprintf("rows in the order of the nodes file, row 0 for node %s and row 1 for node %s.", ids...), nil
}

// saveIDs is what to do about edges whose ends are positions of rows.
const saveIDs = "save ids[edges] in their place, ids being the column id as an array"

// sayPositions says how arrays were read, if the ids of the nodes could be positions of their rows, counted from 0 or
// 1, in another order: the numbers of edges are ids, and the rows of matrices those of the nodes file. Some ids may be
// missing among them.
func (g *Graph) sayPositions(tx *kv.Tx, r Job) error {
	edges, matrices := g.Edges.only(),
		slices.DeleteFunc([]string{g.Features, g.Predictions}, func(path string) bool { return !IsArray(path) })
	if !tx.Shape().IntegerIDs || !IsArray(edges) && len(matrices) == 0 {
		return nil
	}
	position, last, least, most, isSorted, moved := 0, 0, math.MaxInt, 0, true, ""
	for id, err := range tx.IDs() {
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(id)
		if err != nil || number < 0 || number > 2*tx.Shape().Present {
			return nil // an id that is no position
		}
		position, isSorted = position+1, isSorted && number >= last
		if number != position-1 && number != position && moved == "" {
			moved = fmt.Sprintf("row %d has the id %s", position-1, id)
		}
		last, least, most = number, min(least, number), max(most, number)
	}
	if isSorted || moved == "" {
		return nil
	}
	text := fmt.Sprintf("The ids of the nodes are numbers from %d to %d, in another order than the rows of the nodes "+
		"file: %s.", least, most, moved)
	if IsArray(edges) {
		text += fmt.Sprintf(" The numbers in %s were taken for ids. If they are positions of rows, as in edge_index "+
			"of PyG, %s.", edges, saveIDs)
	}
	if len(matrices) > 0 {
		text += fmt.Sprintf(" The rows of %s were taken in the order of the nodes file. If they are in that of the "+
			"ids, sort the nodes file by id.",
			strings.Join(matrices, " and "))
	}
	r.caution(text)
	return nil
}
