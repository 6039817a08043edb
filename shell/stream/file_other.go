//go:build !unix

package stream

import (
	"context"
	"io"
	"os"
)

func newFileReader(_ context.Context, f *os.File) io.Reader { return f }
