package shell

import (
	"context"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/columnar"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A tableForm is how a table is written to a file.
type tableForm struct {
	format columnar.Format
	packed bool // by gzip
}

// formOfFile is the form that a file's name asks for.
func formOfFile(ctx context.Context, path string) (tableForm, error) {
	name, packed := strings.CutSuffix(strings.ToLower(path), ".gz")
	format, ok := columnar.OfFile(name)
	switch {
	case ok && packed && format == columnar.Parquet:
		return tableForm{}, usagef("export: .parquet is not packed once more, want no .gz, got --out %s", path)
	case ok:
		return tableForm{format, packed}, nil
	case path == "-" || isStream(ctx, path):
		return tableForm{format: columnar.Format(print.FormatCSV)}, nil
	}
	return tableForm{}, usagef("export: want a file that ends in .csv, .tsv, .json, .jsonl, .csv.gz and so on, "+
		".parquet or, for matrices, .npy, or - for standard output, got --out %s", path)
}

// isSeparated says whether the form is csv or tsv.
func (f tableForm) isSeparated() bool {
	return f.format == columnar.Format(print.FormatCSV) || f.format == columnar.Format(print.FormatTSV)
}

// render writes a Result, and returns how many rows it had.
func (f tableForm) render(w io.Writer, r *query.Result, on *print.Screen) (int64, error) {
	if !f.packed {
		return f.format.Render(w, r, on)
	}
	z := gzip.NewWriter(w)
	rows, err := f.format.Render(z, r, on)
	if err != nil {
		return rows, err
	}
	return rows, z.Close()
}

// checkFooter refuses predictions of so many nodes and classes that what a Parquet file says of each column of each row
// group would not fit in memory.
func (c *exportCommand) checkFooter(tx *kv.Tx, form tableForm) error {
	if c.What != "predictions" || form.format != columnar.Parquet {
		return nil
	}
	nodes, classes := int64(tx.Shape().Present), int64(len(tx.Classes()))
	if chunks := columnar.ParquetChunks(nodes, classes+1); chunks > mostChunks {
		return usagef("export: the predictions of %d nodes and %d classes would make %d chunks of columns in a .parquet file, and its index would take too much memory: want .npy", nodes, classes, chunks)
	}
	return nil
}

// mostChunks is how many chunks of columns a Parquet file may have. Each takes a few hundred bytes until the file is
// complete.
const mostChunks = 1 << 17
