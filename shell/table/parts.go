package table

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Options says how files are read.
type Options struct {
	Form
	// IsHeader is true of a first line that is a header, even if Form says that there is none; may be nil.
	IsHeader func(fields []string) bool

	// Columns of parquet files are left out whose values Reader cannot read, such as structs and maps, and those of
	// bytes that the file does not call text, unless their names are here.
	Texts []string

	// Memory bounds what reading takes, in bytes: a parquet file whose metadata or pages take more is an *Error, before
	// they are allocated.
	Memory int64

	chunk int // bytes of text; 0: chunkBytes
}

// partShift is where the number of a part begins in a line.
const partShift = 40

// Files are the files that a name stands for: the file itself, or those of a directory. A directory has a file or more;
// those whose names begin with . or _ do not count. They are in the order of their names, in which numbers count as
// such: part-2 comes before part-10.
func Files(ctx context.Context, name string) ([]string, error) {
	if info, err := stream.Stat(ctx, name); err != nil || !info.IsDir() {
		return []string{name}, nil //nolint:nilerr // opening it says what is wrong
	}
	paths, err := filesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(strings.Compare(withNumbers(a), withNumbers(b)), strings.Compare(a, b))
	})
	if full := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		info, err := stream.Stat(ctx, path)
		return err == nil && info.Mode().IsRegular() && info.Size() == 0
	}); len(full) > 0 {
		paths = full // Spark writes an empty file for a partition without rows
	}
	return paths, nil
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

var numbers = regexp.MustCompile("[0-9]+")

// withNumbers is a name whose order is that of the numbers in it: they have leading zeros.
func withNumbers(name string) string {
	const digits = 20
	return numbers.ReplaceAllStringFunc(name, func(number string) string {
		return strings.Repeat("0", max(digits-len(number), 0)) + number
	})
}

// Paths are the paths of the files, in their order.
func (r *Reader) Paths() []string { return slices.Clone(r.paths) }

// Place says where the row is that has a Row.Line: in which file, and in which line of it.
func (r *Reader) Place(line int64) (path string, at int64) {
	if part := line >> partShift; line > 0 && part < int64(len(r.paths)) {
		return r.paths[part], line & (1<<partShift - 1)
	}
	return r.name, line
}

// Open opens the files of a name, which have the same header, and reads it. A file without one is an *Error; one with a
// header alone has no rows. Where a file is a named pipe, ctx ends the wait for data written to it, also that of Scan.
// Row.Line has the number of the file too: Place says what it means.
func Open(ctx context.Context, name string, opt Options) (*Reader, error) {
	paths, err := Files(ctx, name)
	if err != nil {
		return nil, err
	}
	return open(ctx, name, paths, opt)
}

// Again opens the same files once more.
func (r *Reader) Again(ctx context.Context) (*Reader, error) {
	return open(ctx, r.name, r.paths, r.opt)
}

func open(ctx context.Context, name string, paths []string, opt Options) (*Reader, error) {
	first, err := openFile(ctx, paths[0], opt)
	if err != nil {
		return nil, err
	}
	r := &Reader{name: name, paths: paths, opt: opt, file: first, size: first.size}
	if first.layout.numbered { // the first line of the others may look otherwise
		opt.Form, opt.IsHeader = Form{Delimiter: first.layout.separator, NoHeader: true}, nil
	}
	r.open = func(part int) (*file, error) { return openFile(ctx, paths[part], opt) }
	r.now.Store(first)
	for _, path := range paths[1:] {
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
