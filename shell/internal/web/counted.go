package web

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A counted is something that takes long to count in a large store. It is kept until the store changes.
type counted[T any] struct {
	wanted chan struct{} // has room for one
	first  chan struct{} // closed once there is a count

	counting sync.Mutex // one count at a time

	mu     sync.Mutex
	latest *T
	commit uint64 // that latest is of
	took   time.Duration
}

// Times of counting.
const (
	lookAgain   = time.Second            // between looks for changes by others
	quickEnough = 60 * time.Millisecond  // to count while somebody waits
	lull        = 200 * time.Millisecond // without a request before long work begins
	mostPatient = 5 * time.Second        // that long work waits for a lull
)

// fresh is what is known of a commit, nil if that is not known. Quick says that counting takes no time to speak of.
func (c *counted[T]) fresh(commit uint64) (latest *T, quick bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest != nil && c.commit == commit {
		latest = c.latest
	}
	return latest, c.latest != nil && c.took < quickEnough
}

// last is what was counted last, nil before the first count.
func (c *counted[T]) last() *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// count counts, unless nothing has changed: then it is the same count as before. How makes a count of a snapshot.
func (c *counted[T]) count(
	ctx context.Context, store *kv.Store, how func(context.Context, *kv.Tx) (*T, error),
) (now *T, err error) {
	c.counting.Lock()
	defer c.counting.Unlock()
	tx := store.Begin()
	defer tx.Close()
	commit, err := tx.LastCommit()
	if err != nil {
		return c.last(), err
	}
	if now, _ := c.fresh(commit); now != nil {
		return now, nil
	}
	began := time.Now()
	now, err = how(ctx, tx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return c.last(), err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		close(c.first)
	}
	c.latest, c.commit, c.took = now, commit, time.Since(began)
	return now, nil
}

// at is the count for who waits: as of now if that is quick, or if patient, and else the last one, which may be nil.
// Stale says that the store has changed since.
func (c *counted[T]) at(ctx context.Context, store *kv.Store, patient bool, how func(context.Context, *kv.Tx) (*T, error)) (latest *T, stale bool, err error) {
	tx := store.Begin()
	commit, err := tx.LastCommit()
	tx.Close()
	if err != nil {
		return nil, false, err
	}
	now, quick := c.fresh(commit)
	switch {
	case now != nil:
		return now, false, nil
	case quick, patient:
		now, err = c.count(ctx, store, how)
		return now, false, err
	}
	notify(c.wanted)
	select {
	case <-c.first:
	case <-ctx.Done():
	case <-time.After(quickEnough):
	}
	if now, _ := c.fresh(commit); now != nil {
		return now, false, nil
	}
	return c.last(), true, nil
}

// An activity knows when somebody waits for an answer.
type activity struct {
	requests atomic.Int64 // under way
	ended    atomic.Int64 // when the last one ended: nanoseconds since 1970
}

func (a *activity) begin() { a.requests.Add(1) }

func (a *activity) end() {
	a.ended.Store(time.Now().UnixNano())
	a.requests.Add(-1)
}

// wait returns in a lull: long work gives way to people. It does not wait forever.
func (a *activity) wait(ctx context.Context) {
	const look = lull / 4
	for patience := mostPatient; patience > 0 && ctx.Err() == nil; patience -= look {
		if a.requests.Load() == 0 && time.Since(time.Unix(0, a.ended.Load())) >= lull {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}
