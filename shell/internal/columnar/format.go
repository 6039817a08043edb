// Package columnar writes a Result of package query in columns, for programs: as a Parquet file. Texts are UTF-8, and
// numbers are 64-bit integers or floats. What a store has no value for is null. A column whose values are of several
// kinds is text.
//
// Rows are written in groups of a few MiB, so that an answer of any length takes little memory. The bytes do not depend
// on the budget.
//
// [Format] is the flag of commands whose answer may also be printed in a format of package print.
package columnar

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Format is a format of package print, by its number there, or Parquet.
type Format uint8

// Parquet is a Parquet file.
const Parquet = Format(print.FormatMarkdown) + 1

// byName are the formats that the end of a file's name asks for.
var byName = map[string]Format{
	".csv":     Format(print.FormatCSV),
	".tsv":     Format(print.FormatTSV),
	".json":    Format(print.FormatJSON),
	".jsonl":   Format(print.FormatJSONL),
	".md":      Format(print.FormatMarkdown),
	".parquet": Parquet,
}

// OfFile is the format that the end of a file's name asks for, if it does.
func OfFile(path string) (f Format, ok bool) {
	f, ok = byName[strings.ToLower(filepath.Ext(path))]
	return f, ok
}

// HoldsOne says that a file of the format holds the answer to one statement.
func (f Format) HoldsOne() bool { return f == Parquet || f == Format(print.FormatJSON) }

// names are the names that UnmarshalText takes, by the number of the format.
var names = append(slices.Clone(print.FormatNames), "parquet")

// String returns the name that UnmarshalText takes.
func (f Format) String() string { return names[f] }

// MarshalText writes the name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the name of a format of package print, or parquet.
func (f *Format) UnmarshalText(name []byte) error {
	place := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, string(name)) })
	if place < 0 {
		return fmt.Errorf("unknown format %q, want %s", name, wording.AnyOf(names))
	}
	*f = Format(place)
	return nil
}

// CheckScreen refuses a terminal as the place of a Parquet file. Commands call it before they begin.
func (f Format) CheckScreen(on *print.Screen) error {
	if f == Parquet && on.Terminal {
		return errors.New("--format parquet is for programs, and standard output is a terminal: redirect it to a file or a pipe, or take another format")
	}
	return nil
}

// Render writes a Result and returns how many rows it had. The formats of package print go to print.RenderOn.
//
// If an answer fails half way, its file lacks the footer, so that no reader takes the part for the whole.
func (f Format) Render(w io.Writer, r *query.Result, on *print.Screen) (rows int64, err error) {
	if f != Parquet {
		return print.RenderOn(w, r, print.Format(f), on)
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
