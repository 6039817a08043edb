// Package parallel runs tasks on a number of goroutines. It hands on their first error, and their panics.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
)

// errExited is the error of a task that ended its goroutine, as testing.T.FailNow does.
var errExited = errors.New("parallel: a task ended its goroutine")

// Workers is the number of goroutines that an option means: itself, or GOMAXPROCS where it is zero.
func Workers(option int) int {
	if option <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return option
}

// Do runs task for every index 0 ≤ i < tasks, handed out in order to the workers 0 ≤ worker < workers, and
// returns once all of them have stopped. The first error stops the others and is returned, and so is ctx.Err(); a
// panic in a task is raised again here. A fault of a mapped file is an error, a *mapped.Fault.
func Do(ctx context.Context, workers, tasks int, task func(ctx context.Context, worker, i int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg           sync.WaitGroup
		next         atomic.Int64
		mu           sync.Mutex
		failure      error
		panicMessage string
	)
	stop := func(err error, panicText string) {
		mu.Lock()
		defer mu.Unlock()
		if failure == nil {
			failure, panicMessage = err, panicText
		}
		cancel()
	}
	for worker := range min(workers, tasks) {
		wg.Go(func() {
			returned := false
			defer mapped.Watch()()
			defer func() {
				value := recover()
				if fault := mapped.FaultOf(value); fault != nil {
					stop(fmt.Errorf("reading mapped memory: %w", fault), "")
				} else if value != nil {
					stop(errExited, fmt.Sprintf("%v\n\n%s", value, debug.Stack()))
				} else if !returned {
					stop(errExited, "")
				}
			}()
			for inner.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= tasks {
					break
				}
				if err := task(inner, worker, i); err != nil {
					stop(err, "")
					break
				}
			}
			returned = true
		})
	}
	wg.Wait()
	if panicMessage != "" {
		panic(panicMessage)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return failure
}
