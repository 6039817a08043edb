package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// A writing puts files into a store through one bulk write; begin, which begins predictions, may put them elsewhere.
type writing struct {
	reading
	bulk  *kv.Bulk
	tx    *kv.Tx
	begin func(classes []string, opt cleaner.PredictionOptions) (*cleaner.PredictionWriter, error)

	classes []string // of the columns of a matrix of predictions; empty: nobody has named them
}

// predictionEncoding is how predictions are stored.
type predictionEncoding struct {
	TopK    positive `name:"top-k" placeholder:"K" help:"Keep the K largest probabilities of each row, and share the rest evenly among the other classes. Default: all."`
	Float16 bool     `name:"float16" help:"Store predictions as 16-bit floats."`
}

func (e predictionEncoding) encoding() cleaner.PredictionEncoding {
	return cleaner.PredictionEncoding{TopK: int(e.TopK), Float16: e.Float16}
}

// checkEncoding returns a usage error where the flags for predictions make no sense.
func (g *graphFiles) checkEncoding() error {
	if g.Predictions == "" && g.predictionEncoding != (predictionEncoding{}) {
		return usagef("--top-k and --float16 say how predictions are stored, so they need --predictions")
	}
	return checkPredictionClasses(g.PredictionClasses, g.Predictions)
}

// checkPredictionClasses returns a usage error where classes of columns are given and no matrix, which has no header.
func checkPredictionClasses(classes []string, files ...string) error {
	if len(classes) == 0 {
		return nil
	}
	for _, path := range files {
		if !isArray(path) {
			return usagef("--prediction-classes names the columns of a .npy or .npz of --predictions, got %s", cmp.Or(path, "none"))
		}
	}
	return nil
}

// predictionOptions says what the rows of the predictions are.
func (g *graphFiles) predictionOptions() cleaner.PredictionOptions {
	return cleaner.PredictionOptions{
		Logits: g.Logits, Source: cleaner.SourceImported, PredictionEncoding: g.predictionEncoding.encoding(),
	}
}

// sayLoss says what the encoding of predictions lost, where it can lose anything.
func (s *streams) sayLoss(e cleaner.PredictionEncoding, classes int, loss cleaner.PredictionLoss) {
	if e != (cleaner.PredictionEncoding{}) {
		s.say("Predictions are kept as %s. Of the probability in a row this moves %.3g on average, %.3g at most.",
			wording.Encoding(e, classes), loss.Mean, loss.Greatest)
	}
}

// isArray says whether a file is one of numpy's, by its name.
func isArray(path string) bool {
	extension := strings.ToLower(filepath.Ext(path))
	return extension == ".npy" || extension == ".npz"
}

