package kv

import (
	"context"
	"encoding/binary"
	"errors"
)

// errTried takes the changes of a Patch back after somebody has looked at them.
var errTried = errors.New("kv: the patch was tried")

// Try makes the changes as Commit does, calls look in the transaction that would make them visible, and takes all of them back. The
// store is then as it was. labelled are the nodes to which the rows of nodes give a label that they do not have, added nodes among
// them, ascending; there are none without PatchOptions.Labels. An error of a row is that of Commit, and then look is not called. Other
// writers wait until look returns. Like Commit, Try ends the Patch. The Tx is for look's goroutine only.
func (p *Patch) Try(ctx context.Context, look func(tx *Tx, labelled []NodeID) error) error {
	p.look = look
	_, err := p.Commit(ctx)
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// end is the last step in the transaction that makes the changes visible.
func (r *resolvedPatch) end(ctx context.Context, tx *Tx) error {
	if r.opt.Finish != nil {
		if err := r.opt.Finish(tx); err != nil {
			return err
		}
	}
	if r.look == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	labelled, err := r.labelled(ctx)
	if err == nil {
		err = r.look(tx, labelled)
	}
	if err == nil {
		err = errTried
	}
	return err
}

// labelled are the nodes that get a label that they do not have.
func (r *resolvedPatch) labelled(ctx context.Context) (nodes []NodeID, err error) {
	if !r.opt.Labels {
		return nil, nil
	}
	for rec, err := range r.known.Records(ctx) {
		if err != nil {
			return nil, err
		}
		row, err := parseRow(rec.Value)
		if err != nil {
			return nil, err
		}
		v := NodeID(binary.BigEndian.Uint64(rec.Key))
		label, err := r.tx.Value(v, LabelColumn)
		if err != nil {
			return nil, err
		}
		if row.Label != "" && label != StringValue(row.Label) {
			nodes = append(nodes, v)
		}
	}
	for rec, err := range r.added.Records(ctx) {
		if err != nil {
			return nil, err
		}
		row, err := parseRow(rec.Value)
		if err != nil {
			return nil, err
		}
		if row.Label != "" {
			nodes = append(nodes, NodeID(r.tx.cat.Nodes)+NodeID(r.ranks[row.Row]))
		}
	}
	return nodes, nil
}
