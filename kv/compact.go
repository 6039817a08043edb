package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
)

// Compact folds edge, node, column and matrix deltas into blocks and drops what is no longer referenced. NodeIDs stay.
// The new blocks are written beside the live data and replace it in one transaction. Readers see the old state or the
// new one; after a crash, so does the next Open. Writers wait. It needs room on disk for a second copy of what
// changes.
func (s *Store) Compact(ctx context.Context, progress Progress) (err error) {
	began := time.Now()
	defer func() { s.log("compact", began, err) }()
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	bulk, err := s.beginBulk(ctx)
	if err != nil {
		return err
	}
	defer bulk.Abort()
	bulk.rewrites = true
	tx := bulk.Tx()
	w := &rewriter{tx: tx, bulk: bulk, progress: progress}
	if cat := tx.cat; cat.LoadedNodes < cat.Nodes || cat.EdgeDeltas > 0 || cat.Unnamed < cat.Removed {
		from, err := w.source()
		if err == nil {
			err = w.graph(ctx, from, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range tx.properties() {
		if !p.deltas && int(p.rows) == tx.NumNodes() {
			continue
		}
		if err := p.rewrite(w, ctx); err != nil {
			return err
		}
	}
	if err := bulk.Commit(markIndexes(tx.Columns())); err != nil {
		return err
	}
	if err := s.lockWriter(ctx); err != nil {
		return fmt.Errorf("%w, but folding tables: %w", ErrCommitted, err)
	}
	defer s.writer.Unlock()
	s.stopFold()
	err = s.checkOpen()
	if err == nil {
		err = s.fold(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w, but folding tables: %w", ErrCommitted, err)
	}
	return nil
}

// Badger makes a table of each memtable, and each Close makes one. Once there are some, the store folds them into few,
// beside readers and writers (lsm/fold.go). The fold ends once there is no snapshot.

// A folding is a fold that goes on beside writers.
type folding struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
}

// foldWait is between two looks at whether a fold can end. Each holds up who begins a snapshot for a moment.
const foldWait = time.Second

// foldIfDue begins a fold if one is due and none goes on. The caller holds the writer's lock.
func (s *Store) foldIfDue() {
	if s.folding != nil || !s.db.FoldDue() {
		return
	}
	f, err := s.beginFold()
	if err != nil {
		s.log("tables could not be folded", time.Time{}, err)
		return
	}
	s.foldBeside(f, f.Merge)
}

// foldBeside merges, and ends the fold, beside others. The caller holds the writer's lock.
func (s *Store) foldBeside(f *lsm.Fold, merge func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.folding = &folding{cancel, done}
	go func() {
		defer close(done)
		err := merge(ctx)
		s.writer.Lock()
		defer s.writer.Unlock()
		for s.commitGroup(); err == nil; s.commitGroup() {
			var ended bool
			if ended, err = f.End(); ended || err != nil {
				break
			}
			s.writer.Unlock()
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(foldWait):
			}
			s.writer.Lock()
		}
		s.folding = nil
		if err = errors.Join(err, f.Cancel()); err != nil && ctx.Err() == nil {
			s.log("tables could not be folded", time.Time{}, err)
		} else if err == nil {
			s.foldIfDue() // others came meanwhile
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

// fold folds at once, but ends beside others if there are snapshots. No fold goes on. The caller holds the writer's
// lock.
func (s *Store) fold(ctx context.Context) error {
	f, err := s.beginFold()
	if err != nil {
		return err
	}
	ended := false
	if err = f.Merge(ctx); err == nil {
		ended, err = f.End()
	}
	if err != nil || ended {
		return errors.Join(err, f.Cancel())
	}
	s.foldBeside(f, func(context.Context) error { return nil })
	return nil
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
