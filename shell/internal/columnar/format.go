// Package columnar writes a Result of package query in columns, for programs: as an Arrow IPC stream, or as a file of Arrow or Parquet.
// Texts are UTF-8, and numbers are 64-bit integers or floats. What a store has no value for is null. A column whose values are of
// several kinds is text.
//
// Rows are written in batches of a few MiB, so that an answer of any length takes little memory. The bytes do not depend on the budget.
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

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A Format is a format of package print, by its number there, or one of this package.
type Format uint8

const (
	// ArrowStream is an Arrow IPC stream. Its name is arrow.
	ArrowStream Format = 1<<7 + iota
	// ArrowFile is an Arrow IPC file, also known as Feather, version 2.
	ArrowFile
	// ParquetFile is a Parquet file.
	ParquetFile
)

// byName are the formats that the end of a file's name asks for.
var byName = map[string]Format{
	".csv":     Format(print.FormatCSV),
	".tsv":     Format(print.FormatTSV),
	".json":    Format(print.FormatJSON),
	".jsonl":   Format(print.FormatJSONL),
	".md":      Format(print.FormatMarkdown),
	".parquet": ParquetFile,
	".arrow":   ArrowFile,
}

// OfFile is the format that the end of a file's name asks for, if it does.
func OfFile(path string) (f Format, ok bool) {
	f, ok = byName[strings.ToLower(filepath.Ext(path))]
	return f, ok
}

// HoldsOne says that a file of the format holds the answer to one statement.
func (f Format) HoldsOne() bool { return f >= ArrowStream || f == Format(print.FormatJSON) }

// arrowName is the name of ArrowStream.
const arrowName = "arrow"

// String returns the name that UnmarshalText takes. Formats of files have none, and no flag takes them.
func (f Format) String() string {
	if f == ArrowStream {
		return arrowName
	}
	return print.Format(f).String()
}

// MarshalText writes the name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the name of a format of package print, or arrow.
func (f *Format) UnmarshalText(name []byte) error {
	if strings.EqualFold(string(name), arrowName) {
		*f = ArrowStream
		return nil
	}
	of, err := print.ParseFormat(string(name))
	if err != nil {
		names := append(slices.Clone(print.FormatNames), arrowName)
		return fmt.Errorf("unknown format %q, want %s%s", name, wording.AnyOf(names), wording.DidYouMean(string(name), names))
	}
	*f = Format(of)
	return nil
}

// errTerminal is the refusal to write columns to a terminal.
var errTerminal = errors.New("--format arrow is for programs, and standard output is a terminal: redirect it to a file or a pipe, or take another format")

// CheckScreen refuses a terminal as the place of an Arrow stream. Commands call it before they begin.
func (f Format) CheckScreen(on *print.Screen) error {
	if f == ArrowStream && on.Terminal {
		return errTerminal
	}
	return nil
}

// Render writes a Result and returns how many rows it had. The formats of package print go to print.RenderOn. The Result is closed
// afterwards.
//
// If an answer fails half way, its stream or file has no end, so that no reader takes the part for the whole.
func (f Format) Render(w io.Writer, r *query.Result, on *print.Screen) (rows int64, err error) {
	if f < ArrowStream {
		return print.RenderOn(w, r, print.Format(f), on)
	}
	defer r.Close()
	var to sink
	if f == ParquetFile {
		to, err = newParquetSink(w, r.Columns())
	} else {
		to, err = newArrowSink(w, r.Columns(), f)
	}
	if err != nil {
		return 0, err
	}
	for row, err := range r.Rows() {
		if err == nil {
			err = to.row(row.Values)
		}
		if err != nil {
			return rows, errors.Join(err, to.abort())
		}
		rows++
	}
	return rows, to.end()
}

// A sink takes rows and writes them in batches.
type sink interface {
	row(values []kv.Value) error
	end() error   // what completes the bytes
	abort() error // what shows a reader that the bytes are not complete
}
