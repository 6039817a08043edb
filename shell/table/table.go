package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// MaxRecord is the longest record of a text file, in bytes, line ends inside of quotes included.
const MaxRecord = 16 << 20

// maxColumns bounds the columns of a file, each of which takes memory while it is read.
const maxColumns = 1 << 17

// Extensions says, for messages and help, which files Open reads.
const Extensions = ".csv, .tsv, .csv.gz, .tsv.gz or .parquet"

// An Error is what is wrong with the content of a file, and where.
type Error struct {
	Path   string
	Line   int64  // 1-based line of a text file, or 1-based row of a parquet file; 0: the file as a whole
	Column string // empty: the record as a whole
	Value  string // the text that is not as wanted, at most maxValue bytes of it; empty if there is none
	Msg    string
	Err    error // what Msg was made of, if anything
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason())
	}
	return e.Path + ": " + e.Reason()
}

// Reason is the message without the place in the file.
func (e *Error) Reason() string {
	if e.Column != "" {
		return fmt.Sprintf("column %q: %s", e.Column, e.Msg)
	}
	return e.Msg
}

// A Row is one record. Fields are in the order of the header, as many as it has names. The slice is borrowed until the
// next row is read, the bytes of the fields as the function says that hands out the row.
type Row struct {
	Line   int64 // as in Error, and the number of the part if there are several; of a record of several lines the first
	Fields [][]byte
}

// A Reader reads one file from its header to its end. One goroutine, but for Offset.
type Reader struct {
	path   string
	parts  Parts
	header []string
	lists  []bool // of the columns: they have lists; nil of text
	floats []bool // of the columns: they have numbers of floating point; nil of text

	leftOut []leftOut // columns of a parquet file that are not read
	sources []string  // of the columns: their files; nil if these are the parts
	line    int64     // of the header, as in Error
	size    int64
	read    func() int64 // bytes of the file consumed so far; any goroutine
	chunk   rows         // being read, nil between
	chunks  func() rows  // returns an empty chunk
	closes  []io.Closer
}

// rows are some consecutive rows of a file, in memory.
type rows interface {
	// fill replaces them by those that follow all that have been filled before, or returns io.EOF. No two of one file may
	// be filled at once. An error ends the file.
	fill() error

	// next returns the next of them, or io.EOF. An *Error is one of that row alone. The bytes of the fields are borrowed
	// until fill.
	next() (Row, error)
}

// Open opens a file and reads its header. A file without one is an *Error; one with a header alone has no rows. memory, in
// bytes, is what reading may take: a parquet file whose metadata or pages take more is an *Error, before they are
// allocated. Where the file is a named pipe, ctx ends the wait for what is written to it, also that of Rows and Scan.
func Open(ctx context.Context, path string, memory int64) (*Reader, error) {
	return Parts{name: path, paths: []string{path}}.open(ctx, 0, memory, chunkBytes)
}

