package kv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A writer that waits for another says so, and stops waiting with its context.
func TestWaitingWriter(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	b, err := s.Bulk(context.Background())
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	err = s.UpdateContext(OnWait(ctx, func() {
		told++
		cancel()
	}), func(*Tx) error { return errors.New("the other writer has not ended") })
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("got %v, told %d times, want context.Canceled and 1", err, told)
	}
	wrote := make(chan error, 1)
	go func() {
		wrote <- s.UpdateContext(OnWait(t.Context(), func() { t.Error("told of a short wait") }),
			func(*Tx) error { return nil })
	}()
	time.Sleep(10 * time.Millisecond)
	b.Abort()
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
