package decide

import (
	"errors"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An updater makes entries in one transaction.
type updater struct {
	tx     *kv.Tx
	step   int64 // that inStep is of
	inStep *roaring.Bitmap
	change *ChangedError // once a node was not as shown; nothing is written from then on
}

// take makes an entry.
func (u *updater) take(d draft) error {
	if d.Step != u.step {
		u.step = d.Step
		u.inStep.Clear()
	}
	if !u.inStep.CheckedAdd(uint32(d.Node)) {
		return naming.Node(u.tx, d.Node, ErrDecidedTwice)
	}
	id, err := u.tx.ID(d.Node)
	if errors.Is(err, kv.ErrNotFound) && d.Undoes != 0 { // it was removed
		return u.putEntry(d)
	}
	if err != nil {
		return err
	}
	facts, err := readFacts(id, func(column string) (kv.Value, error) { return valueOrNull(u.tx, d.Node, column) })
	if err != nil {
		return naming.Node(u.tx, d.Node, err)
	}
	err = d.complete(&facts)
	if change, ok := errors.AsType[*ChangedError](err); ok {
		if u.change == nil {
			u.change = &ChangedError{}
		}
		u.change.join(change)
		return nil
	}
	if u.change != nil {
		return nil //nolint:nilerr // the nodes that have changed are told of
	}
	if err != nil {
		return err
	}
	return u.put(d)
}

// put writes an entry, and what it changes of its node.
func (u *updater) put(d draft) error {
	if d.From != d.To {
		if err := u.tx.SetLabel(d.Node, d.To); err != nil {
			return err
		}
	}
	if d.unscored {
		if err := u.tx.SetValue(d.Node, ScoreColumn, kv.Value{}); err != nil {
			return err
		}
	}
	if _, there := u.tx.Column(Column); !there {
		if err := u.tx.AddColumn(Column, kv.KindString); err != nil {
			return err
		}
	}
	if err := u.tx.SetValue(d.Node, Column, d.After.value()); err != nil {
		return err
	}
	return u.putEntry(d)
}

// putEntry writes an entry alone.
func (u *updater) putEntry(d draft) error {
	history := u.tx.Space(historySpace)
	if err := history.KeepTwice(); err != nil {
		return err
	}
	if err := history.Put(entryKey(d.Seq), d.append(nil)); err != nil {
		return err
	}
	return history.Put(nodeKey(d.Node, d.Seq), nil)
}

// value is the kind as Column has it.
func (k Kind) value() kv.Value {
	if k == None {
		return kv.Value{}
	}
	return kv.StringValue(k.String())
}
