package shell

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/spill"
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
	rows    *spill.Sorter // by badFile and line: whether it was skipped, the value and the reason
	buf     []byte
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

// add keeps a row of which err, a *table.Error or an *npy.Error, says what is wrong.
func (b *badRows) add(file badFile, err error, skipped bool) error {
	var line int64
	var value, reason string
	if bad, ok := errors.AsType[*table.Error](err); ok {
		line, value, reason = bad.Line, bad.Value, bad.Reason()
	} else if bad, ok := errors.AsType[*npy.Error](err); ok {
		line, value, reason = bad.Row, bad.Value, bad.Msg
	} else {
		return err
	}
	return b.take(file, line, value, reason, err, skipped)
}

// take keeps a row by what is wrong with it.
func (b *badRows) take(file badFile, line int64, value, reason string, err error, skipped bool) error {
	b.all.add(file, line, err)
	if file == badNode {
		b.nodes++
	}
	kept := byte(0)
	if skipped {
		b.skipped.add(file, line, err)
		kept = 1
	}
	key := binary.BigEndian.AppendUint64([]byte{byte(file)}, uint64(line))
	b.buf = binary.AppendUvarint(append(b.buf[:0], kept), uint64(len(value)))
	b.buf = append(append(b.buf, value...), reason...)
	return b.rows.Add(key, b.buf)
}

// A badRow is a row as badRows keeps it.
type badRow struct {
	file          badFile
	line          int64
	skipped       bool
	value, reason string
}

// each calls fn for all rows, in the order of the report.
func (b *badRows) each(ctx context.Context, fn func(badRow) error) error {
	for r, err := range b.rows.Sorted(ctx) {
		if err != nil {
			return err
		}
		length, n := binary.Uvarint(r.Value[1:])
		text := string(r.Value[1+n:])
		err := fn(badRow{
			file: badFile(r.Key[0]), line: int64(binary.BigEndian.Uint64(r.Key[1:])), skipped: r.Value[0] == 1,
			value: text[:length], reason: text[length:],
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes the rows for an import that goes on with this one: csv without a header.
func (b *badRows) save(ctx context.Context, out io.Writer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := csv.NewWriter(out)
	err := b.each(ctx, func(r badRow) error {
		return w.Write([]string{
			strconv.Itoa(int(r.file)), strconv.FormatInt(r.line, 10), strconv.FormatBool(r.skipped), strconv.Quote(r.value), strconv.Quote(r.reason),
		})
	})
	w.Flush()
	return errors.Join(err, w.Error())
}

// restore reads what save wrote. After an error there are no rows.
func (b *badRows) restore(in io.Reader) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, b.rows.Close())
			b.rows, b.all, b.skipped, b.nodes = spill.New(os.TempDir(), b.memory), badCount{}, badCount{}, 0
		}
	}()
	r := csv.NewReader(in)
	r.FieldsPerRecord, r.ReuseRecord = 5, true
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file, notFile := strconv.ParseUint(fields[0], 10, 8)
		line, notLine := strconv.ParseInt(fields[1], 10, 64)
		skipped, notSkipped := strconv.ParseBool(fields[2])
		value, notValue := strconv.Unquote(fields[3])
		reason, notReason := strconv.Unquote(fields[4])
		if err := errors.Join(notFile, notLine, notSkipped, notValue, notReason); err != nil {
			return err
		}
		path := b.paths[badFile(file)]
		var what error = &table.Error{Path: path, Line: line, Value: value, Msg: reason}
		if isArray(path) {
			what = &npy.Error{Path: path, Row: line, Value: value, Msg: reason}
		}
		if err := b.take(badFile(file), line, value, reason, what, skipped); err != nil {
			return err
		}
	}
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
func rowsText(rows int64) string {
	if rows == 1 {
		return "1 bad row is"
	}
	return fmt.Sprintf("%d bad rows are", rows)
}

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
			if stopped && !r.skipped {
				return nil
			}
			return w.Write([]string{b.paths[r.file], strconv.FormatInt(r.line, 10), r.value, r.reason})
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
