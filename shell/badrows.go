package shell

import (
	"bufio"
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

// A badRows collects the rows of the nodes and edges files that an import leaves out. Those that are bad by themselves
// are skipped while the files are read, in their order, and are too many as soon as they exceed the limit. Those that are
// bad beside others, which are repeated ids and ends of edges that no node has, are noted whenever they are found, and
// counted when all have been. So neither what is left out nor the report depends on how the work is divided.
type badRows struct {
	limit  int64
	memory int64 // bytes for rows
	paths  map[badFile]string

	mu      sync.Mutex
	rows    *spill.Sorter // by badFile and line
	skipped badCount
	all     badCount
	nodes   int64 // of all, those that are nodes
	over    error // that there are too many
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

// newBadRows returns a badRows of the given files that takes up to limit rows and about memory bytes. Close it.
func newBadRows(paths map[badFile]string, limit, memory int64) *badRows {
	return &badRows{limit: limit, paths: paths, memory: memory, rows: spill.New(os.TempDir(), memory)}
}

// skip takes a row that is bad by itself. The error that it returns is of one row too many.
func (b *badRows) skip(file badFile, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.add(file, err, true); err != nil {
		return err
	}
	if b.skipped.rows > b.limit {
		b.over = b.tooMany(b.skipped)
	}
	return b.over
}

// note takes a row that is bad beside others.
func (b *badRows) note(file badFile, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(file, err, false)
}

// A badRow is a row that is left out. Sorters and what save writes have it as JSON.
type badRow struct {
	File          badFile
	Line          int64
	Skipped       bool
	Value, Reason string
}

// add keeps a row of which err, a *table.Error or an *npy.Error, says what is wrong.
func (b *badRows) add(file badFile, err error, skipped bool) error {
	if bad, ok := errors.AsType[*table.Error](err); ok {
		return b.take(badRow{file, bad.Line, skipped, bad.Value, bad.Reason()}, err)
	} else if bad, ok := errors.AsType[*npy.Error](err); ok {
		return b.take(badRow{file, bad.Row, skipped, bad.Value, bad.Msg}, err)
	}
	return err
}

// take keeps a row, of which err says the same.
func (b *badRows) take(row badRow, err error) error {
	b.all.add(row.File, row.Line, err)
	if row.File == badNode {
		b.nodes++
	}
	if row.Skipped {
		b.skipped.add(row.File, row.Line, err)
	}
	body, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return b.rows.Add(binary.BigEndian.AppendUint64([]byte{byte(row.File)}, uint64(row.Line)), body)
}

// each calls fn for all rows, in the order of the report.
func (b *badRows) each(ctx context.Context, fn func(badRow) error) error {
	for r, err := range b.rows.Sorted(ctx) {
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

// save writes the rows for an import that goes on with this one.
func (b *badRows) save(ctx context.Context, out io.Writer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	encoder := json.NewEncoder(out)
	return b.each(ctx, func(row badRow) error { return encoder.Encode(row) })
}

// restore reads what save wrote. After an error there are no rows.
func (b *badRows) restore(in io.Reader) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	decoder := json.NewDecoder(in)
	for err == nil {
		var row badRow
		if err = decoder.Decode(&row); errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			break
		}
		path := b.paths[row.File]
		var what error = &table.Error{Path: path, Line: row.Line, Value: row.Value, Msg: row.Reason}
		if isArray(path) {
			what = &npy.Error{Path: path, Row: row.Line, Value: row.Value, Msg: row.Reason}
		}
		err = b.take(row, what)
	}
	err = errors.Join(err, b.rows.Close())
	b.rows, b.all, b.skipped, b.nodes = spill.New(os.TempDir(), b.memory), badCount{}, badCount{}, 0
	return err
}

// end is to be called when all rows are known; its error is that they are too many.
func (b *badRows) end() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil && b.all.rows > b.limit {
		b.over = b.tooMany(b.all)
	}
	return b.over
}

// A tooManyBadRowsError says that more rows are bad than may be.
type tooManyBadRowsError struct {
	first error
	rows  int64
	limit int64
}

func (e *tooManyBadRowsError) Error() string {
	if e.limit == 0 {
		return e.first.Error()
	}
	return fmt.Sprintf("%v: the first of %d bad rows, want at most %d (--bad-rows)", e.first, e.rows, e.limit)
}

func (e *tooManyBadRowsError) Unwrap() error { return e.first }

func (b *badRows) tooMany(count badCount) error {
	return &tooManyBadRowsError{first: count.first, rows: count.rows, limit: b.limit}
}

// leftOut says for a message how many nodes were left out, if any.
func (b *badRows) leftOut() string {
	if b == nil || b.nodes == 0 {
		return ""
	}
	return fmt.Sprintf(" that was kept (%s left out)", rowsText(b.nodes))
}

// rowsText is such as "1 bad row is" and "2 bad rows are".
func rowsText(rows int64) string { return wording.Count(rows, "bad row is", "bad rows are") }

// summary says for the closing line what was left out; report is where it is written, if anywhere.
func (b *badRows) summary(report string) string {
	switch {
	case b == nil || b.all.rows == 0:
		return ""
	case report != "":
		return fmt.Sprintf("; %s left out, see %s", rowsText(b.all.rows), report)
	}
	return fmt.Sprintf("; %s left out, the first: %v", rowsText(b.all.rows), b.all.first)
}

// write writes the report as csv with the columns file, line, value and reason: the rows left out or, where reading
// ended at one too many, those up to it. A path of "" writes nothing.
func (b *badRows) write(ctx context.Context, path string, s *streams) error {
	if path == "" {
		return nil
	}
	stopped := b.skipped.rows > b.limit
	return s.writeFile(path, func(out *bufio.Writer) error {
		w := csv.NewWriter(out)
		if err := w.Write([]string{"file", "line", "value", "reason"}); err != nil {
			return err
		}
		err := b.each(ctx, func(r badRow) error {
			if stopped && !r.Skipped {
				return nil
			}
			return w.Write([]string{b.paths[r.File], strconv.FormatInt(r.Line, 10), r.Value, r.Reason})
		})
		if err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	})
}

func (b *badRows) close() error {
	if b == nil {
		return nil
	}
	return b.rows.Close()
}
