package decide

import (
	"context"
	"errors"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/kv"
)

// An updater makes entries in one transaction.
type updater struct {
	ctx      context.Context
	tx       *kv.Tx
	step     int64 // that inStep is of
	inStep   *roaring.Bitmap
	change   *ChangedError // once a node was not as shown; nothing is written from then on
	disputed int64         // counts the entries after which their node is disputed

	standing map[kv.NodeID]*standing  // of the nodes that u has decided on
	before   *kv.Tx                   // a snapshot of what is committed, in which entries are found faster
	last     int64                    // the newest entry that tx saw before those of u
	waiting  map[kv.NodeID][]Decision // entries up to last that before lacks: of Updates that wait for their commit; nil: not read yet
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
	if err == nil && u.standing[d.Node] == nil {
		u.standing[d.Node], err = u.readStanding(d.Node, facts.decision)
	}
	if err != nil {
		return naming.Node(u.tx, d.Node, err)
	}
	facts.standing = u.standing[d.Node]
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
	if d.Disputed {
		u.disputed++
	}
	return u.put(d, facts.standing.decidedBy())
}

// readStanding reads the standing decisions about a node that u has not decided on, which there are only if one is in
// force.
func (u *updater) readStanding(v kv.NodeID, inForce Kind) (*standing, error) {
	if inForce == None {
		return &standing{}, nil
	}
	if err := u.readWaiting(); err != nil {
		return nil, err
	}
	s, err := readStanding(u.ctx, u.before, v)
	for _, d := range u.waiting[v] {
		s.add(d)
	}
	return s, err
}

// readWaiting reads the entries that tx saw at first and before does not, once.
func (u *updater) readWaiting() error {
	if u.waiting != nil {
		return nil
	}
	committed, err := Newest(u.before)
	if err != nil {
		return err
	}
	u.waiting = map[kv.NodeID][]Decision{}
	if committed == u.last {
		return nil
	}
	for d, err := range historyRecords(u.ctx, u.tx, committed+1) {
		if err != nil {
			return err
		}
		u.waiting[d.Node] = append(u.waiting[d.Node], d.Decision)
		if d.Seq == u.last {
			break
		}
	}
	return nil
}

// put writes an entry, and what it changes of its node.
func (u *updater) put(d draft, decidedBy kv.Value) error {
	if d.From != d.Label {
		if err := u.tx.SetLabel(d.Node, d.Label); err != nil {
			return err
		}
	}
	if d.unscored {
		if err := u.tx.SetValue(d.Node, ScoreColumn, kv.Value{}); err != nil {
			return err
		}
	}
	if err := setValue(u.tx, d.Node, Column, d.After.value()); err != nil {
		return err
	}
	if err := setValue(u.tx, d.Node, DecidedByColumn, decidedBy); err != nil {
		return err
	}
	if err := setValue(u.tx, d.Node, DisputedColumn, disputedValue(d.Disputed)); err != nil {
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

// disputedValue is what DisputedColumn has.
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
