package shell

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// evalCommand measures methods on injected noise.
type evalCommand struct {
	DB string `arg:"" optional:"" name:"DB" help:"Directory of the store; or give --nodes and --edges."`
	inputFiles
	labelForm
	Noise             string   `default:"sym:0.1" file:"read" placeholder:"NOISE" help:"KIND:RATE, with one of ${noises}; or file:FILE with id, label: the noisy label of every node."`
	Repeats           *int     `placeholder:"N" help:"Number of draws of noise and split. Default: 5."`
	Predictions       []string `sep:"none" file:"read" placeholder:"FILE" help:"Predictions of your own classifier, trained on the noisy labels of --noise file:FILE; repeat the flag, one file for each repeat."`
	PredictionClasses []string `placeholder:"A,B" help:"Classes of the columns of .npy and .npz predictions, in their order. Default: all, in the order of the statement 'classes'."`
	Logits            bool     `help:"The predictions are logits: turn them into probabilities."`
	Seed              uint64   `default:"${seed}" help:"Seed of the first repeat."`
	Method            []string `sep:"none" placeholder:"NAME" help:"Method to measure. Repeat the flag for more; each method counts once: ${methods}. Default: default."`
	Split             string   `placeholder:"SPLIT" help:"A split to draw in every repeat: shares of training, validation and test nodes. Default: the column split of the graph, or 0.8/0.1/0.1."`
	detection
	Format string `enum:"table,json" default:"table" help:"table or json."`
	Flags  string `file:"write" placeholder:"FILE" help:"Write a csv file with the verdict of each method on each test node in each repeat."`
	stageFile
	resources
}

// defaultRepeats is how many times noise and split are drawn.
const defaultRepeats = 5

// defaultSplit is the split drawn where neither flags nor the graph say how to split.
const defaultSplit = "0.8/0.1/0.1"

func (*evalCommand) Help() string {
	return `Takes the labels of the graph for true and makes some of them wrong, in all splits. It trains the base ` +
		`classifier on the noisy labels. Every method then scores the test nodes. The store is not changed. Run it on ` +
		`your own graph before a review: it shows how well clean works there. The main metrics are:

  - f1 and mcc: F1 and MCC at the threshold
  - p_at_t: precision of the T highest scores, T being the number of mislabels
  - p_at_t_flagged: the same, but only flagged nodes count
  - precision, recall and average_precision
  - ece: how far scores are from probabilities
  - found_at: the share of the mislabels that you find if you review the 1, 5 and 10% highest scores

The table shows the first six metrics (f1 to recall); the true and the estimated mislabel rate follow. ` +
		`--format json has all metrics, for each split and for all labelled nodes (by_split). clean judges all labelled ` +
		`nodes. confident-learning and dyb judge the nodes of each split by themselves.

Methods beside the presets default and paper are competitors (confident-learning, argmax, argmin, aum, dyb) and ` +
		`paper without some of its parts (labels-only, predictions-only, no-transition). They all get the same noisy ` +
		`labels and predictions. aum watches the training of the base classifier.

Noise KIND:RATE makes this share of the labels wrong, rounded to whole nodes. The kind chooses the class that ` +
		`replaces the right one:

  - sym: any other class
  - asym: the next class
  - feature: a class with similar features
  - topology: a class of the nodes around
  - confidence: a class to which a classifier, trained on the true labels, gives a high probability
  - cluster: in some clusters of the features of a class, many labels become one other class; the other clusters ` +
		`keep their labels
  - instance: each node has its own chance, and features choose the class

feature, cluster and instance need features. Wrong labels are hardest to find if the features or neighbours of a ` +
		`node are those of the wrong class. Try these kinds before you trust results with sym. A file gives the noisy ` +
		`labels themselves.

--splits gives the split of the nodes. --split draws one at random in every repeat. Without both, the column split ` +
		`of the graph counts, and without that 0.8/0.1/0.1. Standard error says which it was.

An interrupted evaluation starts over.

    graphcleaner eval my.graph --noise sym:0.1 --repeats 5 --seed 1
    graphcleaner eval my.graph --noise asym:0.1 --method default --method confident-learning --format json
    graphcleaner eval my.graph --noise cluster:0.2 --repeats 10 --method default --method argmax --format json
    graphcleaner eval --nodes nodes.csv --edges edges.csv --features words.npz --method paper --split 0.8/0.1/0.1
    graphcleaner eval my.graph --noise file:noisy.csv --predictions seed1.npy --predictions seed2.npy --method paper`
}

