package kv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// Updates that come at the same time share one sync, which takes far longer than they do. An Update that has run
// enters a group and gives back the writer's lock. Those that waited for the lock run meanwhile, in the same
// transaction of Badger, so that each sees what the ones before it wrote, and enter the group too. The first of the
// group, its leader, asks for the lock again and so comes behind them. Then it commits the transaction, which Badger
// syncs, and before it decisions.log if there are decisions. So no reader sees what is not durable, and each Update
// returns after the sync that its commit is in.

// A commitGroup is the Updates that have run and wait for their sync. The writer's lock guards it.
type commitGroup struct {
	txn     *lsm.Txn // has what all of them wrote
	cat     *catalog // as the last of them left it
	members []*Tx
	done    chan struct{} // closed when each of them knows what became of it
}

const (
	// mostInGroup bounds how many Updates wait for one sync.
	mostInGroup = 64

	// mostYields is how often a leader lets others run while its group is smaller than the last one: its members are
	// on their way back.
	mostYields = 4
)

// lockWriter takes the writer's lock, and commits what waits for a sync. All but UpdateContext take the lock so.
func (s *Store) lockWriter(ctx context.Context) error {
	if err := s.writer.LockContext(ctx); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed { // what observes a commit has panicked
			s.writer.Unlock()
		}
	}()
	s.commitGroup()
	committed = true
	return nil
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
		tx.group, tx.leads = &commitGroup{txn: tx.txn, done: make(chan struct{})}, true
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
			if err := g.txn.Restore(e.Key, e.Value); err != nil {
				tx.s.db.Fail(err) // so that the group is not committed
			}
		}
	}
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

// await waits until a transaction that has entered a group is committed. If it leads the group it sees to that.
func (s *Store) await(tx *Tx) error {
	g := tx.group
	if !tx.leads {
		<-g.done
		return tx.result
	}
	for members, yields := 1, 0; ; {
		select {
		case <-g.done:
			return tx.result
		case s.writer <- struct{}{}:
		}
		if s.group != g { // who had the lock meanwhile has committed it
			s.writer.Unlock()
			return tx.result
		}
		grown := len(g.members) > members
		if !grown && (len(g.members) >= s.lastGroup || yields == mostYields) {
			break
		}
		if members = len(g.members); !grown {
			yields++
		}
		s.writer.Unlock()
		runtime.Gosched()
	}
	defer s.writer.Unlock() // also if what observes a commit panics
	s.commitGroup()
	s.foldIfDue()
	return tx.result
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

// commit commits transactions, which wrote in one of Badger, and tells each what became of it.
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
	}
	for _, tx := range members {
		s.committed(tx, began)
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
