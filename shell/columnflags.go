package shell

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

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

var delimiters = map[string]delimiter{"comma": ',', "tab": '\t', `\t`: '\t', "semicolon": ';', "bar": '|', "blanks": ' '}

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
