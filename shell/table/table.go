package table

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/namelist"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
)

// MaxRecord is the longest record of a text file, in bytes, line ends inside of quotes included.
const MaxRecord = 16 << 20

// maxColumns bounds the columns of a file, each of which takes memory while it is read.
const maxColumns = 1 << 17

// Kinds says, for messages and help, which files Open reads.
const Kinds = "text such as csv and tsv, also packed by gzip, or parquet"

// An Error is a fault in the content of a file, and its place.
type Error struct {
	Path   string
	Line   int64  // 1-based line of a text file, or 1-based row of a parquet file; 0: the file as a whole
	Column string // empty: the record as a whole
	Msg    string
	Err    error // the error behind Msg, if any
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	place := e.Path
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.Path, e.Line)
	}
	if e.Column != "" {
		return fmt.Sprintf("%s: column %q: %s", place, e.Column, e.Msg)
	}
	return place + ": " + e.Msg
}

// A Row is one record. Fields are in the order of the header, as many as it has names. The slice is borrowed until the
// next row is read, the bytes of the fields as the function says that hands out the row.
type Row struct {
	Line   int64 // as in Error, and the number of the part if there are several; of a record of several lines the first
	Fields [][]byte
}

// A Reader reads files from the header to the end. One goroutine, except for Offset.
type Reader struct {
	name   string
	paths  []string // never empty
	opt    Options
	*file        // the first one; the others have the same header
	size   int64 // of all
	open   func(part int) (*file, error)
	part   int // being read
	now    atomic.Pointer[file]
	before atomic.Int64 // bytes of the parts before it
}

// A file is one file of a Reader.
type file struct {
	path   string
	opt    Options
	header []string
	layout layout // of text

	leftOut []string // columns of a parquet file that are not read
	line    int64    // of the header, as in Error
	size    int64
	read    func() int64 // bytes of the file consumed so far; any goroutine
	chunks  func() rows  // returns an empty chunk
	first   rows         // the rest of the chunk with the header; nil once it is taken
	closes  []io.Closer
}

// rows are some consecutive rows of a file, in memory.
type rows interface {
	// fill replaces them by those that follow all that have been filled before, or returns io.EOF. No two of one file
	// may be filled at once. An error ends the file.
	fill() error

	// next returns the next of them, or io.EOF. An *Error is one of that row alone. The bytes of the fields are
	// borrowed until fill.
	next() (Row, error)
}

// Path is the file's path as given to Open, or the name of several.
func (r *Reader) Path() string { return r.name }

// Header holds the column names as they are in the file. Some may be empty, or there twice. The caller must not change
// it.
func (r *Reader) Header() []string { return r.header }

// LeftOut are the names of the columns of a parquet file that are not read: see Options.
func (r *Reader) LeftOut() []string { return r.leftOut }

// ListColumns lists the names of the columns for a message.
func (r *Reader) ListColumns() string { return listColumns(r.header) }

func listColumns(header []string) string {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = brief(name)
	}
	return namelist.Of(names)
}

// Offset says how many of the file's Size bytes have been read, for a progress bar.
func (r *Reader) Offset() int64 { return r.before.Load() + r.now.Load().read() }

// Size is the size of the file in bytes, as it lies on disk.
func (r *Reader) Size() int64 { return r.size }

// fill fills a chunk with the next rows of the file being read, or of the next one.
func (r *Reader) fill(c *Chunk) error {
	for {
		f, part := r.now.Load(), int64(r.part)<<partShift
		if f.first != nil {
			c.rows, c.part, f.first = f.first, part, nil
			return nil
		}
		if c.rows == nil || c.part != part {
			c.rows, c.part = f.chunks(), part
		}
		if err := c.rows.fill(); !errors.Is(err, io.EOF) {
			return err
		}
		if err := r.advance(); err != nil {
			return err
		}
	}
}

// Errorf returns an *Error at the line of a row, with column "" about the record as a whole. It wraps what a verb %w
// does.
func (r *Reader) Errorf(line int64, column, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	path, at := r.name, line
	if line > 0 {
		path, at = r.Place(line)
	}
	return &Error{Path: path, Line: at, Column: column, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// HeaderErrorf is Errorf at the line of the header, or if the file has none, as parquet, about the file as a whole.
func (r *Reader) HeaderErrorf(column, format string, args ...any) error {
	return r.Errorf(r.line, column, format, args...)
}

// Want returns the *Error that a field reads one thing where another is wanted.
func (r *Reader) Want(row Row, column int, want string) error {
	return r.Errorf(row.Line, r.header[column], "got %q, want %s", brief(string(row.Fields[column])), want)
}

// Close releases the file.
func (r *Reader) Close() error { return r.now.Load().Close() }

// Close releases the file.
func (r *file) Close() error {
	var err error
	for _, in := range slices.Backward(r.closes) {
		err = errors.Join(err, in.Close())
	}
	r.closes = nil
	return err
}

// brief shortens a text that a message quotes.
func brief(s string) string { return wording.Cut(s, 60) }

// sourceError words the errors of reading and decompressing a file.
func sourceError(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends early"
	}
	return err.Error()
}
