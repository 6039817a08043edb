//go:build unix

package stream

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// wait waits until a file can be read from, or written to, without blocking, or has nobody at its other end.
func wait(ctx context.Context, f *os.File, events int16) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var ready int
		var failed error
		err := raw.Control(func(fd uintptr) {
			ready, failed = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, int(look.Milliseconds()))
		})
		switch {
		case err != nil:
			return err
		case ready > 0:
			return nil
		case failed != nil && !errors.Is(failed, unix.EINTR):
			return os.NewSyscallError("poll", failed)
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

type fileReader struct {
	ctx  context.Context
	file *os.File
}

func newFileReader(ctx context.Context, f *os.File) io.Reader { return &fileReader{ctx, f} }

func (r *fileReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if err := wait(r.ctx, r.file, unix.POLLIN); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

type fileWriter struct {
	ctx  context.Context
	file *os.File
}

func newFileWriter(ctx context.Context, f *os.File) io.Writer { return &fileWriter{ctx, f} }

// pieceBytes is how much a pipe that is ready takes without blocking (PIPE_BUF).
func pieceBytes() int {
	if runtime.GOOS == "linux" {
		return 4096
	}
	return 512 // the least of any system
}

// Write writes a piece at a time: a pipe that is ready has room for one.
func (w *fileWriter) Write(p []byte) (count int, err error) {
	for len(p) > 0 {
		if err := wait(w.ctx, w.file, unix.POLLOUT); err != nil {
			return count, err
		}
		n, err := w.file.Write(p[:min(len(p), pieceBytes())])
		count += n
		if err != nil {
			return count, err
		}
		p = p[n:]
	}
	return count, nil
}

// openPipe opens a named pipe to be read, which waits for a writer.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	type opening struct {
		file *os.File
		err  error
	}
	openings := make(chan opening, 1)
	go func() {
		f, err := os.Open(path)
		openings <- opening{f, err}
	}()
	select {
	case o := <-openings:
		return o.file, o.err
	case <-ctx.Done():
	}
	for {
		// A writer, for a moment, brings the open to its end. There is none as long as the open has not begun.
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			err = f.Close()
		}
		select {
		case o := <-openings:
			if o.err == nil {
				o.err = o.file.Close()
			}
			return nil, errors.Join(ctx.Err(), o.err)
		case <-time.After(time.Millisecond):
		}
		if err != nil && !errors.Is(err, unix.ENXIO) {
			return nil, errors.Join(ctx.Err(), err) // the pipe is gone, and the open stays
		}
	}
}

func openPipeToWrite(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if !errors.Is(err, unix.ENXIO) { // nobody reads
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
	}
}
