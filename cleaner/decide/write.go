package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/kv"
)

// mostTogether bounds the decisions of a transaction.
const mostTogether = 1 << 15

// writeTogether is WriteSteps in one transaction. If it cannot hold them, the error is kv.ErrTxTooBig.
func writeTogether(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (w *StepWriter, err error) {
	err = s.UpdateContext(ctx, func(tx *kv.Tx) error {
		if w, err = newStepWriter(ctx, tx, mostTogether); err != nil {
			return err
		}
		if err := name(w); err != nil {
			return err
		}
		if err := w.complete(); err != nil {
			return err
		}
		for _, d := range w.drafts {
			if err := d.put(tx); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	return w, err
}

// complete makes entries of the drafts, and sorts them by node, then by number. Of several errors it returns that of
// the first draft.
func (w *StepWriter) complete() error {
	slices.SortStableFunc(w.drafts, func(a, b *draft) int { return cmp.Compare(a.Node, b.Node) })
	nodes, err := NewReader(w.tx)
	if err != nil {
		return err
	}
	people := entryReader{ctx: w.ctx, tx: w.tx}
	defer people.stop()
	var f nodeFacts
	node, step := kv.NoNode, int64(0) // of the draft before
	var failed *draft                 // the first that cannot be an entry
	var failure error                 // of it
	changed := int64(0)               // counts the nodes that are not as they were shown
	for _, d := range w.drafts {
		isTwice := d.Node == node && d.Step == step
		if d.Node != node {
			f, err = nodes.facts(d.Node)
			if err == nil && f.Decision != None {
				f.entries, err = people.of(d.Node)
			}
			if err != nil {
				return naming.Node(w.tx, d.Node, err)
			}
		}
		node, step = d.Node, d.Step
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if isTwice {
			err = fmt.Errorf("node %s is decided on twice in one step: %w", f.id, ErrOptions)
		} else {
			err = d.complete(&f)
		}
		if errors.Is(err, ErrChanged) {
			changed++
		}
		if err != nil && (failed == nil || d.Seq < failed.Seq) {
			failed, failure = d, err
		}
	}
	if change, ok := errors.AsType[*ChangedError](failure); ok {
		change.Count = changed
	}
	return failure
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
		if err := column.set(tx, d); err != nil {
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

// holds reports whether a value of the column is that after an entry.
func (c *entryColumn) holds(value kv.Value, d *draft) bool {
	want := c.value(d)
	return value == want || c.kind == kv.KindClass && value.Str() == want.Str() || c.name == ScoreColumn && !d.unscored
}

// set sets the value of a node in the column, which need not be there yet, to that after an entry about it. If the node
// has the value, nothing is written.
func (c *entryColumn) set(tx *kv.Tx, d *draft) error {
	value := c.value(d)
	if _, there := tx.Column(c.name); !there {
		if value.IsNull() {
			return nil
		}
		if err := tx.AddColumn(c.name, c.kind); err != nil {
			return err
		}
	}
	old, err := tx.Value(d.Node, c.name)
	switch {
	case err != nil || c.holds(old, d):
		return err
	case c.name == kv.LabelColumn:
		return tx.SetLabel(d.Node, value.Str())
	}
	return tx.SetValue(d.Node, c.name, value)
}
