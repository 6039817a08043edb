package table

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Parts are the files that a name stands for: the file itself, or the files of a directory. They are read one after
// another, as if they were one file.
type Parts struct {
	name     string
	paths    []string // sorted; never empty
	form     Form
	isHeader func(fields []string) bool // says that a line is a header, whatever the form says; may be nil
	chunk    int                        // bytes of text; 0: chunkBytes
	// columns that cannot be read are left out, and those of bytes that are not called text,
	lenient bool
	needed  []string // but these
}

// partShift is where the number of a part begins in a line.
const partShift = 40

// FindParts finds the files that a name stands for. A directory has a file or more; those whose names begin with . or _
// do not count. Parts are in the order of their names, in which numbers count as such: part-2 comes before part-10.
func FindParts(ctx context.Context, name string) (Parts, error) {
	if info, err := stream.Stat(ctx, name); err != nil || !info.IsDir() {
		return Parts{name: name, paths: []string{name}}, nil //nolint:nilerr // opening it says what is wrong
	}
	paths, err := filesOf(ctx, name)
	if err != nil {
		return Parts{}, err
	}
	slices.SortFunc(paths, byNumber)
	if full := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := stream.Stat(ctx, path)
		return err == nil && info.Mode().IsRegular() && info.Size() == 0
	}); len(full) > 0 {
		paths = full // Spark writes an empty file for a partition without rows
	}
	return Parts{name: name, paths: paths}, nil
}

// filesOf are the files of a directory. A log of Delta Lake or Hudi would say which of them count, and is not read.
func filesOf(ctx context.Context, dir string) (paths []string, err error) {
	entries, err := stream.ReadDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, path := entry.Name(), stream.Below(dir, entry.Name())
		if name == "_delta_log" || name == ".hoodie" {
			return nil, &Error{Path: dir, Msg: "has a log " + name +
				" that says which files count: write the table to plain parquet files, and name those"}
		}
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			continue
		}
		if entry.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 { // to open a pipe may wait for ever
			return nil, &Error{Path: path, Msg: "is a pipe, a socket or a device in a directory, want files"}
		}
		if info, err := stream.Stat(ctx, path); err == nil && info.IsDir() {
			return nil, &Error{Path: path, Msg: "is a directory in a directory, want files"}
		}
		paths = append(paths, path)
	}
	if paths == nil {
		return nil, &Error{Path: dir, Msg: "is a directory without files, want some of " + Kinds}
	}
	return paths, ctx.Err()
}

// byNumber compares names byte by byte, but runs of digits by their numbers.
func byNumber(a, b string) int {
	for x, y := a, b; ; {
		m, n := digits(x), digits(y)
		switch {
		case x == "" || y == "":
			return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
		case m > 0 && n > 0:
			of, by := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if order := cmp.Or(cmp.Compare(len(of), len(by)), strings.Compare(of, by)); order != 0 {
				return order
			}
			x, y = x[m:], y[n:]
		case x[0] != y[0]:
			return cmp.Compare(x[0], y[0])
		default:
			x, y = x[1:], y[1:]
		}
	}
}

// digits is how many digits a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

// WithForm is p with a form of its text files. A first line of which isHeader is true is a header, even if the form
// says that there is none.
func (p Parts) WithForm(form Form, isHeader func(fields []string) bool) Parts {
	p.form, p.isHeader = form, isHeader
	return p
}

// WithoutNested is p without the columns of parquet files that have other values than Reader can read, such as structs
// and maps, and without those of bytes that the file does not call text, unless they are needed. Reader.LeftOut has
// their names.
func (p Parts) WithoutNested(needed ...string) Parts {
	p.lenient, p.needed = true, needed
	return p
}

// Paths are the paths of the files, in their order.
func (p Parts) Paths() []string { return slices.Clone(p.paths) }

// Place says where the row is that has a Row.Line: in which file, and in which line of it.
func (p Parts) Place(line int64) (path string, at int64) {
	if part := line >> partShift; line > 0 && part < int64(len(p.paths)) {
		return p.paths[part], line & (1<<partShift - 1)
	}
	return p.name, line
}

// Open opens files that have the same header, and reads it. A file without one is an *Error; one with a header alone
// has no rows. memory, in bytes, bounds the memory of reading: a parquet file whose metadata or pages take more is an
// *Error, before they are allocated. Where a file is a named pipe, ctx ends the wait for data written to it, also
// that of Scan. Row.Line has the number of the part too: Place says what it means.
func Open(ctx context.Context, parts Parts, memory int64) (*Reader, error) {
	first, err := parts.open(ctx, 0, memory)
	if err != nil {
		return nil, err
	}
	r := &Reader{Parts: parts, file: first, size: first.size}
	if first.layout.numbered { // the first line of the others may look otherwise
		parts = parts.WithForm(Form{Delimiter: first.layout.separator, NoHeader: true}, nil)
	}
	r.open = func(part int) (*file, error) { return parts.open(ctx, part, memory) }
	r.now.Store(first)
	for _, path := range parts.paths[1:] {
		info, err := stream.Stat(ctx, path)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.size += info.Size()
	}
	return r, nil
}

// advance goes on to the next file, or returns io.EOF.
func (r *Reader) advance() error {
	if r.part+1 == len(r.paths) {
		return io.EOF
	}
	last := r.now.Load()
	if err := last.Close(); err != nil {
		return err
	}
	next, err := r.open(r.part + 1)
	if err != nil {
		return err
	}
	r.part++
	r.before.Add(last.size)
	r.now.Store(next)
	if !slices.Equal(next.header, r.header) {
		return recordError(next.path, next.line, "has the columns %s, want those of %s: %s", listColumns(next.header),
			r.paths[0],
			r.ListColumns())
	}
	return nil
}
