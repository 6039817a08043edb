package shell

import (
	"bufio"
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// exportCommand writes a part of a store to a file.
type exportCommand struct {
	DB   string `arg:"" name:"DB" help:"Directory of the store."`
	What string `arg:"" name:"WHAT" enum:"scores,suspects,labels,decisions,verdicts,predictions,features,transition" help:"scores, suspects, labels, decisions, verdicts, predictions, features or transition."`
	Out  string `short:"o" required:"" file:"write" placeholder:"FILE" help:"File to write; - is standard output (csv; features: .npy)."`

	stageFile
	resources
}

func (*exportCommand) Help() string {
	return `The name of the file decides the format: .csv, .tsv, .json, .jsonl or .parquet for tables, .npy for ` +
		`matrices. A name without an ending gets csv, and features go to it as .npy. Everything is in ` +
		`the order of the nodes file, except suspects: highest score first. A file appears when it is complete and on disk.

  - scores: id,given_label,score,suggested_label,confidence of every node
  - suspects: the same columns, of the nodes above the threshold with another label suggested and without a decision
  - labels: id,label,original_label
  - decisions: every decision and every undo, oldest first: ` +
		`seq,step,time,id,decision,from,to,who,why,run,score,undoes,disputed
  - verdicts: what the decisions say of the labels: id,label_before,label_now
  - predictions: id,CLASS,CLASS,… or, as .npy, float32 [nodes×classes]
  - features: the agreement features of the labels as they are now, .npy, float32 [nodes×(2·hops+1)]
  - transition: P(given label | true class). A row is a given label, a column a true class

scores: given_label is the label at the time of the last run. A node that had no label at that time has neither ` +
		`given_label nor score.

labels: label includes corrections, original_label does not.

decisions: import --decisions repeats the decisions in force. Undone and replaced decisions do not count. An undo ` +
		`is a row whose decision is undo.

verdicts: clean takes them as true. label_before is the label before all decisions. label_now is the right label; ` +
		`it is empty if the label was wrong and nobody knows another. A node has no row if its decision was undone or is ` +
		`unsure, if it is disputed, if it had no label, or if its label has changed since without a decision. At most ` +
		`65,536 are written: more would not improve the fit.

predictions, transition: classes are sorted as numbers if all are numbers, else by bytes. The statement 'classes' ` +
		`lists them in this order, and import takes it. The rows of transition have the same order as its columns.

features: rows of unlabelled nodes are NaN. Hops are those of the last run, and standard error has them; without a ` +
		`run, 3.

    graphcleaner export my.graph suspects --out suspects.csv
    graphcleaner export my.graph scores --out scores.parquet
    graphcleaner export my.graph features --out features.npy
    graphcleaner export my.graph labels --out - | sort
    graphcleaner export my.graph decisions --out decisions.csv`
}

func (c *exportCommand) Run(ctx context.Context, s *streams) error {
	if c.Out == "/dev/stdout" { // which leads to a file of any name
		c.Out = "-"
	}
	array := strings.ToLower(filepath.Ext(c.Out)) == ".npy" || c.What == "features" && filepath.Ext(c.Out) == ""
	var format print.Format
	switch {
	case c.What == "features" && !array:
		return usagef("export: features are written as .npy, got --out %s", c.Out)
	case array && c.What != "features" && c.What != "predictions":
		return usagef("export: %s are a table, want .csv, .tsv, .json, .jsonl or .parquet, got --out %s", c.What, c.Out)
	case !array:
		var err error
		if format, err = formatOfFile("export: --out", c.Out); err != nil {
			return err
		}
	}
	on := &print.Screen{}
	if c.Out == "-" {
		on = print.ScreenOf(s.out)
	}
	err := c.use(s, c.DB, toReadLong, func(store *kv.Store) error {
		err := s.writeFile(c.Out, func(out *bufio.Writer) error {
			tx := store.Begin()
			defer tx.Close()
			run, err := c.lastRun(ctx, tx, s)
			if err != nil {
				return err
			}
			s.stages.end("read")
			if array {
				return c.writeArray(ctx, tx, out, s)
			}
			result, err := c.result(ctx, tx, run)
			if err != nil {
				return err
			}
			_, err = print.Render(out, result, format, on)
			return err
		})
		s.stages.end("write")
		return err
	})
	return leaving(c.inFlags(err), "%s was not written", c.Out)
}

// formatOfFile is the format that the name of the file of a flag asks for.
func formatOfFile(flag, path string) (print.Format, error) {
	if format, ok := print.OfFile(path); ok {
		return format, nil
	}
	if filepath.Ext(path) == "" {
		return print.FormatCSV, nil
	}
	return 0, usagef("%s %s: want a name that ends in .csv, .tsv, .json, .jsonl, .parquet or, for matrices, .npy, or "+
		"- for standard output", flag, path)
}

// scoreColumns are the columns of scores and suspects, by the properties they hold.
var (
	scoreColumns = []query.ColumnInfo{
		{Name: "id"},
		{Name: "given_label", Kind: kv.KindClass},
		{Name: "score", Kind: kv.KindSingle},
		{Name: "suggested_label", Kind: kv.KindClass},
		{Name: "confidence", Kind: kv.KindSingle},
	}
	scoresReturned = " return id, label, score, suggested, confidence"
)

// idColumn describes the column of ids: integers if all ids are.
func idColumn(tx *kv.Tx) query.ColumnInfo {
	id, _ := tx.Column("id")
	return query.ColumnInfo{Name: id.Name, Kind: id.Kind}
}

// scoreColumnsOf are the scoreColumns of a store, which say what its ids are.
func scoreColumnsOf(tx *kv.Tx) []query.ColumnInfo {
	return append([]query.ColumnInfo{idColumn(tx)}, scoreColumns[1:]...)
}

// result is the content of a table.
func (c *exportCommand) result(ctx context.Context, tx *kv.Tx, run *cleaner.Run) (*query.Result, error) {
	switch c.What {
	case "scores":
		labels, err := labelsAfter(ctx, tx, run.Decisions)
		if err != nil {
			return nil, err
		}
		return nodeTable(ctx, tx, "nodes"+scoresReturned, scoreColumnsOf(tx), c.Threads, func(values []kv.Value) []kv.Value {
			id := values[0].String()
			if label, ok := labels[id]; ok {
				values[1] = label
			}
			values[0] = kv.ValueOf(id)
			return values
		})
	case "suspects":
		return suspects(ctx, tx, c.Threads)
	case "labels":
		return c.labelTable(ctx, tx)
	case "decisions":
		return query.Query(ctx, tx, query.Options{}, "history")
	case "verdicts":
		return verdictTable(ctx, tx)
	case "predictions":
		return predictionTable(ctx, tx, c.work())
	}
	if err := cleaner.CheckTransition(tx, c.work()); err != nil {
		return nil, err
	}
	order, rate := query.ClassOrder(run.Classes), run.Transition()
	columns := make([]query.ColumnInfo, len(order))
	rows := make([][]kv.Value, len(order))
	for k, i := range order {
		columns[k] = query.ColumnInfo{Name: run.Classes[i], Kind: kv.KindFloat}
		for _, j := range order {
			rows[k] = append(rows[k], kv.ValueOf(rate(i, j)))
		}
	}
	return query.NewTable(columns, rows), nil
}

// labelsAfter are the labels after some of the decisions, of the nodes that have another now, by id.
func labelsAfter(ctx context.Context, tx *kv.Tx, decisions int64) (map[string]kv.Value, error) {
	changes, err := decide.ChangesAfter(ctx, tx, decisions)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]kv.Value, len(changes))
	for v, c := range changes {
		id, err := tx.ID(v)
		if err != nil {
			return nil, err
		}
		if byID[id] = (kv.Value{}); c.Was.Label != "" {
			byID[id] = kv.ValueOf(c.Was.Label)
		}
	}
	return byID, nil
}

