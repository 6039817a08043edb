package kv

import (
	"context"
	"time"
)

// A writerLock is held by the one writer a store has at a time; others wait in the order they came. It cannot tell one
// goroutine from another, so that a writer which waits for another of its own goroutine waits for ever.
type writerLock chan struct{}

func newWriterLock() writerLock { return make(writerLock, 1) }

func (l writerLock) Lock() { l <- struct{}{} }

// LockContext is Lock, or returns the error of a context that ends first.
func (l writerLock) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	soon := time.NewTimer(toldWait)
	defer soon.Stop()
	for {
		select {
		case l <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-soon.C:
			if tell, ok := ctx.Value(waitKey{}).(func()); ok {
				tell()
			}
		}
	}
}

// toldWait is how long a writer waits for another before it tells so.
const toldWait = time.Second

type waitKey struct{}

// OnWait returns a context that has tell called if a writer with this context must wait for another one for longer
// than a moment.
func OnWait(ctx context.Context, tell func()) context.Context {
	return context.WithValue(ctx, waitKey{}, tell)
}

func (l writerLock) Unlock() { <-l }
