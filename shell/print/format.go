package print

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// A Format is a way to print a Result.
type Format uint8

const (
	// FormatTable aligns columns for reading.
	FormatTable Format = iota
	// FormatCSV is RFC 4180 with a header, lines ended by \n.
	FormatCSV
	// FormatTSV is FormatCSV with tabs in place of commas.
	FormatTSV
	// FormatJSON is an array of objects, or one object for statements about one thing.
	FormatJSON
	// FormatJSONL is one object a line.
	FormatJSONL
	// FormatMarkdown is a table of GitHub-flavoured markdown.
	FormatMarkdown
	// FormatParquet is a Parquet file.
	FormatParquet
)

// FormatNames are the names of the formats, in the order of their numbers.
var FormatNames = []string{"table", "csv", "tsv", "json", "jsonl", "markdown", "parquet"}

// String returns the name that ParseFormat takes.
func (f Format) String() string { return FormatNames[f] }

// ParseFormat finds a format by name.
func ParseFormat(name string) (Format, error) {
	for i, format := range FormatNames {
		if strings.EqualFold(name, format) {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("unknown format %q, want %s", name, wording.AnyOf(FormatNames))
}

// OfFile is the format that the end of a file's name asks for, if it does.
func OfFile(path string) (f Format, ok bool) {
	end := strings.TrimPrefix(filepath.Ext(path), ".")
	if strings.EqualFold(end, "md") {
		return FormatMarkdown, true
	}
	f, err := ParseFormat(end)
	return f, err == nil && f != FormatTable
}

// Check refuses a terminal as the place of a Parquet file. Commands call it before they begin.
func (f Format) Check(on *Screen) error {
	if f == FormatParquet && on.Terminal {
		return errors.New("--format parquet is for programs, and standard output is a terminal: redirect it to a file or " +
			"a pipe, or take another format")
	}
	return nil
}

// MarshalText writes the name.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a name, as ParseFormat does.
func (f *Format) UnmarshalText(name []byte) (err error) {
	*f, err = ParseFormat(string(name))
	return err
}

// Brief prints a value for reading, floats to six digits.
func Brief(v kv.Value) string {
	if v.Kind() != kv.KindFloat {
		return v.String()
	}
	f := v.Float()
	if size := math.Abs(f); size >= 1e6 && size < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// isNumeric reports whether the values of a column are numbers, which tables align right.
func isNumeric(kind kv.Kind) bool {
	return kind == kv.KindInt || kind == kv.KindFloat || kind == kv.KindSingle
}
