package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// evalCommand measures methods on injected noise.
type evalCommand struct {
	DB string `arg:"" optional:"" name:"DB" help:"Directory of the store; or give --nodes and --edges."`
	graphFiles
	Noise   string   `default:"sym:0.1" placeholder:"NOISE" help:"sym:RATE, asym:RATE or file:FILE with id, label: the noisy label of every node."`
	Repeats int      `default:"5" placeholder:"N" help:"Times that noise and split are drawn."`
	Seed    uint64   `default:"1" help:"Seed of the first repeat."`
	Method  []string `sep:"none" placeholder:"NAME" help:"Method to measure, as often as you like: ${methods}. Without it: default."`
	Split   string   `placeholder:"0.8/0.1/0.1" help:"Shares of training, validation and test nodes, drawn in every repeat. Without it: the column split of the graph, or 0.8/0.1/0.1."`
	Preset  string   `enum:"default,paper" default:"default" help:"The method where no --method is given."`
	detection
	orientation
	Format string `enum:"table,json,csv" default:"table" help:"table, json or csv."`
	resources
}

func (*evalCommand) Help() string {
	return `Takes the labels of the graph for true, injects noise into those of all splits, trains the base classifier on the noisy labels, and scores the ` +
		`test nodes: F1 and MCC at the threshold, precision of as many top scores as there are mislabels (p_at_t; p_at_t_flagged counts only those above ` +
		`the threshold), precision, recall, average precision and AUROC. The store is not changed.

Nodes are split as --splits says, by --split at random in every repeat, or without both as the column split of the graph has it; where it has none, ` +
		`by 0.8/0.1/0.1. Standard error says which it was.

    graphcleaner eval my.graph --noise sym:0.1 --repeats 5 --seed 1
    graphcleaner eval my.graph --noise asym:0.1 --method default --method confident-learning --format json
    graphcleaner eval --nodes nodes.csv --edges edges.csv --features words.npz --preset paper --split 0.8/0.1/0.1`
}

func (c *evalCommand) Run(ctx context.Context, s *streams) error {
	if err := firstError(c.apply(), c.check()); err != nil {
		return err
	}
	opt, err := c.options(s)
	if err != nil {
		return err
	}
	switch {
	case c.DB != "" && (c.Nodes != "" || c.Edges != ""):
		return usagef("eval: want a store or --nodes and --edges, got both")
	case c.Predictions != "" || c.Logits || c.predictionEncoding != (predictionEncoding{}):
		return usagef("eval: every repeat trains the built-in classifier on its noisy labels, so --predictions and --logits have no use, nor have --top-k and --float16")
	case c.DB != "" && (c.Features != "" || len(c.Classes) > 0 || c.Directed):
		return usagef("eval: --features, --classes and --directed go with --nodes and --edges, got a store")
	case c.DB == "" && (c.Nodes == "" || c.Edges == ""):
		return usagef("eval: want a store, or both --nodes and --edges")
	case c.DB == "" && c.Direction != kv.Both && !c.Directed:
		return usagef("eval: --direction %s wants --directed", c.Direction)
	case c.DB == "":
		err = c.evaluateFiles(ctx, opt, s)
	default:
		err = withStoreToRead(c.DB, c.store(), func(store *kv.Store) error { return c.evaluate(ctx, store, opt, s) })
	}
	return leaving(advised(c.inFlags(err)), "nothing was written")
}

// options reads the flags; noise from a file is left to evaluate.
func (c *evalCommand) options(s *streams) (cleaner.EvalOptions, error) {
	opt := cleaner.EvalOptions{
		Options: cleaner.Options{
			Preset:       cleaner.Preset(c.Preset),
			Hops:         c.Hops,
			Direction:    c.Direction,
			Threshold:    c.Threshold,
			Seed:         c.Seed,
			Workers:      c.Threads,
			MemoryBudget: c.work(),
			Progress:     s.progress.report(),
			Notice:       s.notice,
		},
		Noise:   c.Noise,
		Repeats: c.Repeats,
		Methods: c.Method,
	}
	if c.Repeats < 1 {
		return opt, usagef("eval: --repeats %d: want 1 or more", c.Repeats)
	}
	for _, method := range c.Method {
		if !slices.Contains(cleaner.MethodNames(), method) {
			return opt, usagef("eval: --method %s: want one of %s%s", method, strings.Join(cleaner.MethodNames(), ", "),
				didYouMean(method, cleaner.MethodNames()))
		}
	}
	if len(c.Method) == 0 {
		opt.Methods = []string{c.Preset}
	}
	kind, rate, _ := strings.Cut(c.Noise, ":")
	switch r, err := strconv.ParseFloat(rate, 64); {
	case kind == "file" && rate != "":
		opt.Noise = ""
	case (kind == "sym" || kind == "asym") && err == nil && r > 0 && r < 1:
	default:
		return opt, usagef("eval: --noise %s: want sym:RATE or asym:RATE with a rate between 0 and 1, or file:FILE", c.Noise)
	}
	if c.Split != "" && c.Splits != "" {
		return opt, usagef("eval: want --split or --splits, got both")
	}
	if c.Split != "" {
		shares, err := parseShares(c.Split)
		if err != nil {
			return opt, err
		}
		opt.Split = shares
	}
	return opt, nil
}