func (c *evalCommand) Run(ctx context.Context, s *streams) error {
	if err := cmp.Or(c.check(), c.checkEdgeColumns(c.Edges)); err != nil {
		return err
	}
	opt, err := c.options(s)
	if err != nil {
		return err
	}
	ofFiles := c.Nodes != ""
	howRead := c.Features != "" || len(c.Classes) > 0 || c.Directed || c.EdgeColumns.of != nil || c.Unlabelled != nil &&
		opt.Noise != ""
	switch {
	case ofFiles == (c.DB != "") || ofFiles != (c.Edges != ""):
		return usagef("eval: want a store, or --nodes and --edges")
	case !ofFiles && howRead:
		return usagef("eval: flags that say how files are read go with --nodes and --edges, got a store")
	case ofFiles:
		err = c.evaluateFiles(ctx, opt, s)
	default:
		err = c.use(s, c.DB, toReadLong, func(store *kv.Store) error { return c.measure(ctx, store, opt, s) })
	}
	return leaving(wording.Advise(c.inFlags(err)), "nothing was written")
}

// options reads the flags; what is in files is left to measure.
func (c *evalCommand) options(s *streams) (opt evaluate.Options, err error) {
	opt = evaluate.Options{
		Options: cleaner.Options{
			Hops:         c.Hops,
			Threshold:    orZero(c.Threshold),
			Expect:       orZero(c.Expect),
			Seed:         c.Seed,
			Workers:      c.Threads,
			MemoryBudget: c.work(),
			Progress:     s.progress.report,
			Notice:       s.notice,
			OnStage:      s.stages.add,
		},
		Noise:   c.Noise,
		Repeats: defaultRepeats,
		Methods: c.Method,
	}
	if c.Repeats != nil {
		if opt.Repeats = *c.Repeats; opt.Repeats < 1 {
			return opt, usagef("eval: --repeats %d: want 1 or more", opt.Repeats)
		}
	}
	for _, method := range c.Method {
		if !slices.Contains(evaluate.MethodNames(), method) {
			return opt, usagef("eval: --method %s: want one of %s", method, strings.Join(evaluate.MethodNames(), ", "))
		}
	}
	kind, of, _ := strings.Cut(c.Noise, ":")
	switch r, err := strconv.ParseFloat(of, 64); {
	case kind == "file" && of != "":
		opt.Noise = ""
	case slices.Contains(evaluate.NoiseKinds(), kind) && err == nil && r > 0 && r < 1:
	default:
		return opt, usagef("eval: --noise %s: want KIND:RATE with one of %s and a rate between 0 and 1, or file:FILE",
			c.Noise, strings.Join(evaluate.NoiseKinds(), ", "))
	}
	switch {
	case len(c.Predictions) == 0 && (c.Logits || len(c.PredictionClasses) > 0):
		return opt, usagef("eval: --logits and --prediction-classes say what --predictions are, want some")
	case len(c.Predictions) > 0 && (kind != "file" || c.Repeats != nil || c.Split != ""):
		return opt, usagef("eval: --predictions want the noisy labels and the split that they were made with: " +
			"--noise file:FILE, --splits FILE if the graph has none, and a file for each repeat")
	case c.Split != "" && c.Splits != "":
		return opt, usagef("eval: want --split or --splits, got both")
	}
	if c.Split != "" {
		if opt.Split, err = parseShares(c.Split); err != nil {
			return opt, err
		}
	}
	return opt, checkPredictionClasses(c.PredictionClasses, c.NoHeader, c.Predictions...)
}

