//go:build !unix

package stream

import (
	"context"
	"io"
	"os"
)

func newFileReader(ctx context.Context, f *os.File) io.Reader { return newRelay(ctx, f) }
