package kv

import (
	"context"
	"fmt"
	"time"
)

// Compact folds edge, node, column and matrix deltas into blocks and drops what is no longer referenced. NodeIDs stay.
// The new blocks are written beside the live data and replace it in one transaction. Readers see the old state or the
// new one; after a crash, so does the next Open. Writers wait. It needs room on disk for a second copy of what changes.
func (s *Store) Compact(ctx context.Context, progress Progress) (err error) {
	began := time.Now()
	defer func() { s.observe(Event{Kind: EventCompact, Err: err}, began) }()
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
			err = w.graph(ctx, from, none[edit], nil)
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
