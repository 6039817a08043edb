// Package stream finds files, and reads and writes those that may block, such as pipes and terminals, until a context
// ends. The files are those of the system, or those that another process has passed to this one.
package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"time"
)

// look is how long a wait goes on before it looks at its context again.
const look = 100 * time.Millisecond

// A File is a file that is open to be read. Its Read ends with the error of the context.
type File struct {
	*os.File
	in     io.Reader
	shared bool // others read it too, and it stays open
}

// Input is the name of standard input.
const Input = "-"

type inputKey struct{}

// An input is standard input, which is read once.
type input struct {
	from  io.Reader
	taken atomic.Bool
}

// WithInput returns a context in which OpenInput reads from in.
func WithInput(ctx context.Context, in io.Reader) context.Context {
	return context.WithValue(ctx, inputKey{}, &input{from: in})
}

// OpenInput returns standard input, to be read until ctx ends. It is an error the second time, and in a context without
// one.
func OpenInput(ctx context.Context) (io.Reader, error) {
	in, ok := ctx.Value(inputKey{}).(*input)
	switch {
	case !ok:
		return nil, errors.New("standard input is not read here, want a file")
	case in.taken.Swap(true):
		return nil, errors.New("standard input was read already, and cannot be read twice: want a file")
	}
	return NewReader(ctx, in.from), nil
}

// Open opens a file to be read. Until ctx ends it waits for the writer of a named pipe.
func Open(ctx context.Context, path string) (*File, error) { return filesOf(ctx).Open(ctx, path) }

// Open opens a file to be read, as the function Open does.
func (System) Open(ctx context.Context, path string) (*File, error) {
	f, err := open(ctx, path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &File{File: f, in: NewReader(ctx, f)}, nil
}

// Share is a file that is open already, to be read from its beginning if it is a regular one. It stays open.
func Share(ctx context.Context, f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in := NewReader(ctx, f)
	if info.Mode().IsRegular() {
		in = io.NewSectionReader(f, 0, math.MaxInt64)
	}
	return &File{File: f, in: in, shared: true}, nil
}

// Close closes the file, unless it is shared.
func (f *File) Close() error {
	if f.shared {
		return nil
	}
	return f.File.Close()
}

// Read reads as the file does, until the context of Open ends.
func (f *File) Read(p []byte) (int, error) { return f.in.Read(p) }

// OpenToWrite opens a device, or a named pipe, which is to be there. Until ctx ends it waits for the reader of the
// pipe.
func OpenToWrite(ctx context.Context, path string) (*os.File, error) {
	return open(ctx, path, os.O_WRONLY)
}

// open opens a file. Until ctx ends it waits for the other end of a named pipe.
func open(ctx context.Context, path string, flag int) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(path, flag, 0)
	}
	f, err := await(ctx, func() (*os.File, error) {
		f, err := os.OpenFile(path, flag, 0)
		if err == nil && ctx.Err() != nil { // nobody may wait any more
			return nil, errors.Join(ctx.Err(), f.Close())
		}
		return f, err
	})
	if ctx.Err() != nil { // the other end has come, so that nothing waits for it
		if both, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			both.Close() //nolint:errcheck // nothing was written
		}
	}
	return f, err
}

// await calls fn, which may block. Where ctx ends, and fn does not soon after, it returns the error of ctx, and fn goes
// on alone.
func await[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := fn()
		results <- result{value, err}
	}()
	var late <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case r := <-results:
			return r.value, r.err
		case <-done:
			done, late = nil, time.After(look)
		case <-late:
			return *new(T), ctx.Err()
		}
	}
}

// NewReader returns a reader that reads what r does. Where r is a file that may block, such as a pipe or a terminal, it
// waits until ctx ends; then it returns the error of ctx, and the next reader misses nothing. Anything else is returned
// as it is, and so are all files on Windows.
func NewReader(ctx context.Context, r io.Reader) io.Reader {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return newFileReader(ctx, f)
		}
	}
	return r
}

// NewWriter returns a writer that writes to w. Where w is a pipe or a socket, and is full, it waits until ctx ends;
// then it returns the error of ctx, and the rest may be written later. Anything else is returned as it is.
func NewWriter(ctx context.Context, w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return pipeWriter{ctx, f}
		}
	}
	return w
}

// A pipeWriter writes through a goroutine, so that ctx can end the wait for it.
type pipeWriter struct {
	ctx context.Context
	to  io.Writer
}

func (w pipeWriter) Write(p []byte) (int, error) {
	p = bytes.Clone(p) // of the goroutine
	return await(w.ctx, func() (int, error) { return w.to.Write(p) })
}
