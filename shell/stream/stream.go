// Package stream finds files, and reads and writes those that may block, such as pipes and terminals, until a context
// ends. The files are those of the system, or those that another process has passed to this one.
package stream

import (
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
	open := os.Open
	if isPipe(path) {
		open = func(path string) (*os.File, error) { return openPipe(ctx, path) }
	}
	f, err := open(path)
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

// OpenPipeToWrite opens a named pipe. Until ctx ends it waits for the reader of the pipe.
func OpenPipeToWrite(ctx context.Context, path string) (*os.File, error) {
	return openPipeToWrite(ctx, path)
}

// NewReader returns a reader that reads what r does until ctx ends; then it returns the error of ctx. A file is read
// only once it has something to read. Any other reader, and a file on Windows, is read by a goroutine of its own: a
// Read that is under way when ctx ends goes on alone, and what it reads is lost. A File already ends with its own
// context.
func NewReader(ctx context.Context, r io.Reader) io.Reader {
	switch f := r.(type) {
	case *File:
		return f
	case *os.File:
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f
		}
		return newFileReader(ctx, f)
	}
	return newRelay(ctx, r)
}

// NewWriter returns a writer that writes to w. Where w is a pipe or a socket, and is full, it waits until ctx ends;
// then it returns the error of ctx. Anything else is returned as it is.
func NewWriter(ctx context.Context, w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return newFileWriter(ctx, f)
		}
	}
	return w
}

// isPipe reports whether a named pipe is at a path.
func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// A relay reads through a goroutine, so that ctx can end the wait for it.
type relay struct {
	ctx    context.Context
	from   io.Reader
	buffer []byte // of the goroutine while it reads
	rest   []byte // read and not handed out; a part of buffer
	err    error  // after rest
	chunks chan chunk
}

type chunk struct {
	n   int
	err error
}

// relayBytes is the most that a relay reads at once.
const relayBytes = 64 << 10

func newRelay(ctx context.Context, from io.Reader) *relay {
	return &relay{ctx: ctx, from: from, buffer: make([]byte, relayBytes), chunks: make(chan chunk, 1)}
}

func (r *relay) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.rest) == 0 && r.err == nil && len(p) > 0 {
		go func() {
			n, err := r.from.Read(r.buffer[:min(len(p), relayBytes)])
			r.chunks <- chunk{n, err}
		}()
		select {
		case next := <-r.chunks:
			r.rest, r.err = r.buffer[:next.n], next.err
		case <-r.ctx.Done():
			return 0, r.ctx.Err() // from now on the buffer is the goroutine's
		}
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) > 0 {
		return n, nil
	}
	return n, r.err
}