// parseShares reads three shares such as 0.8/0.1/0.1.
func parseShares(text string) (shares [3]float64, err error) {
	sum, parts := 0.0, strings.Split(text, "/")
	for i := range shares {
		if len(parts) == len(shares) {
			shares[i], _ = strconv.ParseFloat(parts[i], 64) //nolint:errcheck // what is no number is no share
		}
		if sum += shares[i]; !(shares[i] > 0 && sum <= 1+1e-9) {
			return shares, usagef("eval: --split %s: want shares of training, validation and test nodes such as 0.8/0.1/0.1",
				text)
		}
	}
	return shares, nil
}

// evaluateFiles makes a store of the files for the time of the evaluation.
func (c *evalCommand) evaluateFiles(ctx context.Context, opt evaluate.Options, s *streams) (err error) {
	dir, err := os.MkdirTemp("", "graphcleaner-eval-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db := filepath.Join(dir, "graph")
	graph := graphFiles{inputFiles: c.inputFiles, labelForm: c.labelForm}
	if _, err := graph.load(ctx, db, s.job(c.Threads, int64(c.Memory))); err != nil {
		return err
	}
	c.Splits = "" // they are in the store now
	return c.use(s, db, toRead, func(store *kv.Store) error { return c.measure(ctx, store, opt, s) })
}

// readInputs reads noise, splits and predictions from the files that flags name; predictions when their turn comes.
func (c *evalCommand) readInputs(ctx context.Context, tx *kv.Tx, opt *evaluate.Options, s *streams) (err error) {
	defer s.stages.end("read")
	r := c.of(s.job(0, c.work()))
	r.OnStage = nil // predictions are read within stages of the evaluation
	kind, path, _ := strings.Cut(c.Noise, ":")
	if kind == "file" {
		if opt.NoisyLabels, err = files.ReadNoisyLabels(ctx, tx, path, c.form(), r); err != nil {
			return err
		}
	}
	if c.Splits != "" {
		if opt.Splits, err = files.ReadSplits(ctx, tx, c.Splits, r); err != nil {
			return err
		}
	} else if _, stored := tx.Column("split"); !stored && len(c.Predictions) > 0 {
		return usagef("eval: --predictions want the split that they were made with, and the graph has none: give --splits")
	}
	for _, path := range c.Predictions {
		input := &graphFiles{predictionFile: predictionFile{Predictions: path, PredictionClasses: c.PredictionClasses,
			Logits: c.Logits}, labelForm: c.labelForm}
		opt.Predictions = append(opt.Predictions, func(
			ctx context.Context, tx *kv.Tx, begin func([]string, cleaner.PredictionOptions) (*cleaner.PredictionWriter, error),
		) error {
			return input.graph().ReadPredictions(ctx, tx, r, begin)
		})
	}
	return nil
}

func (c *evalCommand) measure(ctx context.Context, store *kv.Store, opt evaluate.Options, s *streams) error {
	var result *evaluate.Result
	err := store.View(func(tx *kv.Tx) error {
		if err := c.readInputs(ctx, tx, &opt, s); err != nil {
			return err
		}
		s.say("Split: %s.", c.splitName(tx))
		return c.writingFlags(tx, &opt, s, func() (err error) {
			result, err = evaluate.Run(ctx, store, opt)
			return err
		})
	})
	if err != nil {
		return err
	}
	return printEvaluation(s.out, result, c.Format)
}

// splitName says which nodes are trained on and measured.
func (c *evalCommand) splitName(tx *kv.Tx) string {
	_, stored := tx.Column("split")
	switch {
	case c.Splits != "":
		return "that of " + c.Splits
	case c.Split != "":
		return c.Split + " training, validation and test nodes, drawn in every repeat"
	case stored:
		return "that of the graph (--split " + defaultSplit + " draws one in every repeat)"
	}
	return defaultSplit + " training, validation and test nodes, drawn in every repeat"
}

// printEvaluation prints as table or json.
func printEvaluation(out io.Writer, evaluation *evaluate.Result, format string) (err error) {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(evaluation)
	}
	if _, err = print.Render(out, evaluationTable(evaluation), print.FormatTable, print.ScreenOf(out)); err == nil {
		_, err = fmt.Fprintln(out, ratesFound(evaluation))
	}
	return err
}