// open opens one of the files, with chunks of text of some size, in bytes.
func (p Parts) open(ctx context.Context, part int, memory int64, chunkBytes int) (*Reader, error) {
	path := p.paths[part]
	if path == stream.Input {
		return openInput(ctx, chunkBytes)
	}
	name := strings.ToLower(filepath.Base(path))
	plain, compressed := strings.CutSuffix(name, ".gz")
	kind := filepath.Ext(plain)
	switch {
	case kind == ".csv" || kind == ".tsv":
	case kind == ".parquet" && !compressed:
	default:
		return nil, &Error{Path: path, Msg: fmt.Sprintf("got a name %s, want one that ends in %s", ending(name), Extensions)}
	}
	f, err := stream.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &Error{Path: path, Msg: "got a directory, want a file"}
	}
	if err == nil && kind == ".parquet" && !info.Mode().IsRegular() {
		err = &Error{Path: path, Msg: "got a pipe or a device, want a file: parquet is not read from its beginning to its end"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &Reader{path: path, parts: p, size: info.Size(), closes: []io.Closer{f}}
	if len(p.paths) > 1 {
		r.parts.name, r.parts.paths = path, []string{path} // its errors are about it alone
	}
	if kind == ".parquet" {
		err = r.openParquet(f.File, memory)
	} else {
		err = r.openText(f, kind, compressed, chunkBytes)
	}
	if err == nil && p.partitions != nil {
		err = r.withPartition(p.partitions[part])
	}
	if err == nil {
		err = r.checkHeader()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openInput opens standard input, which is tsv if its header has a tab, else csv.
func openInput(ctx context.Context, chunkBytes int) (*Reader, error) {
	in, err := stream.OpenInput(ctx)
	if err != nil {
		return nil, &Error{Path: stream.Input, Msg: err.Error(), Err: err}
	}
	r := &Reader{path: stream.Input, parts: Parts{name: stream.Input, paths: []string{stream.Input}}}
	buffered := bufio.NewReaderSize(in, inputBytes)
	kind := ".csv"
	for n := 1; ; n = buffered.Buffered() + 1 {
		begin, err := buffered.Peek(n)
		if more := buffered.Buffered(); err == nil && more > n {
			begin, err = buffered.Peek(more)
		}
		line, _, whole := bytes.Cut(begin, []byte{'\n'})
		if bytes.IndexByte(line, '\t') >= 0 {
			kind = ".tsv"
		}
		if whole || err != nil {
			break // reading on gives the error
		}
	}
	if begin, err := buffered.Peek(len(parquetMagic)); err == nil && string(begin) == parquetMagic {
		return nil, &Error{Path: stream.Input, Msg: "got parquet data, want csv or tsv on standard input"}
	}
	if err = r.openText(buffered, kind, false, chunkBytes); err == nil {
		err = r.checkHeader()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// inputBytes is how much of standard input is looked at for its kind, and parquetMagic what a parquet file begins with.
const (
	inputBytes   = 64 << 10
	parquetMagic = "PAR1"
)

func (r *Reader) openText(f io.Reader, kind string, compressed bool, chunkBytes int) error {
	counter := &countingReader{r: f}
	r.read = counter.n.Load
	var content io.Reader = counter
	if compressed {
		z, err := gzip.NewReader(counter)
		if err != nil {
			return &Error{Path: r.path, Msg: fmt.Sprintf("is not a whole gzip file (%s)", sourceError(err)), Err: err}
		}
		ahead := newReadAhead(z)
		r.closes = append(r.closes, ahead)
		content = ahead
	}
	text := &textFile{path: r.path, in: content, separator: ',', special: '"', chunkBytes: chunkBytes}
	if kind == ".tsv" {
		text.separator, text.special = '\t', '\\'
	}
	r.chunks = func() rows { return &textChunk{file: text} }
	if r.parts.headless {
		r.header, text.header = r.parts.header, r.parts.header
		return nil
	}
	header, err := r.row()
	if errors.Is(err, io.EOF) {
		return &Error{Path: r.path, Msg: "the file is empty, want a header line that names the columns"}
	}
	if err != nil {
		return err
	}
	r.line = header.Line
	for _, name := range header.Fields {
		r.header = append(r.header, string(name))
	}
	text.header = r.header
	return nil
}

// checkHeader checks the header, and gives the columns the names that the caller has for them.
func (r *Reader) checkHeader() error {
	if names := r.parts.header; names != nil {
		for _, left := range slices.Backward(r.leftOut) {
			names = slices.Delete(slices.Clone(names), min(left.place, len(names)), min(left.place+1, len(names)))
		}
		if len(r.header) != len(names) {
			return r.HeaderErrorf("", "has the columns %s, want %d of them", r.ListColumns(), len(names))
		}
		copy(r.header, names)
	}
	if len(r.header) > maxColumns {
		return r.Errorf(1, "", "got a header of %d columns, want at most %d", len(r.header), maxColumns)
	}
	seen := make(map[string]bool, len(r.header))
	for i, name := range r.header {
		switch {
		case name == "":
			return r.HeaderErrorf("", "column %d has no name in the header", i+1)
		case strings.Contains(name, "\r"):
			return r.HeaderErrorf("", "got a carriage return in the header, want lines that end with LF or CRLF")
		case seen[name]:
			return r.HeaderErrorf(name, "the header names it twice")
		}
		seen[name] = true
	}
	return nil
}

// Path is the file's path as given to Open, or the name of several.
func (r *Reader) Path() string { return r.path }

// Parts are the files that are read.
func (r *Reader) Parts() Parts { return r.parts }

// Header holds the column names as they are in the file. They differ from each other. The caller must not change it.
func (r *Reader) Header() []string { return r.header }

// IsList says whether a column of a parquet file has lists, which read as [1,2,3].
func (r *Reader) IsList(column int) bool { return r.lists != nil && r.lists[column] }

// IsFloat says whether a column of a parquet file has numbers of floating point, of which NaN is one.
func (r *Reader) IsFloat(column int) bool { return r.floats != nil && r.floats[column] }

// A leftOut is a column that is not read, and its place in the file.
type leftOut struct {
	name  string
	place int
}

// LeftOut are the names of the columns that are not read, since WithoutNested has said so.
func (r *Reader) LeftOut() (names []string) {
	for _, left := range r.leftOut {
		names = append(names, left.name)
	}
	return names
}

// Unusual returns the *Error that a column has values that cannot be read.
func (r *Reader) Unusual(column string) error { return unusualColumn(r.path, column) }

func unusualColumn(path, column string) error {
	return &Error{Path: path, Column: column, Msg: "got a nested or unusual type, want booleans, numbers, strings, dates or times, or lists of them"}
}

// Names is Header without white space around the names. A name that is then empty, or there twice, is an *Error.
func (r *Reader) Names() ([]string, error) {
	names := make([]string, len(r.header))
	seen := make(map[string]bool, len(names))
	for i, name := range r.header {
		names[i] = strings.TrimSpace(name)
		switch {
		case names[i] == "":
			return nil, r.HeaderErrorf("", "column %d has no name in the header", i+1)
		case seen[names[i]]:
			return nil, r.HeaderErrorf(names[i], "the header names it twice")
		}
		seen[names[i]] = true
	}
	return names, nil
}

// Columns returns the places of names in the header, -1 for one that is not there. White space around a name in the header,
// and upper and lower case, do not count, unless there is a column of the very name. Several columns that could all be
// meant are an *Error.
func (r *Reader) Columns(names ...string) ([]int, error) {
	places := make([]int, len(names))
	for i, name := range names {
		if places[i] = slices.Index(r.header, name); places[i] >= 0 {
			continue
		}
		for j, have := range r.header {
			switch {
			case !strings.EqualFold(strings.TrimSpace(have), name):
			case places[i] >= 0:
				return nil, r.HeaderErrorf("", "got the columns %q and %q, want one of them named %q", r.header[places[i]], have, name)
			default:
				places[i] = j
			}
		}
	}
	return places, nil
}

// MissingColumn returns an *Error that the header lacks a column.
func (r *Reader) MissingColumn(name string) error {
	return r.HeaderErrorf("", "has no column %q; its columns are %s", name, r.ListColumns())
}

// ListColumns lists the names of the columns for a message.
func (r *Reader) ListColumns() string {
	const few = 12
	var names []string
	for _, name := range r.header[:min(few, len(r.header))] {
		names = append(names, brief(name))
	}
	list := strings.Join(names, ", ")
	if more := len(r.header) - few; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Offset says how many of the file's Size bytes have been read, for a progress bar.
func (r *Reader) Offset() int64 { return r.read() }

// Size is the size of the file in bytes, as it lies on disk.
func (r *Reader) Size() int64 { return r.size }

// Rows yields the rows from where the last call stopped; the bytes of their fields are borrowed until the next step. On
// failure it yields the error, once, and stops.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.row()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// row returns the next row, or io.EOF.
func (r *Reader) row() (Row, error) {
	if r.chunk == nil {
		r.chunk = r.chunks()
	}
	for {
		row, err := r.chunk.next()
		if !errors.Is(err, io.EOF) {
			return row, err
		}
		if err := r.chunk.fill(); err != nil {
			return Row{}, err
		}
	}
}

// Errorf returns an *Error at the line of a row, with column "" about the record as a whole. It wraps what a verb %w does.
func (r *Reader) Errorf(line int64, column, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	path, at := r.path, line
	if line > 0 {
		path, at = r.parts.Place(line)
	}
	return &Error{Path: path, Line: at, Column: column, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// HeaderErrorf is Errorf at the line of the header, or if the file has none, as parquet, about the file as a whole.
func (r *Reader) HeaderErrorf(column, format string, args ...any) error {
	return r.Errorf(r.line, column, format, args...)
}

// Want returns the *Error that a field reads one thing where another is wanted.
func (r *Reader) Want(row Row, column int, want string) error {
	text := string(row.Fields[column])
	path, line := r.parts.Place(row.Line)
	if r.sources != nil && r.sources[column] != "" {
		path = r.sources[column]
	}
	return &Error{
		Path: path, Line: line, Column: r.header[column], Value: shorten(text, maxValue),
		Msg: fmt.Sprintf("got %q, want %s", brief(text), want),
	}
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
	switch extension := filepath.Ext(name); extension {
	case "":
		return "without an ending, which would say what is in it (- is standard input)"
	case ".arrow":
		return "that ends in .arrow, which is written and not read"
	default:
		return fmt.Sprintf("that ends in %q", extension)
	}
}

// maxValue bounds Error.Value, in bytes; the longest id of a node fits.
const maxValue = 1 << 10

// brief shortens a text that a message quotes.
func brief(s string) string { return shorten(s, 60) }

// shorten cuts a text to at most the given number of bytes, and says so.
func shorten(s string, most int) string {
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
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
