package atrest

import (
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestWait has a goroutine work, and then read a pipe that stays empty.
func TestWait(t *testing.T) {
	in, out, err := os.Pipe()
	must.Do(t, err)
	var done atomic.Bool
	ended := make(chan error)
	go func() {
		for sum := 0; sum < 1<<24; sum++ {
			done.Store(sum == 1<<24-1)
		}
		_, err := in.Read(make([]byte, 1))
		ended <- err
	}()
	Wait()
	if !done.Load() {
		t.Error("Wait returned while a goroutine worked")
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != io.EOF {
		t.Errorf("the reader got %v, want that it waited until the end", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}
