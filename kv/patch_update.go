package kv

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// update makes the changes in one transaction.
func (r *resolvedPatch) update(ctx context.Context, tx *Tx) error {
	for _, step := range []func(context.Context, *Tx) error{r.addColumns, r.updateNodes, r.updateEdges, r.updateRemovals, r.updateRows, r.end} {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// end is the last step in the transaction that makes the changes visible.
func (r *resolvedPatch) end(ctx context.Context, tx *Tx) error {
	if r.opt.Finish != nil {
		if err := r.opt.Finish(tx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// addColumns adds the columns that the store does not have.
func (r *resolvedPatch) addColumns(_ context.Context, tx *Tx) error {
	for _, column := range r.opt.Properties {
		if _, there := tx.Column(column.Name); there {
			continue
		}
		if err := tx.AddColumn(column.Name, column.Kind); err != nil {
			return err
		}
	}
	return nil
}

// parseRow reads a row of a sorter.
func parseRow(body []byte) (row patchNode, err error) {
	err = msgpack.Unmarshal(body, &row)
	return row, err
}

func (r *resolvedPatch) updateNodes(ctx context.Context, tx *Tx) error {
	for rec, err := range r.known.Records(ctx) {
		if err != nil {
			return err
		}
		row, err := parseRow(rec.Value)
		if err != nil {
			return err
		}
		if err := r.setValues(tx, NodeID(binary.BigEndian.Uint64(rec.Key)), &row); err != nil {
			return err
		}
	}
	for rec, err := range r.added.Records(ctx) {
		if err != nil {
			return err
		}
		row, err := parseRow(rec.Value)
		if err != nil {
			return err
		}
		v, err := tx.AddNode(Node{ID: row.ID})
		if err != nil {
			return err
		}
		if err := r.setValues(tx, v, &row); err != nil {
			return err
		}
	}
	return nil
}

// setValues gives a node the label and the values of a row.
func (r *resolvedPatch) setValues(tx *Tx, v NodeID, row *patchNode) error {
	if r.opt.Labels {
		if err := tx.SetLabel(v, row.Label); err != nil {
			return fmt.Errorf("node %q: %w", row.ID, err)
		}
	}
	for i, value := range row.Values {
		if err := tx.SetValue(v, r.opt.Properties[i].Name, value); err != nil {
			return fmt.Errorf("node %q: %w", row.ID, err)
		}
	}
	return nil
}

func (r *resolvedPatch) updateEdges(ctx context.Context, tx *Tx) error {
	for c, err := range r.changes(ctx) {
		if err != nil {
			return err
		}
		if c.back {
			continue
		}
		p, err := tx.pairForWrite(c.node, c.neighbor)
		if err != nil {
			return err
		}
		r.count(c, p.Weight())
		weight, err := r.after(c, p.Weight())
		if err == nil && weight != p.Weight() {
			err = tx.setWeight(p, weight)
		}
		if err != nil {
			return err
		}
	}
	r.stats.ParallelEdges = r.parallel()
	return r.bad.err()
}

// parallel is the number of rows that repeat an edge of another row.
func (r *resolvedPatch) parallel() int64 {
	return int64(r.edges) - r.stats.SelfLoops - r.stats.Edges - r.stats.Present - r.stats.RemovedEdges
}

func (r *resolvedPatch) updateRemovals(ctx context.Context, tx *Tx) error {
	edges, arcs := tx.cat.Edges, tx.cat.Arcs
	if err := tx.removeNodes(ctx, r.removals, removedAhead); err != nil {
		return err
	}
	if tx.cat.Directed {
		r.stats.RemovedEdges += arcs - tx.cat.Arcs
	} else {
		r.stats.RemovedEdges += edges - tx.cat.Edges
	}
	return nil
}

func (r *resolvedPatch) updateRows(ctx context.Context, tx *Tx) error {
	if r.opt.Rows == nil {
		return nil
	}
	return r.opt.Rows(ctx, tx, tx.SetRow)
}
