package kv

import "context"

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
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l writerLock) Unlock() { <-l }
