package kv

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/codec"
	"github.com/graphcleaner/graphcleaner/kv/internal/graph"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Compact folds edge, node, column and matrix deltas into blocks and drops what is no longer referenced. NodeIDs stay. The
// new blocks are written beside the live data and replace it in one transaction. Readers see the old state or the new one;
// after a crash, so does the next Open. Writers wait. It needs room on disk for a second copy of what changes.
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
	if err := s.db.Mergeable(); err != nil {
		return err
	}
	bulk.rewrites = true
	tx := bulk.Tx()
	w := &rewriter{tx: tx, bulk: bulk, progress: progress}
	if err := w.graph(ctx); err != nil {
		return err
	}
	for _, p := range tx.properties() {
		if !p.deltas && int(p.rows) == tx.NumNodes() {
			continue
		}
		if err := p.rewrite(w, ctx); err != nil {
			return err
		}
	}
	return bulk.commit(markIndexes(tx.Columns()), s.mergeAll)
}

// mergeAll merges the tables, so that records that were deleted give their room back. The caller holds the writer's lock.
func (s *Store) mergeAll() error {
	err := s.db.Mergeable()
	if err == nil {
		err = s.db.Flatten()
	}
	if err != nil {
		return fmt.Errorf("%w, but merging tables: %w", ErrCommitted, err)
	}
	return nil
}

// graph writes adjacency and dictionary again, if nodes were added or removed, or edges changed.
func (w *rewriter) graph(ctx context.Context) error {
	cat, draft := w.tx.cat, w.bulk.draft
	if cat.LoadedNodes == cat.Nodes && cat.EdgeDeltas == 0 && cat.Unnamed == cat.Removed {
		return nil
	}
	g, err := w.bulk.newGeneration()
	if err != nil {
		return err
	}
	draft.Graph, draft.LoadedNodes, draft.EdgeDeltas, draft.Unnamed = g, cat.Nodes, 0, cat.Removed
	err = w.adjacency(ctx, g, func(out *graph.Writer, _ NodeID, list []NodeID, arcs []codec.Arc) error {
		return out.Append(list, arcs)
	})
	if err != nil {
		return err
	}
	return w.dictionary(ctx, g, func() (at func(position int) (string, error), stop func()) {
		return w.idAt, func() {}
	})
}

// dictionary writes the dictionary again, with removed nodes, as a graph that the draft has. ids returns a reader of the ids of
// all places, ascending, empty of removed nodes.
func (w *rewriter) dictionary(
	ctx context.Context, g record.Generation, ids func() (at func(position int) (string, error), stop func()),
) error {
	var block []uint32
	err := w.positions(ctx, g, func(k record.Kind, number int) (_ []uint32, err error) {
		block, err = w.tx.dict().Numbers(k, number, block[:0])
		return block, err
	})
	if err != nil {
		return err
	}
	if err := putRemovedSet(w.bulk.batch.Put, g, w.bulk.removed); err != nil {
		return err
	}
	w.oldIDs = w.tx.dict().Reader()
	at, stop := ids()
	dense, err := w.isDense(at)
	stop()
	if w.bulk.draft.DenseIDs = dense; err != nil || dense {
		return err
	}
	at, stop = ids()
	defer stop()
	return w.ids(ctx, g, at)
}

// idAt is the id at a place of the store as it was, empty if the node is removed.
func (w *rewriter) idAt(position int) (string, error) {
	if w.bulk.removed != nil {
		v, err := w.tx.dict().NodeAt(position)
		if err != nil || w.bulk.removed.Has(v) {
			return "", err
		}
	}
	return w.oldIDs.AtPosition(position)
}

// adjacency has write write the list of each node, with what it was; of a node that is added it was empty.
func (w *rewriter) adjacency(
	ctx context.Context, g record.Generation, write func(out *graph.Writer, v NodeID, list []NodeID, arcs []codec.Arc) error,
) error {
	blocks, err := w.tx.AdjacencyBlocks()
	if err != nil {
		return err
	}
	out := graph.NewWriter(w.bulk.batch.Put, g, w.tx.cat.arcForm())
	var lists Adjacency
	for _, r := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.progress("adjacency", int64(r.First), int64(w.bulk.draft.Nodes))
		if err := w.tx.graph().ReadLists(r, &lists); err != nil {
			return err
		}
		for v := r.First; v < r.End; v++ {
			if err := write(out, v, lists.Of(v), lists.ArcsOf(v)); err != nil {
				return err
			}
		}
	}
	for v := NodeID(w.tx.cat.Nodes); int(v) < w.bulk.draft.Nodes; v++ {
		if err := write(out, v, nil, nil); err != nil {
			return err
		}
	}
	return out.Close()
}

// isDense reports whether each id is its position. Removed nodes have none.
func (w *rewriter) isDense(at func(position int) (string, error)) (bool, error) {
	for position := range w.bulk.draft.Nodes {
		id, err := at(position)
		if err != nil || id != "" && id != strconv.Itoa(position) {
			return false, err
		}
	}
	return true, nil
}
