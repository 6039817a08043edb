// Package columnar writes a Result of package query in columns, for programs: as a Parquet file. Texts are UTF-8, and
// numbers are 64-bit integers or floats. What a store has no value for is null. A column whose values are of several
// kinds is text.
//
// Rows are written in groups of a few MiB, so that an answer of any length takes little memory. The bytes do not depend
// on the budget.
package columnar

import (
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// byName are the formats that the end of a file's name asks for.
var byName = map[string]print.Format{
	".csv":     print.FormatCSV,
	".tsv":     print.FormatTSV,
	".json":    print.FormatJSON,
	".jsonl":   print.FormatJSONL,
	".md":      print.FormatMarkdown,
	".parquet": print.FormatParquet,
}

// OfFile is the format that the end of a file's name asks for, if it does.
func OfFile(path string) (f print.Format, ok bool) {
	f, ok = byName[strings.ToLower(filepath.Ext(path))]
	return f, ok
}

// CheckScreen refuses a terminal as the place of a Parquet file. Commands call it before they begin.
func CheckScreen(f print.Format, on *print.Screen) error {
	if f == print.FormatParquet && on.Terminal {
		return errors.New("--format parquet is for programs, and standard output is a terminal: redirect it to a file or a pipe, or take another format")
	}
	return nil
}

// Render writes a Result in any format and returns how many rows it had.
//
// If an answer fails half way, its file lacks the footer, so that no reader takes the part for the whole.
func Render(w io.Writer, r *query.Result, f print.Format, on *print.Screen) (rows int64, err error) {
	if f != print.FormatParquet {
		return print.RenderOn(w, r, f, on)
	}
	to, err := newParquetSink(w, r.Columns())
	if err != nil {
		return 0, err
	}
	for row, err := range r.Rows() {
		if err == nil {
			err = to.row(row)
		}
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, to.end()
}
