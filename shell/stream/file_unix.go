//go:build unix

package stream

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A fileReader reads from a file once it has something to read, or nobody at its other end: a Read that ctx ends takes
// nothing.
type fileReader struct {
	ctx  context.Context
	file *os.File
}

func newFileReader(ctx context.Context, f *os.File) io.Reader { return &fileReader{ctx, f} }

func (r *fileReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.wait(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// wait waits until a Read does not block.
func (r *fileReader) wait() error {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var ready int
		var failed error
		err := raw.Control(func(fd uintptr) {
			ready, failed = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(look.Milliseconds()))
		})
		switch {
		case err != nil:
			return err
		case ready > 0:
			return nil
		case failed != nil && !errors.Is(failed, unix.EINTR):
			return os.NewSyscallError("poll", failed)
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		}
	}
}