// labelTable has the label of every node, as it is and as it was before the first decision.
func (c *exportCommand) labelTable(ctx context.Context, tx *kv.Tx) (*query.Result, error) {
	original, err := labelsAfter(ctx, tx, 0)
	if err != nil {
		return nil, err
	}
	columns := []query.ColumnInfo{idColumn(tx), {Name: "label", Kind: kv.KindClass},
		{Name: "original_label", Kind: kv.KindClass}}
	return nodeTable(ctx, tx, "nodes return id, label", columns, c.Threads, func(values []kv.Value) []kv.Value {
		id, label := values[0].String(), values[1]
		before, ok := original[id]
		if !ok {
			before = label
		}
		return []kv.Value{kv.ValueOf(id), label, before}
	})
}

// nodeTable has a row for every node that a statement lists. Finish makes the values of the columns from those of the
// statement.
func nodeTable(
	ctx context.Context, tx *kv.Tx, statement string, columns []query.ColumnInfo, workers int,
	finish func(values []kv.Value) []kv.Value,
) (*query.Result, error) {
	nodes, err := query.Query(ctx, tx, query.Options{Workers: workers}, statement)
	if err != nil {
		return nil, err
	}
	return query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
		for values, err := range nodes.Rows() {
			if err == nil {
				values = finish(values)
			}
			if !yield(values, err) {
				return
			}
		}
	}), nil
}