// parseShares reads three shares such as 0.8/0.1/0.1.
func parseShares(text string) (shares [3]float64, err error) {
	parts := strings.Split(text, "/")
	sum := 0.0
	for i := range shares {
		if len(parts) != len(shares) {
			break
		}
		shares[i], err = strconv.ParseFloat(parts[i], 64)
		if err != nil || !(shares[i] > 0 && shares[i] < 1) {
			break
		}
		sum += shares[i]
		if i == len(shares)-1 && sum <= 1+1e-9 {
			return shares, nil
		}
	}
	return shares, usagef("eval: --split %s: want shares of training, validation and test nodes such as 0.8/0.1/0.1", text)
}

// evaluateFiles makes a store of the files for the time of the evaluation.
func (c *evalCommand) evaluateFiles(ctx context.Context, opt cleaner.EvalOptions, s *streams) (err error) {
	dir, err := os.MkdirTemp("", "graphcleaner-eval-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db := filepath.Join(dir, "graph")
	if _, err := c.load(ctx, db, int64(c.Memory), reading{s: s, stages: new(stageLog), workers: c.Threads}); err != nil {
		return err
	}
	c.Splits = "" // they are in the store now
	return withStoreToRead(db, c.store(), func(store *kv.Store) error { return c.evaluate(ctx, store, opt, s) })
}

func (c *evalCommand) evaluate(ctx context.Context, store *kv.Store, opt cleaner.EvalOptions, s *streams) error {
	if err := c.checkDirection(store); err != nil {
		return err
	}
	r := reading{s: s, stages: new(stageLog)}
	if path, ok := strings.CutPrefix(c.Noise, "file:"); ok {
		err := store.View(func(tx *kv.Tx) (err error) {
			opt.NoisyLabels, err = readNoisyLabels(ctx, tx, path, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.Splits != "" {
		err := store.View(func(tx *kv.Tx) (err error) {
			opt.Splits, err = readSplits(ctx, tx, c.Splits, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := store.View(func(tx *kv.Tx) error {
		s.say("Split: %s.", c.splitUsed(tx))
		return nil
	}); err != nil {
		return err
	}
	evaluation, err := cleaner.Evaluate(ctx, store, opt)
	if err != nil {
		return err
	}
	s.progress.clear()
	switch c.Format {
	case "json":
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(evaluation)
	case "csv":
		_, err = Render(s.out, evaluationRows(evaluation), FormatCSV)
	default:
		_, err = Render(s.out, evaluationSummary(evaluation), FormatTable)
	}
	return err
}

// splitUsed says which nodes are trained on and measured.
func (c *evalCommand) splitUsed(tx *kv.Tx) string {
	_, stored := tx.Column("split")
	switch {
	case c.Splits != "":
		return "that of " + c.Splits
	case c.Split != "":
		return c.Split + " training, validation and test nodes, drawn in every repeat"
	case stored:
		return "that of the graph (--split 0.8/0.1/0.1 draws one in every repeat)"
	}
	return "0.8/0.1/0.1 training, validation and test nodes, drawn in every repeat"
}

// readNoisyLabels reads id, label: the label each node has in the evaluation. Every labelled node must have one.
func readNoisyLabels(ctx context.Context, tx *kv.Tx, path string, r reading) (labels []kv.Class, err error) {
	in, id, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	label := in.Column("label")
	if label < 0 {
		return nil, noColumn(in, "label")
	}
	classes := make(map[string]kv.Class)
	for i, name := range tx.Classes() {
		classes[name] = kv.Class(i)
	}
	labels = make([]kv.Class, tx.NumNodes())
	for v := range labels {
		labels[v] = kv.NoClass
	}
	seen, err := newSeen(tx)
	if err != nil {
		return nil, err
	}
	defer seen.stop()
	err = eachRow(ctx, in, r, func(row table.Row) error {
		v, err := seen.node(in, row, id)
		if err != nil || len(row.Fields[label]) == 0 {
			return err
		}
		class, ok := classes[string(row.Fields[label])]
		if !ok {
			return in.Want(row, label, "a class of the store")
		}
		labels[v] = class
		return nil
	})
	if err != nil {
		return nil, err
	}
	given := make([]kv.Class, len(labels))
	if err := tx.ReadClasses(kv.LabelColumn, given); err != nil {
		return nil, err
	}
	for v := range labels {
		if given[v] != kv.NoClass && labels[v] == kv.NoClass {
			id, err := tx.ID(kv.NodeID(v))
			if err != nil {
				return nil, err
			}
			return nil, in.Errorf(0, "", "has no label for node %q, want one for every labelled node", id)
		}
	}
	return labels, nil
}

// readSplits reads id, split; a node left out is in none.
func readSplits(ctx context.Context, tx *kv.Tx, path string, r reading) (splits []cleaner.Split, err error) {
	splits = make([]cleaner.Split, tx.NumNodes())
	err = eachSplit(ctx, tx, path, r, func(v kv.NodeID, name string) (err error) {
		splits[v], err = cleaner.ParseSplit(name)
		return err
	})
	return splits, err
}

// evaluationMetrics are the columns of an evaluation, in the order of cleaner.Metrics.
var evaluationMetrics = []struct {
	name string
	of   func(cleaner.Metrics) float64
}{
	{"f1", func(m cleaner.Metrics) float64 { return m.F1 }},
	{"mcc", func(m cleaner.Metrics) float64 { return m.MCC }},
	{"p_at_t", func(m cleaner.Metrics) float64 { return m.PAtT }},
	{"p_at_t_flagged", func(m cleaner.Metrics) float64 { return m.PAtTFlagged }},
	{"precision", func(m cleaner.Metrics) float64 { return m.Precision }},
	{"recall", func(m cleaner.Metrics) float64 { return m.Recall }},
	{"average_precision", func(m cleaner.Metrics) float64 { return m.AveragePrecision }},
	{"auroc", func(m cleaner.Metrics) float64 { return m.AUROC }},
	{"p_at_10", func(m cleaner.Metrics) float64 { return m.PAt10 }},
	{"p_at_50", func(m cleaner.Metrics) float64 { return m.PAt50 }},
	{"p_at_100", func(m cleaner.Metrics) float64 { return m.PAt100 }},
	{"flagged", func(m cleaner.Metrics) float64 { return m.Flagged }},
	{"mislabelled", func(m cleaner.Metrics) float64 { return m.Mislabelled }},
}

// evaluationRows has a row for each repeat of each method, and its mean and standard deviation.
func evaluationRows(evaluation *cleaner.Evaluation) *Result {
	columns := []ColumnInfo{{Name: "method", Kind: kv.KindString}, {Name: "repeat", Kind: kv.KindString}}
	for _, m := range evaluationMetrics {
		columns = append(columns, ColumnInfo{Name: m.name, Kind: kv.KindFloat})
	}
	var rows [][]kv.Value
	add := func(method, repeat string, values cleaner.Metrics) {
		row := []kv.Value{kv.StringValue(method), kv.StringValue(repeat)}
		for _, m := range evaluationMetrics {
			row = append(row, number(m.of(values)))
		}
		rows = append(rows, row)
	}
	for _, method := range evaluation.Methods {
		for i, values := range method.Repeats {
			add(method.Name, strconv.Itoa(i+1), values)
		}
		add(method.Name, "mean", method.Mean)
		add(method.Name, "std", method.Std)
	}
	return inMemory(columns, rows)
}

// summarized is how many of evaluationMetrics fit a line of a terminal.
const summarized = 6

// evaluationSummary has a row for each method: mean ± standard deviation.
func evaluationSummary(evaluation *cleaner.Evaluation) *Result {
	columns := []ColumnInfo{{Name: "method", Kind: kv.KindString}}
	for _, m := range evaluationMetrics[:summarized] {
		columns = append(columns, ColumnInfo{Name: m.name, Kind: kv.KindString})
	}
	rows := make([][]kv.Value, len(evaluation.Methods))
	for i, method := range evaluation.Methods {
		rows[i] = append(rows[i], kv.StringValue(method.Name))
		for _, m := range evaluationMetrics[:summarized] {
			rows[i] = append(rows[i], kv.StringValue(fmt.Sprintf("%.3f ± %.3f", m.of(method.Mean), m.of(method.Std))))
		}
	}
	return inMemory(columns, rows)
}
