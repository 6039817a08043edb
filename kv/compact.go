package kv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Compact folds edge, node, column and matrix deltas into blocks and drops what is no longer referenced. NodeIDs stay.
// What changes is written beside the live data and replaces it in one transaction: readers and a crash see the store
// as it was, or as it then is. Writers wait. It needs room on disk for a second copy of what changes.
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
	c := compaction{bulk, progress}
	if err := c.graph(ctx); err != nil {
		return err
	}
	var indexed []string
	for _, column := range bulk.Tx().Columns() {
		entry := bulk.Tx().cat.Columns[column.Name]
		if !entry.Deltas && int(entry.Rows) == bulk.Tx().NumNodes() {
			continue
		}
		if column.Indexed {
			indexed = append(indexed, column.Name)
		}
		if err := c.column(ctx, column); err != nil {
			return err
		}
	}
	for _, name := range bulk.Tx().Matrices() {
		entry := bulk.Tx().cat.Matrices[name]
		if !entry.Deltas && int(entry.Rows) == bulk.Tx().NumNodes() {
			continue
		}
		if err := c.matrix(ctx, name); err != nil {
			return err
		}
	}
	final := func(tx *Tx) error {
		for _, name := range indexed {
			// The values are the same, and so are the entries of the index.
			if err := tx.SetIndexed(name, true); err != nil {
				return err
			}
		}
		return nil
	}
	return bulk.commit(final, s.mergeAll)
}

// mergeAll merges the tables, so that records that were deleted give their room back. The caller holds the writer's lock.
func (s *Store) mergeAll() error {
	err := s.db.Mergeable()
	if err == nil {
		err = s.db.Flatten()
	}
	if err != nil {
		return fmt.Errorf("committed, but merging tables: %w", err)
	}
	return nil
}

// A compaction is what the steps of one Compact share.
type compaction struct {
	bulk     *Bulk
	progress Progress
}

// graph rewrites adjacency and dictionary under a new generation, which the draft then names.
func (c compaction) graph(ctx context.Context) error {
	tx, draft := c.bulk.Tx(), c.bulk.draft
	if tx.cat.LoadedNodes == tx.cat.Nodes && tx.cat.EdgeDeltas == 0 {
		return nil
	}
	g, err := c.bulk.newGeneration()
	if err != nil {
		return err
	}
	draft.Graph = g
	draft.LoadedNodes, draft.EdgeDeltas = tx.cat.Nodes, 0
	if err := c.adjacency(ctx, draft.Graph); err != nil {
		return err
	}
	if err := c.positions(ctx, draft.Graph); err != nil {
		return err
	}
	dense, err := c.dense()
	if err != nil {
		return err
	}
	if draft.DenseIDs = dense; dense {
		return nil
	}
	return c.ids(ctx, draft.Graph)
}

func (c compaction) adjacency(ctx context.Context, g record.Generation) error {
	tx := c.bulk.Tx()
	blocks, err := tx.AdjacencyBlocks()
	if err != nil {
		return err
	}
	w := newAdjacencyWriter(c.bulk.batch.Put, g, tx.cat.arcForm())
	var lists Adjacency
	for _, r := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.progress("adjacency", int64(r.First), int64(tx.NumNodes()))
		if err := tx.readLists(r, &lists); err != nil {
			return err
		}
		for v := r.First; v < r.End; v++ {
			if err := w.append(lists.Of(v), lists.arcsOf(v)); err != nil {
				return err
			}
		}
	}
	return w.close()
}

// positions rewrites both directions between position and NodeID, which are the same number for nodes added later.
func (c compaction) positions(ctx context.Context, g record.Generation) error {
	tx := c.bulk.Tx()
	for _, k := range []record.Kind{record.KindNodeAt, record.KindPosition} {
		w := numberWriter{put: c.bulk.batch.Put, kind: k, generation: g}
		var block []uint32
		var err error
		for first := 0; first < tx.cat.LoadedNodes; first += numbersPerBlock {
			if err := ctx.Err(); err != nil {
				return err
			}
			if block, err = tx.numbers(k, first/numbersPerBlock, block[:0]); err != nil {
				return err
			}
			for _, n := range block {
				if err := w.append(n); err != nil {
					return err
				}
			}
		}
		for v := tx.cat.LoadedNodes; v < tx.cat.Nodes; v++ {
			if err := w.append(uint32(v)); err != nil {
				return err
			}
		}
		if err := w.close(); err != nil {
			return err
		}
	}
	return nil
}

// dense reports whether each id is its position.
func (c compaction) dense() (bool, error) {
	tx := c.bulk.Tx()
	if !tx.cat.DenseIDs && tx.cat.LoadedNodes > 0 {
		return false, nil
	}
	ids := tx.newIDReader()
	for v := tx.cat.LoadedNodes; v < tx.cat.Nodes; v++ {
		id, err := ids.at(NodeID(v))
		if err != nil || id != strconv.Itoa(v) {
			return false, err
		}
	}
	return true, nil
}

func (c compaction) ids(ctx context.Context, g record.Generation) (err error) {
	tx := c.bulk.Tx()
	w := newIDWriter(c.bulk.batch.Put, g, c.bulk.Dir(), c.bulk.SortMemory())
	defer func() { err = errors.Join(err, w.close()) }()
	ids := tx.newIDReader()
	for position := range tx.cat.Nodes {
		if position%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.progress("ids", int64(position), int64(tx.cat.Nodes))
		}
		id, err := ids.atPosition(position)
		if err != nil {
			return err
		}
		if err := w.append(id); err != nil {
			return err
		}
	}
	return w.finish(ctx)
}

func (c compaction) column(ctx context.Context, column Column) error {
	tx := c.bulk.Tx()
	w, err := c.bulk.Column(column.Name, column.Kind)
	if err != nil {
		return err
	}
	r, err := tx.Reader(column.Name)
	if err != nil {
		return err
	}
	for v := range tx.NumNodes() {
		if v%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.progress("column "+column.Name, int64(v), int64(tx.NumNodes()))
		}
		value, err := r.At(NodeID(v))
		if err != nil {
			return err
		}
		if err := w.Put(NodeID(v), value); err != nil {
			return err
		}
	}
	return nil
}

func (c compaction) matrix(ctx context.Context, name string) error {
	tx := c.bulk.Tx()
	m, err := tx.Matrix(name)
	if err != nil {
		return err
	}
	w, err := c.bulk.EncodedMatrix(name, m.Columns(), m.Encoding())
	if err != nil {
		return err
	}
	height := int(tx.cat.Matrices[name].BlockRows)
	rows := make([]float32, 0, min(height, tx.NumNodes())*m.Width())
	for first := 0; first < tx.NumNodes(); first += height {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.progress("matrix "+name, int64(first), int64(tx.NumNodes()))
		r := Range{NodeID(first), NodeID(min(first+height, tx.NumNodes()))}
		rows = rows[:r.Len()*m.Width()]
		if err := m.Read(r, 0, m.Width(), rows); err != nil {
			return err
		}
		for i := range r.Len() {
			row := rows[i*m.Width() : (i+1)*m.Width()]
			if isUnwritten(row) {
				continue
			}
			if err := w.Put(r.First+NodeID(i), row); err != nil {
				return err
			}
		}
	}
	return nil
}

// isUnwritten reports whether a row is all NaN, as a row that was never written is read.
func isUnwritten(row []float32) bool {
	for _, x := range row {
		if !math.IsNaN(float64(x)) {
			return false
		}
	}
	return true
}