func predictionTable(ctx context.Context, tx *kv.Tx, memory int64) (*query.Result, error) {
	classes, predictions, err := predictionRows(ctx, tx, memory)
	if err != nil {
		return nil, err
	}
	columns := []query.ColumnInfo{idColumn(tx)}
	for _, class := range classes {
		columns = append(columns, query.ColumnInfo{Name: class, Kind: kv.KindSingle})
	}
	return query.NewResult(columns, func(yield func([]kv.Value, error) bool) {
		nextID, stop := iter.Pull2(tx.IDs())
		defer stop()
		for row, err := range predictions {
			values := make([]kv.Value, 1, len(columns))
			if err == nil {
				var id string
				id, err, _ = nextID()
				values[0] = kv.ValueOf(id)
			}
			for _, p := range row {
				values = append(values, kv.ValueOf(float64(p)))
			}
			if !yield(values, err) || err != nil {
				return
			}
		}
	}), nil
}

// lastRun is the run that an export stands on, nil if it stands on none. It says how many scores are older than changes
// around them. Where the export stands on suspects, it also repeats what the run said of its scores.
func (c *exportCommand) lastRun(ctx context.Context, tx *kv.Tx, s *streams) (*cleaner.Run, error) {
	if c.What != "suspects" && c.What != "scores" && c.What != "transition" {
		return nil, nil
	}
	run, err := cleaner.LastRun(tx)
	if err != nil || c.What == "transition" {
		return run, err
	}
	stale, err := wording.StaleScores(ctx, tx, run)
	if s.caution(stale); c.What == "suspects" && err == nil {
		sayWarnings(s, run.Warnings)
	}
	return run, err
}

// suspects lists the suspects, the highest score first. Its columns are those of scoreColumnsOf.
func suspects(ctx context.Context, tx *kv.Tx, workers int) (*query.Result, error) {
	return nodeTable(ctx, tx, "suspects"+scoresReturned, scoreColumnsOf(tx), workers,
		func(values []kv.Value) []kv.Value { return values })
}

// verdictTable has the verdicts that clean takes from the decisions.
func verdictTable(ctx context.Context, tx *kv.Tx) (*query.Result, error) {
	verdicts, err := cleaner.Verdicts(ctx, tx)
	if err != nil {
		return nil, err
	}
	all, err := tx.Places()
	if err != nil {
		return nil, err
	}
	places := make(map[kv.NodeID]int, len(verdicts))
	for _, verdict := range verdicts {
		if places[verdict.Node], err = all.Of(verdict.Node); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(verdicts, func(a, b cleaner.Verdict) int { return cmp.Compare(places[a.Node], places[b.Node]) })
	rows := make([][]kv.Value, len(verdicts))
	for i, verdict := range verdicts {
		id, err := tx.ID(verdict.Node)
		if err != nil {
			return nil, err
		}
		now := kv.Value{}
		if verdict.Now != kv.NoClass {
			now = kv.ValueOf(tx.Classes()[verdict.Now])
		}
		rows[i] = []kv.Value{kv.ValueOf(id), kv.ValueOf(tx.Classes()[verdict.Before]), now}
	}
	return query.NewTable([]query.ColumnInfo{
		idColumn(tx), {Name: "label_before", Kind: kv.KindClass}, {Name: "label_now", Kind: kv.KindClass},
	}, rows), nil
}
