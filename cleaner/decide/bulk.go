package decide

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// writeInBulk is WriteSteps for more than a transaction holds. The drafts are sorted by their nodes, so that the
// columns are read and written in order; the entries that they become are sorted into the history. Memory holds what
// the sorters do.
func writeInBulk(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (entries Entries, err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return entries, err
	}
	defer b.Abort()
	drafts, history, columns := b.Sorter(), b.Sorter(), changedColumns(b)
	defer func() {
		err = errors.Join(err, drafts.Close(), history.Close())
		for _, c := range columns {
			err = errors.Join(err, c.close())
		}
	}()
	var body []byte
	w, err := newStepWriter(ctx, b.Tx(), func(d draft) error {
		body = d.appendDraft(body[:0])
		return drafts.Add(nodeKey(d.Node, d.Seq), body)
	})
	if err != nil {
		return entries, err
	}
	if err := name(w); err != nil {
		return entries, err
	}
	var last *draft // about the node that comes next in the columns
	setLast := func() error {
		if last == nil || last.isRemoved {
			return nil
		}
		for _, c := range columns {
			if err := c.set(ctx, last); err != nil {
				return err
			}
		}
		return nil
	}
	entries, err = w.complete(ctx, readDrafts(ctx, drafts), func(d *draft) error {
		if last != nil && last.Node == d.Node {
			d.unscored = d.unscored || last.unscored
		} else if err := setLast(); err != nil {
			return err
		}
		last = d
		body = d.append(body[:0])
		return errors.Join(history.Add(entryKey(d.Seq), body), history.Add(nodeKey(d.Node, d.Seq), nil))
	})
	if err == nil {
		err = setLast()
	}
	if err != nil {
		return entries, err
	}
	for _, c := range columns {
		if err := c.finish(ctx); err != nil {
			return entries, err
		}
	}
	copied := 0
	for e, err := range b.Tx().Space(historySpace).Ascend(nil) {
		if copied++; err == nil && copied%lookEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = history.Add(e.Key, e.Value)
		}
		if err != nil {
			return entries, err
		}
	}
	put, err := b.Space(historySpace)
	if err != nil {
		return entries, err
	}
	for record, err := range history.Records(ctx) {
		if err == nil {
			err = put(record.Key, record.Value)
		}
		if err != nil {
			return entries, err
		}
	}
	return entries, b.Commit(func(tx *kv.Tx) error {
		for _, c := range columns {
			if err := c.mark(tx); err != nil {
				return err
			}
		}
		return errors.Join(index.CopyHeads(tx), tx.Space(historySpace).KeepTwice())
	})
}

// A changedColumn is a column in a kv.Bulk. It is written anew, with its index, from the first value on that changes.
type changedColumn struct {
	entryColumn
	bulk *kv.Bulk

	before func(kv.NodeID) (kv.Value, error) // nil before the first entry
	out    *kv.ColumnWriter                  // nil before the first change
	index  *index.Builder                    // nil if there is none
	next   kv.NodeID                         // to be written
}

// changedColumns are the columns that entries change.
func changedColumns(b *kv.Bulk) (columns []*changedColumn) {
	for _, of := range entryColumns {
		columns = append(columns, &changedColumn{entryColumn: of, bulk: b})
	}
	return columns
}

// set sets the value of a node after those that were set before.
func (c *changedColumn) set(ctx context.Context, d *draft) (err error) {
	if c.before == nil {
		if c.before, err = readColumn(c.bulk.Tx(), c.name); err != nil {
			return err
		}
	}
	before, err := c.before(d.Node)
	if err != nil {
		return err
	}
	value := before
	if c.name != ScoreColumn || d.unscored {
		value = c.value(d)
	}
	if c.holds(before, value) {
		return nil
	}
	if c.out == nil {
		if c.out, err = c.bulk.Column(c.name, c.kind); err != nil {
			return err
		}
		if old, _ := c.bulk.Tx().Column(c.name); old.Indexed {
			if c.index, err = index.NewBuilder(c.bulk, c.name); err != nil {
				return err
			}
		}
	}
	if err := c.copyUpTo(ctx, d.Node); err != nil {
		return err
	}
	return c.put(value)
}

// copyUpTo writes the nodes before one as they were.
func (c *changedColumn) copyUpTo(ctx context.Context, end kv.NodeID) error {
	for c.next < end {
		value, err := c.before(c.next)
		if err == nil && c.next%lookEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = c.put(value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *changedColumn) put(value kv.Value) error {
	v := c.next
	c.next++
	if c.index != nil {
		if err := c.index.Add(v, value); err != nil {
			return err
		}
	}
	return c.out.Put(v, value)
}

// finish writes the nodes after the last one that was set.
func (c *changedColumn) finish(ctx context.Context) error {
	if c.out == nil {
		return nil
	}
	err := c.copyUpTo(ctx, kv.NodeID(c.bulk.Tx().NumNodes()))
	if err == nil && c.index != nil {
		err = c.index.Finish()
	}
	return err
}

// mark has the catalogue name the index.
func (c *changedColumn) mark(tx *kv.Tx) error {
	if c.index == nil {
		return nil
	}
	return c.index.Mark(tx)
}

func (c *changedColumn) close() error {
	if c.index == nil {
		return nil
	}
	return c.index.Close()
}

// Flags of a draft on its way through a sorter.
const (
	flagShown = 1 << iota
	flagUnscored
)

// appendDraft adds the draft to b: flags, the suggestion, and the record.
func (d *draft) appendDraft(b []byte) []byte {
	flags := int64(0)
	if d.isShown {
		flags |= flagShown
	}
	if d.unscored {
		flags |= flagUnscored
	}
	return d.append(appendText(binary.AppendVarint(b, flags), d.suggestion))
}

// readDrafts yields the drafts of a sorter, by node.
func readDrafts(ctx context.Context, sorter *spill.Sorter) iter.Seq2[*draft, error] {
	return func(yield func(*draft, error) bool) {
		for record, err := range sorter.Records(ctx) {
			var d draft
			if err == nil {
				_, seq, _ := parseNodeKey(record.Key)
				r := recordReader{b: record.Value}
				flags := r.number()
				d.isShown, d.unscored, d.suggestion = flags&flagShown != 0, flags&flagUnscored != 0, string(r.take(r.number()))
				d.historyRecord, err = parseDecision(seq, r.b)
			}
			if !yield(&d, err) || err != nil {
				return
			}
		}
	}
}
