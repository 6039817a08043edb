package parallel

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestDoRunsEveryTaskOnce(t *testing.T) {
	for _, workers := range []int{1, 3, 50} {
		var done [20]atomic.Int32
		must.Do(t, Do(t.Context(), workers, len(done), func(_ context.Context, worker, i int) error {
			if worker < 0 || worker >= workers {
				t.Errorf("got worker %d of %d", worker, workers)
			}
			done[i].Add(1)
			return nil
		}))
		for i := range done {
			if got := done[i].Load(); got != 1 {
				t.Errorf("%d workers: task %d was run %d times", workers, i, got)
			}
		}
	}
}

func TestDoStops(t *testing.T) {
	failure := errors.New("failure")
	err := Do(t.Context(), 2, 1000, func(ctx context.Context, _, i int) error {
		if i == 3 {
			return failure
		}
		return ctx.Err()
	})
	if !errors.Is(err, failure) {
		t.Errorf("a task that fails: got %v, want its error", err)
	}
	ran := 0
	err = Do(t.Context(), 1, 1000, func(_ context.Context, _, i int) error {
		if ran++; i == 3 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) || ran != 4 {
		t.Errorf("a task that fails on the only worker: got %v after %d tasks, want its error after 4", err, ran)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Do(ctx, 2, 1000, func(context.Context, int, int) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
	err = Do(t.Context(), 2, 4, func(context.Context, int, int) error {
		runtime.Goexit()
		return nil
	})
	if !errors.Is(err, errExited) {
		t.Errorf("a task that ends its goroutine: got %v, want an error", err)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "pan") {
			t.Errorf("a task that panics: got %q raised again", text)
		}
	}()
	t.Errorf("a task that panics: got %v", Do(t.Context(), 2, 4, func(context.Context, int, int) error { panic("pan") }))
}
