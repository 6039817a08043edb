package stream

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the files that names lead to. Those of a context without any are those of the system. A process that works
// for another one has those that the other has passed, and no others.
type Files interface {
	Open(ctx context.Context, name string) (*File, error)
	Stat(name string) (fs.FileInfo, error)

	// Begun returns a file to be written that somebody else puts into place once done is called; nil if nobody does.
	Begun(name string) (f *os.File, done func(), err error)
}

type filesKey struct{}

// WithFiles returns a context whose names lead to files.
func WithFiles(ctx context.Context, files Files) context.Context {
	return context.WithValue(ctx, filesKey{}, files)
}

// filesOf are the files of a context.
func filesOf(ctx context.Context) Files {
	if files, ok := ctx.Value(filesKey{}).(Files); ok {
		return files
	}
	return System{}
}

// System are the files of the system.
type System struct{}

// Stat describes the file of a name.
func (System) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Begun returns nil.
func (System) Begun(string) (*os.File, func(), error) { return nil, nil, nil }

// Stat describes the file of a name.
func Stat(ctx context.Context, name string) (fs.FileInfo, error) { return filesOf(ctx).Stat(name) }

// Begun is Files.Begun of a context.
func Begun(ctx context.Context, name string) (f *os.File, done func(), err error) {
	return filesOf(ctx).Begun(name)
}

// ReadDir lists a directory in the order of its names.
func ReadDir(ctx context.Context, name string) (entries []fs.DirEntry, err error) {
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(0, io.SeekStart); err != nil { // others have read it
		return nil, err
	}
	entries, err = f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Below is the name of a file in a directory. It leaves .. as it is, which behind a link leads elsewhere than its text
// says.
func Below(dir, name string) string {
	if dir == "" || os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
