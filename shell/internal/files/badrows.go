package files

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/npy"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// The files that bad rows are of, in the order of the report.
type badFile byte

const (
	badNode badFile = iota
	badEdge
)

// A BadRows collects the rows of the nodes and edges files that an import leaves out. Those that are bad by themselves
// are skipped while the files are read, in their order, and are too many as soon as they exceed the limit. Those that are
// bad beside others, which are repeated ids and ends of edges that no node has, are noted whenever they are found, and
// counted when all have been. So neither what is left out nor the report depends on how the work is divided.
type BadRows struct {
	limit int64
	paths map[badFile]string
	parts map[badFile]table.Parts

	mu     sync.Mutex
	rows   *spill.Sorter // by badFile and line
	skips  badCount
	all    badCount
	nodes  int64 // of all, those that are nodes
	excess error // that there are too many
}

// A badCount is a number of rows and the first of them.
type badCount struct {
	rows  int64
	file  badFile
	line  int64
	first error
}

func (c *badCount) add(file badFile, line int64, err error) {
	if c.rows == 0 || file < c.file || file == c.file && line < c.line {
		c.file, c.line, c.first = file, line, err
	}
	c.rows++
}

// NewBadRows returns a BadRows of two files that takes up to limit rows and about memory bytes. Close it.
func NewBadRows(nodes, edges string, limit, memory int64) *BadRows {
	return &BadRows{limit: limit, paths: map[badFile]string{badNode: nodes, badEdge: edges}, rows: spill.New(os.TempDir(), memory)}
}

// of says which files are read.
func (b *BadRows) of(nodes, edges table.Parts) {
	if b != nil {
		b.parts = map[badFile]table.Parts{badNode: nodes, badEdge: edges}
	}
}

// skip takes a row that is bad by itself. The error that it returns is of one row too many.
func (b *BadRows) skip(file badFile, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.add(file, err, true); err != nil {
		return err
	}
	if b.skips.rows > b.limit {
		b.excess = b.tooMany(b.skips)
	}
	return b.excess
}

// note takes a row that is bad beside others.
func (b *BadRows) note(file badFile, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(file, err, false)
}

// A badRow is a row that is left out. Sorters have it as JSON.
type badRow struct {
	File          badFile
	Line          int64
	Skipped       bool
	Value, Reason string
}

// add keeps a row of which err, a *table.Error or an *npy.Error, says what is wrong.
func (b *BadRows) add(file badFile, err error, skipped bool) error {
	if bad, ok := errors.AsType[*table.Error](err); ok {
		return b.take(badRow{file, b.parts[file].Line(bad.Path, bad.Line), skipped, bad.Value, bad.Reason()}, err)
	} else if bad, ok := errors.AsType[*npy.Error](err); ok {
		return b.take(badRow{file, bad.Row, skipped, bad.Value, bad.Msg}, err)
	}
	return err
}

// take keeps a row, of which err says the same.
func (b *BadRows) take(row badRow, err error) error {
	b.all.add(row.File, row.Line, err)
	if row.File == badNode {
		b.nodes++
	}
	if row.Skipped {
		b.skips.add(row.File, row.Line, err)
	}
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return b.rows.Add(binary.BigEndian.AppendUint64([]byte{byte(row.File)}, uint64(row.Line)), body)
}

// place is the file of a row, and the line in it.
func (b *BadRows) place(row badRow) (path string, line int64) {
	if path = b.paths[row.File]; IsArray(path) {
		return path, row.Line
	}
	return b.parts[row.File].Place(row.Line)
}

// each calls fn for all rows, in the order of the report.
func (b *BadRows) each(ctx context.Context, fn func(badRow) error) error {
	for r, err := range b.rows.Records(ctx) {
		var row badRow
		if err == nil {
			err = json.Unmarshal(r.Value, &row)
		}
		if err == nil {
			err = fn(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end is to be called when all rows are known; its error is that they are too many.
func (b *BadRows) end() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.excess == nil && b.all.rows > b.limit {
		b.excess = b.tooMany(b.all)
	}
	return b.excess
}

// A TooManyBadRowsError says that more rows are bad than may be.
type TooManyBadRowsError struct {
	first error
	rows  int64
	limit int64
}

func (e *TooManyBadRowsError) Error() string {
	if e.limit == 0 {
		return e.first.Error()
	}
	return fmt.Sprintf("%v: the first of %d bad rows, want at most %d (--bad-rows)", e.first, e.rows, e.limit)
}

func (e *TooManyBadRowsError) Unwrap() error { return e.first }

func (b *BadRows) tooMany(count badCount) error {
	return &TooManyBadRowsError{first: count.first, rows: count.rows, limit: b.limit}
}

// leftOut says for a message how many nodes were left out, if any.
func (b *BadRows) leftOut() string {
	if b == nil || b.nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" that was kept (%s left out)", rowsText(b.nodes))
}

// rowsText is such as "1 bad row is" and "2 bad rows are".
func rowsText(rows int64) string { return wording.Count(rows, "bad row is", "bad rows are") }

// Summary says for the closing line what was left out; report is where it is written, if anywhere.
func (b *BadRows) Summary(report string) string {
	switch {
	case b == nil || b.all.rows == 0:
		return ""
	case report != "":
		return fmt.Sprintf("; %s left out, see %s", rowsText(b.all.rows), report)
	}
	return fmt.Sprintf("; %s left out, the first: %v", rowsText(b.all.rows), b.all.first)
}

// Write writes the report as csv with the columns file, line, value and reason: the rows left out or, where reading
// ended at one too many, those up to it.
func (b *BadRows) Write(ctx context.Context, out io.Writer) error {
	stopped := b.skips.rows > b.limit
	w := csv.NewWriter(out)
	if err := w.Write([]string{"file", "line", "value", "reason"}); err != nil {
		return err
	}
	err := b.each(ctx, func(r badRow) error {
		if stopped && !r.Skipped {
			return nil
		}
		path, line := b.place(r)
		return w.Write([]string{path, strconv.FormatInt(line, 10), r.Value, r.Reason})
	})
	w.Flush()
	return cmp.Or(err, w.Error())
}

// Close removes the rows.
func (b *BadRows) Close() error {
	if b == nil {
		return nil
	}
	return b.rows.Close()
}
