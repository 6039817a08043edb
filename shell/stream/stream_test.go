//go:build unix

package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ended calls fn with a context that ends while fn waits, and wants its error.
func ended(t *testing.T, what string, fn func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := fn(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: got error %v, want %v", what, err, context.DeadlineExceeded)
	}
}

// TestWaitsEnd ends waits for both ends of pipes. Nothing goes on alone but a Write to a full pipe, which ends with the
// other end of the pipe, as TestMain makes sure.
func TestWaitsEnd(t *testing.T) {
	in, out, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, out.Close()) })
	ended(t, "an empty pipe", func(ctx context.Context) error {
		_, err := io.ReadAll(NewReader(ctx, in))
		return err
	})
	must.Get(out.WriteString("later"))(t)
	got := make([]byte, 16)
	if n, err := NewReader(t.Context(), in).Read(got); err != nil || string(got[:n]) != "later" {
		t.Errorf("what came later: got %q, %v", got[:n], err)
	}
	ended(t, "a full pipe", func(ctx context.Context) error {
		_, err := NewWriter(ctx, out).Write(make([]byte, 1<<20))
		return err
	})
	must.Do(t, in.Close()) // the goroutine that writes ends
	for what, open := range map[string]func(ctx context.Context, path string) error{
		"a pipe that nobody writes to": func(ctx context.Context, path string) error { return errorOf(Open(ctx, path)) },
		"a pipe that nobody reads": func(ctx context.Context, path string) error {
			return errorOf(OpenToWrite(ctx, path))
		},
	} {
		path := filepath.Join(t.TempDir(), "pipe")
		must.Do(t, unix.Mkfifo(path, 0o600))
		ended(t, what, func(ctx context.Context) error { return open(ctx, path) })
	}
}

func errorOf[T any](_ T, err error) error { return err }

// TestStreamsCarryAll sends more than a pipe holds through a named one.
func TestStreamsCarryAll(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcde\n"), 20_000)
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, unix.Mkfifo(path, 0o600))
	wrote := make(chan error, 1)
	go func() {
		f, err := OpenToWrite(t.Context(), path)
		if err == nil {
			_, err = NewWriter(t.Context(), f).Write(want)
			err = errors.Join(err, f.Close())
		}
		wrote <- err
	}()
	in := must.Get(Open(t.Context(), path))(t)
	got, err := io.ReadAll(in)
	if err := errors.Join(err, in.Close(), <-wrote); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a named pipe: got %d bytes and error %v, want %d", len(got), err, len(want))
	}
}
