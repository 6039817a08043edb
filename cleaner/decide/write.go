package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/kv"
)

// mostTogether bounds the decisions of a transaction, whose drafts wait in memory.
const mostTogether = 1 << 15

// writeTogether is WriteSteps in one transaction. If it cannot hold them, the error is kv.ErrTxTooBig.
func writeTogether(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (entries Entries, err error) {
	err = s.UpdateContext(ctx, func(tx *kv.Tx) error {
		var drafts []*draft
		w, err := newStepWriter(ctx, tx, func(d draft) error {
			if len(drafts) == mostTogether {
				return kv.ErrTxTooBig
			}
			drafts = append(drafts, &d)
			return nil
		})
		if err != nil {
			return err
		}
		if err := name(w); err != nil {
			return err
		}
		slices.SortStableFunc(drafts, func(a, b *draft) int { return cmp.Compare(a.Node, b.Node) })
		each := func(yield func(*draft, error) bool) {
			for _, d := range drafts {
				if !yield(d, nil) {
					return
				}
			}
		}
		if entries, err = w.complete(ctx, each, func(*draft) error { return nil }); err != nil {
			return err
		}
		for _, d := range drafts {
			if err := d.put(tx); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return entries, err
}

// complete makes entries of drafts and calls use with each. The drafts are sorted by node, then by number. Of several
// errors it returns that of the first draft.
func (w *StepWriter) complete(ctx context.Context, drafts iter.Seq2[*draft, error], use func(*draft) error) (Entries, error) {
	entries := w.entries
	nodes, err := NewReader(w.tx)
	if err != nil {
		return entries, err
	}
	people := standingReader{ctx: ctx, tx: w.tx}
	defer people.stop()
	var f nodeFacts
	node, step := kv.NoNode, int64(0) // of the draft before
	var failures refusals
	for d, err := range drafts {
		if err != nil {
			return entries, err
		}
		isTwice := d.Node == node && d.Step == step
		if d.Node != node {
			if f, err = nodes.facts(d.Node); err == nil {
				f.standing, err = people.inForce(d.Node, f.Decision)
			}
			if err != nil {
				return entries, naming.Node(w.tx, d.Node, err)
			}
		}
		node, step = d.Node, d.Step
		if err := ctx.Err(); err != nil {
			return entries, err
		}
		if isTwice {
			err = fmt.Errorf("node %s: %w", f.id, ErrDecidedTwice)
		} else {
			err = d.complete(&f)
		}
		if err != nil {
			failures.add(d.Seq, err)
			continue
		}
		if d.Disputed {
			entries.Disputed++
		}
		if err := use(d); err != nil {
			return entries, err
		}
	}
	return entries, failures.err()
}

// refusals are the drafts that cannot be entries.
type refusals struct {
	seq     int64 // of first
	first   error
	changed int64 // counts the nodes that are not as they were shown
}

func (r *refusals) add(seq int64, err error) {
	if r.first == nil || seq < r.seq {
		r.seq, r.first = seq, err
	}
	if errors.Is(err, ErrChanged) {
		r.changed++
	}
}

// err is the first error.
func (r *refusals) err() error {
	if change, ok := errors.AsType[*ChangedError](r.first); ok {
		change.Count = r.changed
	}
	return r.first
}

// put writes an entry, and the values of its node that it changes.
func (d *draft) put(tx *kv.Tx) error {
	history := tx.Space(historySpace)
	if err := history.KeepTwice(); err != nil {
		return err
	}
	if err := history.Put(entryKey(d.Seq), d.append(nil)); err != nil {
		return err
	}
	if err := history.Put(nodeKey(d.Node, d.Seq), nil); err != nil || d.isRemoved {
		return err
	}
	if d.From != d.Label {
		if err := tx.SetLabel(d.Node, d.Label); err != nil {
			return err
		}
	}
	if d.unscored {
		if err := tx.SetValue(d.Node, ScoreColumn, kv.Value{}); err != nil {
			return err
		}
	}
	if err := setValue(tx, d.Node, Column, d.After.value()); err != nil {
		return err
	}
	if err := setValue(tx, d.Node, DecidedByColumn, d.decidedBy); err != nil {
		return err
	}
	return setValue(tx, d.Node, DisputedColumn, disputedValue(d.Disputed))
}

// setValue sets the value of a node in a column of this package, which need not be there yet. If the node has the
// value, nothing is written.
func setValue(tx *kv.Tx, v kv.NodeID, column string, value kv.Value) error {
	if _, there := tx.Column(column); !there {
		if value.IsNull() {
			return nil
		}
		if err := tx.AddColumn(column, value.Kind()); err != nil {
			return err
		}
	}
	if old, err := tx.Value(v, column); err != nil || old == value {
		return err
	}
	return tx.SetValue(v, column, value)
}

// disputedValue is the value in DisputedColumn.
func disputedValue(disputed bool) kv.Value {
	if !disputed {
		return kv.Value{}
	}
	return kv.ValueOf(true)
}

// value is the kind as Column has it.
func (k Kind) value() kv.Value {
	if k == None {
		return kv.Value{}
	}
	return kv.ValueOf(k.String())
}
