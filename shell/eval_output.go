package shell

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// printEvaluation prints as table or json.
func printEvaluation(out io.Writer, evaluation *evaluate.Result, format string) (err error) {
	if format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(evaluation)
	}
	if _, err = print.Render(out, evaluationTable(evaluation), print.FormatTable); err == nil {
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
