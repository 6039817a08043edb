package table

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
)

// MaxRecord is the longest record of a text file, in bytes, line ends inside of quotes included.
const MaxRecord = 16 << 20

// Extensions says, for messages and help, which files Open reads.
const Extensions = ".csv, .tsv, .csv.gz, .tsv.gz or .parquet"

// An Error is what is wrong with the content of a file, and where.
type Error struct {
	Path   string
	Line   int64  // 1-based line of a text file, where the record begins, or 1-based row of a parquet file; 0: the file as a whole
	Column string // empty: the record as a whole
	Msg    string
	Err    error // what Msg was made of, if anything
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Path)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Column != "" {
		fmt.Fprintf(&b, "column %q: ", e.Column)
	}
	b.WriteString(e.Msg)
	return b.String()
}

// A Row is one record. Fields are in the order of the header, as many as it has names; they are borrowed until the
// next step of Reader.Rows.
type Row struct {
	Line   int64 // as in Error
	Fields [][]byte
}

// A Reader reads one file from its header to its end.
type Reader struct {
	path   string
	header []string
	size   int64
	read   func() int64 // bytes of the file consumed so far
	next   func() (Row, error)
	closes []io.Closer
}

// Open opens a file and reads its header. A file without one is an *Error; one with a header alone has no rows.
func Open(path string) (*Reader, error) {
	name := strings.ToLower(filepath.Base(path))
	plain, compressed := strings.CutSuffix(name, ".gz")
	kind := filepath.Ext(plain)
	switch {
	case kind == ".csv" || kind == ".tsv":
	case kind == ".parquet" && !compressed:
	default:
		return nil, &Error{Path: path, Msg: fmt.Sprintf("got a name %s, want one that ends in %s", ending(name), Extensions)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &Error{Path: path, Msg: "got a directory, want a file"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &Reader{path: path, size: info.Size(), closes: []io.Closer{f}}
	if kind == ".parquet" {
		err = r.openParquet(f)
	} else {
		err = r.openText(f, kind, compressed)
	}
	if err == nil {
		err = r.checkHeader()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) openText(f *os.File, kind string, compressed bool) error {
	counted := &countingReader{r: f}
	r.read = func() int64 { return counted.n }
	var content io.Reader = counted
	if compressed {
		z, err := gzip.NewReader(counted)
		if err != nil {
			return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole gzip file (%s)", sourceError(err))}
		}
		content = z
	}
	separator := byte(',')
	if kind == ".tsv" {
		separator = '\t'
	}
	text := newTextReader(r.path, content, separator)
	header, err := text.record()
	if errors.Is(err, io.EOF) {
		return &Error{Path: r.path, Msg: "the file is empty, want a header line that names the columns"}
	}
	if err != nil {
		return err
	}
	for _, name := range header.Fields {
		r.header = append(r.header, strings.TrimSpace(string(name)))
	}
	r.next = func() (Row, error) {
		row, err := text.record()
		if err == nil && len(row.Fields) != len(r.header) {
			err = r.Errorf(row.Line, "", "got %d fields, want %d (%s)", len(row.Fields), len(r.header), brief(strings.Join(r.header, ",")))
		}
		return row, err
	}
	return nil
}

func (r *Reader) checkHeader() error {
	seen := make(map[string]bool, len(r.header))
	for i, name := range r.header {
		switch {
		case name == "":
			return r.Errorf(1, "", "column %d has no name in the header", i+1)
		case seen[name]:
			return r.Errorf(1, name, "the header names it twice")
		}
		seen[name] = true
	}
	return nil
}

// Path is the file's path as given to Open.
func (r *Reader) Path() string { return r.path }

// Header holds the column names, which differ from each other. The caller must not change it.
func (r *Reader) Header() []string { return r.header }

// Column returns the place of a name in the header, upper and lower case alike, or -1.
func (r *Reader) Column(name string) int {
	return slices.IndexFunc(r.header, func(have string) bool { return strings.EqualFold(have, name) })
}

// Offset says how many of the file's Size bytes have been read, for a progress bar.
func (r *Reader) Offset() int64 { return r.read() }

// Size is the size of the file in bytes, as it lies on disk.
func (r *Reader) Size() int64 { return r.size }

// Rows yields the rows from where the last call stopped. On failure it yields the error, once, and stops.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// Errorf returns an *Error at a line, with column "" about the record as a whole. It wraps what a verb %w does.
func (r *Reader) Errorf(line int64, column, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Path: r.path, Line: line, Column: column, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Want returns the *Error that a field reads one thing where another is wanted.
func (r *Reader) Want(row Row, column int, want string) error {
	return r.Errorf(row.Line, r.header[column], "got %q, want %s", brief(string(row.Fields[column])), want)
}

// Close releases the file.
func (r *Reader) Close() error {
	var err error
	for i := len(r.closes) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closes[i].Close())
	}
	r.closes = nil
	return err
}

// ending says for a message how a file's name ends.
func ending(name string) string {
	if extension := filepath.Ext(name); extension != "" {
		return fmt.Sprintf("that ends in %q", extension)
	}
	return "without an ending, which would say what is in it"
}

// brief shortens a text that a message quotes.
func brief(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// sourceError words the errors of reading and decompressing a file.
func sourceError(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends early"
	case errors.Is(err, gzip.ErrHeader):
		return "no gzip header"
	case errors.Is(err, gzip.ErrChecksum):
		return "its checksum is wrong"
	}
	return err.Error()
}

// A countingReader counts the bytes read through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
