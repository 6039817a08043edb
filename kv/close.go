package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Close waits for the Update or Compact that is running, ends all snapshots, waits for their reads, and closes the
// store; it must not be called from inside an Update or a loop over a snapshot. While a Bulk is open it returns
// ErrBusy and closes nothing: end the Bulk with Commit or Abort first. Closing again does nothing. If another process
// has filled the disk, Close returns ErrNoSpace and the store stays open. Close it again when there is room. Even
// without that, all commits are on disk. If the directory was moved, Close returns ErrMoved and closes the store
// without writing.
func (s *Store) Close() error {
	if s.bulkOpen.Load() {
		return fmt.Errorf("%s: %w: a Bulk is open, end it with Commit or Abort", s.name, ErrBusy)
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	s.commitGroup()
	stopped := s.stopFold()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	if s.db.Written() && !errors.Is(s.db.Failed(), ErrMoved) {
		if err := s.db.Closable(0); err != nil {
			s.mu.Unlock()
			return fmt.Errorf("closing: %w", err)
		}
	}
	s.closed = true
	s.mu.Unlock()
	began := time.Now()
	s.endSnapshots()
	s.mu.Unlock()
	if stopped || s.db.FoldDue() {
		if err := s.fold(context.Background()); err != nil {
			s.warn("tables could not be folded", err)
		}
	}
	err := s.closeBadger()
	s.observe(Event{Kind: EventClose, Err: err}, began)
	return err
}

// checkOpen returns ErrClosed if the store is closed.
func (s *Store) checkOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: %w", s.name, ErrClosed)
	}
	return nil
}

// abandon closes a store whose directory is to be removed. It does so also if Close cannot, as the disk has no room for
// what would be written or a Bulk is open; the directory is gone then, and Badger writes nothing there.
func (s *Store) abandon() (err error) {
	closing := s.Close()
	s.endSnapshots()
	open := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !open {
		return closing
	}
	err = os.RemoveAll(s.dir)
	s.db.Abandon()
	return errors.Join(err, s.unlock())
}

// endSnapshots ends all snapshots and waits for their reads. It returns with s.mu locked, so that there is none.
func (s *Store) endSnapshots() {
	for s.mu.Lock(); len(s.txs) > 0; s.mu.Lock() {
		txs := slices.Collect(maps.Keys(s.txs))
		s.mu.Unlock()
		for _, tx := range txs {
			tx.end()
			<-tx.done
		}
	}
}

// closeBadger closes what openBadger has opened, and leaves files that can be opened again.
func (s *Store) closeBadger() error {
	var decided error
	switch {
	case s.decided != nil:
		decided = s.decided.Close()
	case !s.synced && s.db.Failed() == nil && s.header.Version == formatVersion:
		if decided = s.createDecisions(); decided == nil {
			decided = s.decided.Close()
		}
	}
	crashed, err := s.db.Close()
	err = errors.Join(err, decided)
	if err == nil && !s.opt.ReadOnly {
		err = storedir.AlignModes(s.dir)
	}
	if err == nil && !s.opt.ReadOnly && !crashed {
		err = storedir.UnmarkWriter(s.dir)
	}
	return errors.Join(err, s.unlock())
}