// figureAndSpread is the mean of a figure and, of several repeats, its standard deviation.
func figureAndSpread(method evaluate.MethodResult, of func(evaluate.MethodMetrics) float64) string {
	if len(method.Repeats) == 1 {
		return fmt.Sprintf("%.3f", of(method.Mean))
	}
	return fmt.Sprintf("%.3f ± %.3f", of(method.Mean), of(method.Std))
}

// ratesFound names the true mislabel rate and the rates that the methods estimate.
func ratesFound(evaluation *evaluate.Result) string {
	text := "Mislabel rate: " + wording.Percent(evaluation.Methods[0].Mean.TrueRate)
	var estimates []string
	for _, method := range evaluation.Methods {
		if rate := method.Mean.EstimatedRate; rate != 0 {
			estimates = append(estimates, method.Name+" "+wording.Percent(rate))
		}
	}
	if len(estimates) > 0 {
		text += "; estimated by " + strings.Join(estimates, ", ")
	}
	return text + "."
}

// figures are the columns of the table of methods, over the test nodes.
var figures = []struct {
	name string
	of   func(evaluate.MethodMetrics) float64
}{
	{"f1", func(m evaluate.MethodMetrics) float64 { return m.F1 }},
	{"mcc", func(m evaluate.MethodMetrics) float64 { return m.MCC }},
	{"p_at_t", func(m evaluate.MethodMetrics) float64 { return m.PAtT }},
	{"p_at_t_flagged", func(m evaluate.MethodMetrics) float64 { return m.PAtTFlagged }},
	{"precision", func(m evaluate.MethodMetrics) float64 { return m.Precision }},
	{"recall", func(m evaluate.MethodMetrics) float64 { return m.Recall }},
}

// evaluationTable has a row for each method: mean ± standard deviation of the figures.
func evaluationTable(evaluation *evaluate.Result) *query.Result {
	columns := []query.ColumnInfo{{Name: "method", Kind: kv.KindString}}
	for _, f := range figures {
		columns = append(columns, query.ColumnInfo{Name: f.name, Kind: kv.KindString})
	}
	var rows [][]kv.Value
	for _, method := range evaluation.Methods {
		row := []kv.Value{kv.ValueOf(method.Name)}
		for _, f := range figures {
			row = append(row, kv.ValueOf(figureAndSpread(method, f.of)))
		}
		rows = append(rows, row)
	}
	return query.NewTable(columns, rows)
}

// writingFlags calls run, and writes its measurements to the file of --flags, if there is one:
//
//	repeat,method,id,true_label,given_label,score,flagged
//
// with a row for each test node, in file order, of each method and repeat; flagged is 1 or 0.
func (c *evalCommand) writingFlags(tx *kv.Tx, opt *evaluate.Options, s *streams, run func() error) error {
	if c.Flags == "" {
		return run()
	}
	return s.writeFile(c.Flags, func(out *bufio.Writer) error {
		w := csv.NewWriter(out)
		err := w.Write([]string{"repeat", "method", "id", "true_label", "given_label", "score", "flagged"})
		if err != nil {
			return err
		}
		opt.OnMeasurement = func(m evaluate.Measurement) error { return writeMeasured(tx, w, m) }
		if err := run(); err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	})
}

// writeMeasured writes a row for each node.
func writeMeasured(tx *kv.Tx, w *csv.Writer, m evaluate.Measurement) error {
	classes := tx.Classes()
	for _, v := range m.Nodes {
		id, err := tx.ID(v)
		if err != nil {
			return err
		}
		flagged := "0"
		if m.Flagged[v] {
			flagged = "1"
		}
		err = w.Write([]string{
			strconv.Itoa(m.Repeat + 1), m.Method, id, classes[m.Truth[v]], classes[m.Labels[v]],
			strconv.FormatFloat(m.Scores[v], 'g', -1, 64), flagged,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