// features writes the matrix of features from a numpy file in the order of the nodes, or a table with ids. Every
// node has a row, and every value is finite.
func (w *writing) features(ctx context.Context, path string, stage *kv.Stage) (err error) {
	if isArray(path) {
		return w.featureArray(ctx, path, stage)
	}
	in, columns, err := openTable(ctx, path, w.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id := columns[0]
	names, err := in.Names()
	if err != nil {
		return err
	}
	names = slices.Delete(names, id, id+1)
	stage.Columns, stage.BytesRead = len(names), in.Size()
	if len(names) == 0 {
		return in.HeaderErrorf("", "has no column beside id, want one a feature")
	}
	matrix, err := w.bulk.Matrix(cleaner.FeaturesMatrix, names)
	if err != nil {
		return in.Errorf(0, "", "%w", err)
	}
	row := make([]float32, len(names))
	return w.eachNode(ctx, in, id, func(v kv.NodeID, _ table.Row, values []float64) error {
		for j, x := range values {
			row[j] = float32(x)
		}
		return matrix.Put(v, row)
	})
}

// columnCost is what a column of features takes while it is imported, about: its name, in the catalogue and on the way
// there, and its values in a row. Columns may take a part of the memory, of which columnShare is the divisor.
const (
	columnCost  = 96
	columnShare = 2
)

func (w *writing) featureArray(ctx context.Context, path string, stage *kv.Stage) (err error) {
	in, err := npy.Open(path, cleaner.FeaturesMatrix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	stage.Columns, stage.BytesRead = int(in.NumColumns()), in.Size()
	if in.NumColumns() == 0 {
		return &npy.Error{Path: path, Row: -1, Msg: "has no columns, want one a feature"}
	}
	if most := w.memory / (columnCost * columnShare); in.NumColumns() > most {
		return &npy.Error{Path: path, Row: -1, Msg: fmt.Sprintf(
			"has %d columns, whose names and rows take more memory than there is, want at most %d", in.NumColumns(), most)}
	}
	names := make([]string, in.NumColumns())
	for j := range names {
		names[j] = "f" + strconv.Itoa(j)
	}
	matrix, err := w.bulk.Matrix(cleaner.FeaturesMatrix, names)
	if err != nil {
		return err
	}
	var values []float32
	return w.eachRow(ctx, in, func(v kv.NodeID, row npy.Row) error {
		values = values[:0]
		for i, x := range row.Values {
			if x32 := float32(x); math.IsNaN(x) || math.IsInf(float64(x32), 0) {
				j := i
				if row.Columns != nil {
					j = int(row.Columns[i])
				}
				return w.rowError(path, row, v, fmt.Sprintf("column %d is %v, want a finite number", j, x))
			}
			values = append(values, float32(x))
		}
		if in.Sparse() {
			return matrix.PutSparse(v, row.Columns, values)
		}
		return matrix.Put(v, values)
	})
}

// predictions writes the matrix of predictions; the caller marks it when it commits.
func (w *writing) predictions(
	ctx context.Context, path string, opt cleaner.PredictionOptions, stage *kv.Stage,
) (*cleaner.PredictionWriter, error) {
	put := w.predictionTable
	if isArray(path) {
		put = w.predictionArray
	}
	out, err := put(ctx, path, opt, stage)
	if err != nil {
		return nil, err
	}
	if err := out.Finish(); err != nil {
		return nil, orderError(path, err)
	}
	w.s.sayLoss(out.Encoding(), stage.Columns, out.Loss())
	return out, nil
}

func (w *writing) predictionTable(
	ctx context.Context, path string, opt cleaner.PredictionOptions, stage *kv.Stage,
) (_ *cleaner.PredictionWriter, err error) {
	in, columns, err := openTable(ctx, path, w.memory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id := columns[0]
	classes := slices.Delete(classNames(w.tx, w.form.ofAll(in.Header())), id, id+1)
	stage.Columns, stage.BytesRead = len(classes), in.Size()
	out, err := w.begin(classes, opt)
	if errors.Is(err, cleaner.ErrUnknownClass) {
		return nil, in.HeaderErrorf("", "%w%s", err, classesHint(err))
	}
	if err != nil {
		return nil, in.Errorf(0, "", "%w", err)
	}
	err = w.eachNode(ctx, in, id, func(v kv.NodeID, row table.Row, values []float64) error {
		err := out.Put(v, values)
		if bad, ok := errors.AsType[*cleaner.RowError](err); ok {
			return in.Errorf(row.Line, "", "node %s: %s", bad.ID, bad.Msg)
		}
		return err
	})
	return out, err
}

func (w *writing) predictionArray(
	ctx context.Context, path string, opt cleaner.PredictionOptions, stage *kv.Stage,
) (_ *cleaner.PredictionWriter, err error) {
	in, err := npy.Open(path, cleaner.PredictionsMatrix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	classes, asked := kv.SortClasses(w.tx.Classes()), "class in the order "
	advice := " (--classes names classes that no node is labelled with, --prediction-classes the columns of the file)"
	if opt.AssumedOrder = len(w.classes) == 0; !opt.AssumedOrder {
		classes, asked, advice = classNames(w.tx, w.form.ofAll(w.classes)), "class of --prediction-classes ", ""
	}
	stage.Columns, stage.BytesRead = int(in.NumColumns()), in.Size()
	if in.NumColumns() != int64(len(classes)) {
		return nil, &npy.Error{Path: path, Row: -1, Msg: fmt.Sprintf("has %d columns, want %d, one for each %s%s%s",
			in.NumColumns(), len(classes), asked, listNames(classes), advice)}
	}
	out, err := w.begin(classes, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, err, classesHint(err))
	}
	dense := make([]float64, len(classes))
	err = w.eachRow(ctx, in, func(v kv.NodeID, row npy.Row) error {
		values := row.Values
		if in.Sparse() {
			clear(dense)
			for i, j := range row.Columns {
				dense[j] = row.Values[i]
			}
			values = dense
		}
		err := out.Put(v, values)
		if bad, ok := errors.AsType[*cleaner.RowError](err); ok {
			return w.rowError(path, row, v, bad.Msg)
		}
		return err
	})
	return out, err
}

// mostOrderText is how long a list of classes an error has, in bytes: no system takes a longer one in a flag.
const mostOrderText = 100 << 10

// orderError says of which classes the columns of a matrix seem to be, in words that can be pasted.
func orderError(path string, err error) error {
	order, ok := errors.AsType[*cleaner.ColumnOrderError](err)
	if !ok {
		return err
	}
	wanted, advice := "in the order "+listNames(order.Classes), "put them into it, or give a table, whose header names them"
	listed := kong.JoinEscaped(order.Classes, ',')
	if len(listed) <= mostOrderText && slices.Equal(kong.SplitEscaped(listed, ','), order.Classes) {
		wanted, advice = "with --prediction-classes "+shellWord(listed), "give that, or the order that is right"
	}
	if len(order.Guessed) > 0 {
		wanted += fmt.Sprintf(" (where no label speaks for %s)", listNames(order.Guessed))
	}
	return &npy.Error{Path: path, Row: -1, Msg: fmt.Sprintf(
		"its columns seem to be in another order than that of the statement classes: %d of %d labels are predicted in it, and %d %s: %s",
		order.Given, order.Compared, order.Permuted, wanted, advice)}
}

// splits writes the column split, in which a node left out is in none, and the index on it where there was one. Mark,
// which counts the index, is for the commit.
func (w *writing) splits(ctx context.Context, path string, stage *kv.Stage) (mark func(*kv.Tx) error, err error) {
	stage.Columns = 1
	column, err := w.bulk.Column("split", kv.KindString)
	if err != nil {
		return nil, err
	}
	mark, put := func(*kv.Tx) error { return nil }, column.Put
	if before, _ := w.tx.Column("split"); before.Indexed {
		entries, failed := index.NewBuilder(w.bulk, "split")
		if failed != nil {
			return nil, failed
		}
		defer func() {
			if err == nil {
				err = entries.Finish()
			}
			err = errors.Join(err, entries.Close())
		}()
		mark, put = entries.Mark, func(v kv.NodeID, value kv.Value) error {
			return cmp.Or(column.Put(v, value), entries.Add(v, value))
		}
	}
	return mark, eachSplit(ctx, w.tx, path, w.reading, func(v kv.NodeID, name string) error {
		if name == "" {
			return nil
		}
		return put(v, kv.StringValue(name))
	})
}

// eachSplit calls fn for every row of a splits file, with the name of cleaner.Split.String; "" of an empty one.
func eachSplit(ctx context.Context, tx *kv.Tx, path string, r reading, fn func(v kv.NodeID, name string) error) (err error) {
	in, columns, err := openTable(ctx, path, r.memory, "split")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	id, split := columns[0], columns[1]
	if split < 0 {
		return noColumn(in, "split")
	}
	seen, err := newSeen(tx)
	if err != nil {
		return err
	}
	defer seen.stop()
	return eachRow(ctx, in, r, func(row table.Row) error {
		v, err := seen.node(in, row, id)
		if err != nil {
			return err
		}
		name := string(row.Fields[split])
		if name == "" {
			return fn(v, "")
		}
		parsed, err := cleaner.ParseSplit(name)
		if err != nil {
			return in.Want(row, split, "train, val, test or none")
		}
		return fn(v, parsed.String())
	})
}

// eachRow calls fn for every row of a numpy file with the node it belongs to, by the order of the nodes file.
func (w *writing) eachRow(ctx context.Context, in *npy.Reader, fn func(kv.NodeID, npy.Row) error) error {
	if in.NumRows() != int64(w.tx.NumNodes()) {
		return &npy.Error{Path: in.Path(), Row: -1, Msg: fmt.Sprintf("has %d rows, want %d, one for each node%s in the order of the nodes file",
			in.NumRows(), w.tx.NumNodes(), w.bad.leftOut())}
	}
	report := w.s.progress.report()
	nextRow, stop := iter.Pull2(in.Rows())
	defer stop()
	for v, err := range w.tx.InFileOrder() {
		if err != nil {
			return err
		}
		row, err, _ := nextRow()
		if err != nil {
			return err
		}
		if row.Index%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if report != nil {
				report(rowsStage+filepath.Base(in.Path()), row.Index, in.NumRows())
			}
		}
		if err := fn(v, row); err != nil {
			return err
		}
	}
	// The reader checks the end of the file in the step behind the last row.
	if _, err, _ := nextRow(); err != nil {
		return err
	}
	return ctx.Err()
}

// eachNode calls fn for every row of a table of numbers, its values in the order of the columns without id. Every node
// must have one row.
func (w *writing) eachNode(ctx context.Context, in *table.Reader, id int, fn func(kv.NodeID, table.Row, []float64) error) error {
	seen, err := newSeen(w.tx)
	if err != nil {
		return err
	}
	defer seen.stop()
	values := make([]float64, 0, len(in.Header())-1)
	err = eachRow(ctx, in, w.reading, func(row table.Row) error {
		v, err := seen.node(in, row, id)
		if err != nil {
			return err
		}
		values = values[:0]
		for column, text := range row.Fields {
			if column == id {
				continue
			}
			x, ok := parseNumber(text)
			if !ok || math.IsInf(float64(float32(x)), 0) {
				return in.Want(row, column, "a finite number")
			}
			values = append(values, x)
		}
		return fn(v, row, values)
	})
	if err != nil {
		return err
	}
	return seen.all(in)
}

func (w *writing) rowError(path string, row npy.Row, v kv.NodeID, msg string) error {
	id, err := w.tx.ID(v)
	if err != nil {
		return err
	}
	return &npy.Error{Path: path, Row: row.Index, Msg: fmt.Sprintf("(node %s): %s", id, msg)}
}

// openTable opens a table whose rows name nodes. It returns the places of the column id and of those of the other names,
// -1 of one that is not there.
func openTable(ctx context.Context, path string, memory int64, others ...string) (*table.Reader, []int, error) {
	in, err := table.Open(ctx, path, memory)
	if err != nil {
		return nil, nil, err
	}
	columns, err := in.Columns(append([]string{"id"}, others...)...)
	if err == nil && columns[0] < 0 {
		err = noColumn(in, "id")
	}
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, columns, nil
}

// A seenNodes finds the nodes that rows name, each once. It is fast where the rows are in the order of the nodes file.
type seenNodes struct {
	tx    *kv.Tx
	rows  kv.NodeSet // named so far
	count int

	nextNode func() (kv.NodeID, error, bool) // in file order
	nextID   func() (string, error, bool)    // of the same
	stop     func()
	expected kv.NodeID
	id       string // of the expected node; empty behind the last
}

// newSeen returns a seenNodes; stop it.
func newSeen(tx *kv.Tx) (*seenNodes, error) {
	s := &seenNodes{tx: tx, rows: kv.NewNodeSet(tx.NumNodes())}
	nextNode, stopNodes := iter.Pull2(tx.InFileOrder())
	nextID, stopIDs := iter.Pull2(tx.IDs())
	s.nextNode, s.nextID = nextNode, nextID
	s.stop = func() {
		stopNodes()
		stopIDs()
	}
	if err := s.expect(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// expect moves on to the next node of the nodes file.
func (s *seenNodes) expect() (err error) {
	if s.expected, err, _ = s.nextNode(); err != nil {
		return err
	}
	s.id, err, _ = s.nextID()
	return err
}

func (s *seenNodes) node(in *table.Reader, row table.Row, column int) (kv.NodeID, error) {
	v, err := s.find(row.Fields[column])
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return 0, in.Want(row, column, "the id of a node")
	case err != nil:
		return 0, err
	case s.rows.Has(v):
		return 0, in.Errorf(row.Line, in.Header()[column], "got %q again, want every id once", row.Fields[column])
	}
	s.rows.Add(v)
	s.count++
	return v, nil
}

func (s *seenNodes) find(id []byte) (kv.NodeID, error) {
	if s.id == "" || s.id != string(id) {
		return s.tx.Node(string(id))
	}
	v := s.expected
	return v, s.expect()
}

// all returns an error that names the first node, in the order of the nodes file, without a row.
func (s *seenNodes) all(in *table.Reader) error {
	missing := s.tx.NumNodes() - s.count
	if missing == 0 {
		return nil
	}
	for v, err := range s.tx.InFileOrder() {
		if err != nil {
			return err
		}
		if s.rows.Has(v) {
			continue
		}
		id, err := s.tx.ID(v)
		if err != nil {
			return err
		}
		return in.Errorf(0, "", "has no row for node %q (%d of %d nodes have none), want one for each", id, missing, s.tx.NumNodes())
	}
	return nil
}

// classesHint is what to do about classes that differ.
func classesHint(err error) string {
	if errors.Is(err, cleaner.ErrUnknownClass) {
		return " (--classes names classes that no node is labelled with)"
	}
	return ""
}

// listNames prints the first few names.
func listNames(names []string) string {
	const few = 12
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
