package kv

import (
	"context"
	"errors"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// Badger makes a table of each memtable, and each Close makes one. Once there are some, the store folds them into few,
// beside readers and writers (lsm/fold.go).

// A folding is a fold that goes on beside writers.
type folding struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
}

// foldIfDue begins a fold if one is due and none goes on. The caller holds the writer's lock.
func (s *Store) foldIfDue() {
	if s.folding != nil || !s.db.FoldDue() {
		return
	}
	f, err := s.beginFold()
	if err != nil {
		s.warn("tables could not be folded", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.folding = &folding{cancel, done}
	go func() {
		defer close(done)
		err := f.Merge(ctx)
		s.writer.Lock()
		defer s.writer.Unlock()
		s.commitGroup()
		s.folding = nil
		if err == nil {
			err = f.End()
		} else {
			err = errors.Join(err, f.Cancel())
		}
		if err != nil && ctx.Err() == nil {
			s.warn("tables could not be folded", err)
		}
	}()
}

// stopFold ends the fold that goes on, and says whether one did. The caller holds the writer's lock, which others have
// meanwhile.
func (s *Store) stopFold() (stopped bool) {
	for s.folding != nil {
		stopped = true
		done := s.folding.done
		s.folding.cancel()
		s.writer.Unlock()
		<-done
		s.writer.Lock()
		s.commitGroup()
	}
	return stopped
}

// fold folds at once. The caller holds the writer's lock.
func (s *Store) fold(ctx context.Context) error {
	s.stopFold()
	f, err := s.beginFold()
	if err != nil {
		return err
	}
	if err := f.Merge(ctx); err != nil {
		return errors.Join(err, f.Cancel())
	}
	return f.End()
}

// beginFold begins a fold that leaves out the records of generations that the catalogue does not name, and of old
// changes.
func (s *Store) beginFold() (f *lsm.Fold, err error) {
	err = s.lastView(func(tx *Tx) error {
		isDead, kept := tx.cat.dead(), tx.cat.changesFrom(tx.last)
		f, err = s.db.BeginFold(func(key []byte) bool { return isDead(key) || isOld(key, kept) })
		return err
	})
	return f, err
}
