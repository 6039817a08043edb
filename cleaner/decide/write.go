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
func (w *StepWriter) complete(
	ctx context.Context, drafts iter.Seq2[*draft, error], use func(*draft) error,
) (Entries, error) {
	entries := w.entries
	nodes, err := NewReader(w.tx)
	if err != nil {
		return entries, err
	}
	people := entryReader{ctx: ctx, tx: w.tx}
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
			f, err = nodes.facts(d.Node)
			if f.standing = new(standing); err == nil && f.Decision != None {
				err = people.of(d.Node, f.standing)
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
	for _, column := range entryColumns {
		if column.name == ScoreColumn && !d.unscored {
			continue
		}
		if err := column.set(tx, d.Node, column.value(d)); err != nil {
			return err
		}
	}
	return nil
}

// An entryColumn is a column that entries change.
type entryColumn struct {
	name  string
	kind  kv.Kind
	value func(d *draft) kv.Value // after an entry; of ScoreColumn where the score goes
}

var entryColumns = [...]entryColumn{
	{kv.LabelColumn, kv.KindClass, func(d *draft) kv.Value { return textValue(d.Label) }},
	{ScoreColumn, kv.KindSingle, func(*draft) kv.Value { return kv.Value{} }},
	{Column, kv.KindString, func(d *draft) kv.Value { return textValue(d.After.String()) }},
	{DecidedByColumn, kv.KindString, func(d *draft) kv.Value { return d.decidedBy }},
	{DisputedColumn, kv.KindBool, func(d *draft) kv.Value {
		if !d.Disputed {
			return kv.Value{}
		}
		return kv.ValueOf(true)
	}},
}

// textValue is a text as a column has it; "" is null.
func textValue(text string) kv.Value {
	if text == "" {
		return kv.Value{}
	}
	return kv.ValueOf(text)
}

// holds reports whether a value of the column is the wanted one.
func (c *entryColumn) holds(value, want kv.Value) bool {
	return value == want || c.kind == kv.KindClass && value.Str() == want.Str()
}

// set sets the value of a node in the column, which need not be there yet. If the node has the value, nothing is
// written.
func (c *entryColumn) set(tx *kv.Tx, v kv.NodeID, value kv.Value) error {
	if _, there := tx.Column(c.name); !there {
		if value.IsNull() {
			return nil
		}
		if err := tx.AddColumn(c.name, c.kind); err != nil {
			return err
		}
	}
	old, err := tx.Value(v, c.name)
	switch {
	case err != nil || c.holds(old, value):
		return err
	case c.name == kv.LabelColumn:
		return tx.SetLabel(v, value.Str())
	}
	return tx.SetValue(v, c.name, value)
}
