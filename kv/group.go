package kv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// Updates that come at the same time share one sync, which takes far longer than they do. An Update that has run
// enters a group and gives back the writer's lock. If others wait for the lock, the next of them runs in the same
// transaction of Badger, so that it sees what the ones before it wrote, and enters the group too. Whom nobody follows
// commits the transaction, which Badger syncs, and before it decisions.log if there are decisions. So no reader sees
// what is not durable, and each Update returns after the sync that its commit is in.

// A commitGroup is the Updates that have run and wait for their sync. The writer's lock guards it.
type commitGroup struct {
	txn     *lsm.Txn // has the writes of all of them
	cat     *catalog // as the last of them left it
	members []*Tx
	done    chan struct{} // closed when each of them knows its outcome
}

const (
	// mostInGroup bounds how many Updates wait for one sync.
	mostInGroup = 64

	// mostYields is how often an Update lets others run while its group is smaller than the last one: its members are
	// on their way back.
	mostYields = 4
)

// lockWriter takes the writer's lock, and commits what waits for a sync. An Update joins what waits instead.
func (s *Store) lockWriter(ctx context.Context) error {
	if err := s.writer.LockContext(ctx); err != nil {
		s.commitUnlessFollowed()
		return err
	}
	s.commitGroup()
	return nil
}

// join runs fn in a transaction that enters the group. It returns the group as it was before, too.
func (s *Store) join(ctx context.Context, fn func(*Tx) error) (tx *Tx, before *commitGroup, err error) {
	defer s.commitUnlessFollowed() // also if fn panics, or the context ends: others may count on this one
	if err := s.writer.LockContext(ctx); err != nil {
		return nil, nil, err
	}
	defer s.writer.Unlock()
	before = s.group
	if tx, err = s.enter(fn); err != nil {
		return tx, before, err
	}
	if !s.group.admits() {
		return tx, before, s.finish(tx)
	}
	for range mostYields {
		if s.writer.waiting.Load() > 0 || len(s.group.members) >= s.lastGroup {
			break
		}
		runtime.Gosched()
	}
	return tx, before, nil
}

// commitUnlessFollowed commits the group unless somebody has the writer's lock, or waits for it, and sees to that. The
// caller does not hold the lock any more.
func (s *Store) commitUnlessFollowed() {
	if s.writer.waiting.Load() > 0 {
		return
	}
	select {
	case s.writer.held <- struct{}{}:
		defer s.writer.Unlock()
	default:
		return
	}
	if s.group != nil {
		s.commitGroup()
		s.foldIfDue()
	}
}

// enter runs fn in a transaction, which then waits in the group for its commit. The caller holds the writer's lock.
func (s *Store) enter(fn func(*Tx) error) (*Tx, error) {
	if s.opt.ReadOnly {
		return nil, fmt.Errorf("%s: %w", s.name, ErrReadOnly)
	}
	var tx *Tx
	if s.group == nil {
		tx = s.begin(true)
	} else {
		tx = s.beginBare(true, s.group)
	}
	entered := false
	defer func() { // also if fn panics
		tx.end()
		if !entered {
			tx.undo()
		}
	}()
	if tx.err != nil {
		return nil, tx.err
	}
	if err := fn(tx); err != nil {
		return nil, err
	}
	if err := tx.prepare(); err != nil {
		return nil, err
	}
	if tx.group == nil {
		tx.group = &commitGroup{txn: tx.txn, done: make(chan struct{})}
		s.group = tx.group
	}
	s.group.cat = tx.cat
	s.group.members = append(s.group.members, tx)
	entered = true
	return tx, nil
}

// undo takes what a transaction wrote, which has ended and does not enter its group, out of the Badger transaction of
// that.
func (tx *Tx) undo() {
	g := tx.group
	if g == nil || tx.writes == 0 {
		return
	}
	<-tx.done
	g.txn.Discard()
	g.txn = tx.s.db.Begin(true)
	for _, member := range g.members {
		for _, e := range member.entries {
			if err := g.txn.Set(e.Key, e.Value); err != nil {
				tx.s.db.Fail(err) // so that the group is not committed
			}
		}
	}
	g.txn.Next()
}

// admits says whether another Update may follow the last. None does that would see names or generations which are not
// committed: if the commit fails, they are given to others.
func (g *commitGroup) admits() bool {
	last := g.members[len(g.members)-1]
	return !last.changed && len(g.members) < mostInGroup && g.txn.Next()
}

// lost waits until the group, if there is one, is committed, and returns why nothing of it is written.
func (g *commitGroup) lost() error {
	if g == nil {
		return nil
	}
	<-g.done
	if err := g.members[0].result; !errors.Is(err, ErrCommitted) {
		return err
	}
	return nil
}

// commitGroup commits the Updates that wait for it, if there are any. The caller holds the writer's lock.
func (s *Store) commitGroup() {
	g := s.group
	if g == nil {
		return
	}
	s.group, s.lastGroup = nil, len(g.members)
	defer close(g.done)
	defer g.txn.Discard()
	s.commit(g.txn, g.members...)
}

// commit commits transactions, which wrote in one of Badger, and tells each the outcome.
func (s *Store) commit(txn *lsm.Txn, members ...*Tx) {
	began := time.Now()
	var numbered []*Tx
	for _, tx := range members {
		if tx.numbered {
			numbered = append(numbered, tx)
		}
	}
	err := s.commitDurably(txn, numbered)
	if err != nil && !errors.Is(err, ErrCommitted) && len(numbered) > 0 {
		s.commits -= uint64(len(numbered))
	}
	for _, tx := range members {
		tx.result = err
		s.log("commit", began, err, "commit", tx.last, "records", len(tx.entries))
	}
}

// commitDurably writes decisions to decisions.log, and then commits to Badger; it syncs both.
func (s *Store) commitDurably(txn *lsm.Txn, commits []*Tx) error {
	if len(commits) == 0 {
		return txn.Commit(s.commits)
	}
	err := s.db.Failed()
	logged := false
	if err == nil {
		if logged, err = s.logDecisions(commits); err != nil && s.decided.Failed() != nil {
			s.db.Fail(err)
		}
	}
	if err != nil {
		return fmt.Errorf("nothing is written: %w", err)
	}
	if err := txn.Commit(s.commits); err != nil {
		s.db.Fail(err) // Badger may have it or not, and decisions.log has it
		if logged {
			return fmt.Errorf("%w, and there when the store is opened again, but %w: %w", ErrCommitted, ErrFailed, err)
		}
		return fmt.Errorf("whether it is written is not known: %w: %w", ErrFailed, err)
	}
	return s.renewAfter(commits[len(commits)-1])
}

// A writerLock is held by the one writer a store has at a time; others wait in the order they came. It cannot tell one
// goroutine from another, so that a writer which waits for another of its own goroutine waits for ever.
type writerLock struct {
	held    chan struct{}
	waiting atomic.Int64 // those in LockContext
}

func (l *writerLock) Lock()   { l.held <- struct{}{} }
func (l *writerLock) Unlock() { <-l.held }

// LockContext is Lock, or returns the error of a context that ends first.
func (l *writerLock) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	soon := time.NewTimer(toldWait)
	defer soon.Stop()
	for {
		select {
		case l.held <- struct{}{}:
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
