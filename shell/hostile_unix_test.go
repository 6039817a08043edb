//go:build linux || darwin

package shell

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// writeHostile writes a file, or makes a pipe into which text without an end of line flows for as long as it is read.
func writeHostile(t *testing.T, path, content string) error {
	if content != endless {
		return os.WriteFile(path, []byte(content), 0o600)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return // the test is over
		}
		defer pipe.Close()
		block := []byte(strings.Repeat("x", 1<<20))
		for err == nil {
			_, err = pipe.Write(block)
		}
	}()
	t.Cleanup(func() {
		// Where nobody has read from the pipe the goroutine waits for that.
		// It ends once nobody reads any more.
		if reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}
		<-ended
	})
	return nil
}
