package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// inputFiles are the files of a graph itself.
type inputFiles struct {
	Nodes    string `file:"read" placeholder:"FILE" help:"Nodes: id, and label, split or any properties. A file, a directory, or -."`
	Edges    string `file:"read" placeholder:"FILE" help:"Edges: src, dst, and weight if they have one; or an .npy of integers with two columns or rows."`
	Directed bool   `help:"Edges have a direction, from src to dst."`

	Features string   `file:"read" placeholder:"FILE" help:"Features: .npy, a scipy CSR .npz, or a table with id and a column a feature."`
	Splits   string   `file:"read" placeholder:"FILE" help:"Splits: id, split (train, val, test or none)."`
	Classes  []string `placeholder:"A,B" help:"More classes, beside those of the labels."`
	graphColumns
}

// predictionFile names the predictions of a classifier.
type predictionFile struct {
	Predictions       string   `file:"read" placeholder:"FILE" help:"Predictions of your classifier: .npy or .npz in the order of the nodes file, or a table with id and a column a class."`
	PredictionClasses []string `placeholder:"A,B" help:"Classes of the columns of a .npy or .npz of predictions, in their order. Default: all, in the order of the statement 'classes'."`
	Logits            bool     `help:"The predictions are logits: turn them into probabilities."`
}

// graphFiles are the files that a store is made of, or that are added to one.
type graphFiles struct {
	inputFiles
	predictionFile
	elsewhereFiles
	labelForm
}

// elsewhereFiles are a run that was made elsewhere.
type elsewhereFiles struct {
	Scores  string `file:"read" placeholder:"FILE" help:"Scores of a run that was made elsewhere, as export scores writes them."`
	RunFile string `name:"run" file:"read" placeholder:"FILE" help:"The run that --scores are of: .json."`
}

// any reports whether any file is named.
func (g *graphFiles) any() bool {
	return g.Nodes != "" || g.Edges != "" || g.Features != "" || g.Splits != "" || g.Predictions != "" ||
		len(g.Classes) > 0 || g.Directed
}

// labelForm says how labels are taken from files.
type labelForm struct {
	Unlabelled spellings `placeholder:"NA,-1" help:"Labels that mean that a node has none, as written in the file. An empty label always does."`
}

// form is the form that the flags name.
func (f labelForm) form() files.Form {
	return files.Form{Unlabelled: f.Unlabelled}
}

// spellings are a list of labels in a flag. It may begin with a hyphen, as -1 does.
type spellings []string

// Decode reads the flag for the command line.
func (l *spellings) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	value, given := token.Value.(string)
	isFlag := strings.HasPrefix(value, "--") && token.Type != kong.FlagValueToken
	if !given || value == "" || isFlag {
		return errors.New("want labels, such as NA,-1")
	}
	*l = kong.SplitEscaped(value, ',')
	return nil
}

// checkPredictionClasses returns a usage error if classes of columns are given and no matrix, which has no header.
func checkPredictionClasses(classes []string, noHeader bool, paths ...string) error {
	if len(classes) == 0 || noHeader {
		return nil
	}
	for _, path := range paths {
		if !files.IsArray(path) {
			return usagef("--prediction-classes names the columns of a .npy or .npz of --predictions, or of a table with "+
				"--no-header, got %s",
				cmp.Or(path, "none"))
		}
	}
	return nil
}

// graph has the files that the flags name.
func (g *graphFiles) graph() *files.Graph {
	return &files.Graph{
		Nodes: g.Nodes, Edges: g.Edges, Directed: g.Directed, Features: g.Features,
		Splits: g.Splits, Classes: g.Classes,
		Predictions: g.Predictions, PredictionClasses: g.PredictionClasses, Logits: g.Logits,
		Form: g.form(), Scores: g.Scores, Run: g.RunFile,
	}
}

// load makes a store at dir of the files, as files.Graph.Load does.
func (g *graphFiles) load(ctx context.Context, dir string, r files.Job) (kv.Stats, error) {
	return g.graph().Load(ctx, dir, g.of(r))
}

// job is how files are read.
func (s *streams) job(workers int, memory int64) files.Job {
	return files.Job{
		Workers: workers, Memory: memory, Progress: s.progress.report, OnStage: s.stages.add,
		Notice: s.notice, Caution: s.caution,
	}
}

// A columnMap is a flag that says which columns of a file are meant, such as id=paper_id,label=subject.
type columnMap struct{ of files.Columns }

// UnmarshalText reads the flag for the command line.
func (m *columnMap) UnmarshalText(text []byte) (err error) {
	m.of, err = files.ParseColumns(kong.SplitEscaped(string(text), ','))
	return err
}

// textForm says how the text tables of a command are written, where their content does not show it.
type textForm struct {
	Delimiter delimiter `placeholder:"C" help:"What separates the columns of text tables: a character, or comma, tab, semicolon, bar or blanks. Default: what the first line shows."`
	NoHeader  bool      `help:"Text tables have no header. Their columns are 1, 2 and so on, as in --columns id=1,label=3. A file whose first line names the needed columns has one all the same."`
}

// text is the form for readers.
func (f textForm) text() table.Form {
	return table.Form{Delimiter: byte(f.Delimiter), NoHeader: f.NoHeader}
}

// A delimiter is the character of --delimiter.
type delimiter byte

var delimiters = map[string]delimiter{"comma": ',', "tab": '\t', `\t`: '\t', "semicolon": ';', "bar": '|',
	"blanks": ' '}

// UnmarshalText reads the flag for the command line.
func (d *delimiter) UnmarshalText(text []byte) error {
	word := string(text)
	if of, ok := delimiters[word]; ok {
		*d = of
		return nil
	}
	if len(word) != 1 || word[0] == 0 || word[0] > '~' || strings.ContainsAny(word, "\"\n\r\\") {
		return fmt.Errorf("got %q, want one character other than a quote or a backslash, or comma, tab, semicolon, "+
			"bar or blanks", word)
	}
	*d = delimiter(word[0])
	return nil
}

// nodeColumns says which columns of the nodes file are meant.
type nodeColumns struct {
	Columns columnMap `placeholder:"NAME=COLUMN,…" help:"Columns of the nodes file under other names, or by their numbers: id=paper_id,label=3."`
}

// edgeColumns says which columns of the edges file are meant.
type edgeColumns struct {
	EdgeColumns columnMap `placeholder:"NAME=COLUMN,…" help:"Columns of the edges file under other names, or by their numbers: src=source,dst=2."`
}

// checkEdgeColumns returns a usage error if columns of an edges file are named that it cannot have, or that there is no
// file for.
func (c edgeColumns) checkEdgeColumns(edges string) error {
	if c.EdgeColumns.of == nil {
		return nil
	}
	if edges == "" {
		return usagef("--edge-columns names columns of --edges: want that too")
	}
	if files.IsArray(edges) {
		return usagef("--edge-columns names columns of a table, and %s has none with names", edges)
	}
	if err := c.EdgeColumns.of.Only(files.EdgeNames()...); err != nil {
		return usagef("--edge-columns: %v", err)
	}
	return nil
}

// graphColumns says which columns of the files of a graph are meant.
type graphColumns struct {
	nodeColumns
	edgeColumns
	textForm
}

// of has a job read those columns.
func (c graphColumns) of(r files.Job) files.Job {
	r.Columns, r.EdgeColumns, r.Text = c.Columns.of, c.EdgeColumns.of, c.text()
	return r
}
