//go:build !unix

package stream

import (
	"context"
	"io"
	"os"
)

func newFileReader(ctx context.Context, f *os.File) io.Reader { return newRelay(ctx, f) }

func newFileWriter(_ context.Context, f *os.File) io.Writer { return f }

func openPipe(_ context.Context, path string) (*os.File, error) { return os.Open(path) }

func openPipeToWrite(_ context.Context, path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY, 0)
}
