package decide

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// draftBytes is the memory of a draft and of the decision that it becomes, about, if its reason is short.
const draftBytes = 700

// writeInBulk is WriteSteps for more than a transaction holds. It writes the columns anew, and sorts the entries into
// the history. Memory holds the drafts, up to half the budget of the store.
func writeInBulk(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (w *StepWriter, err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	history := b.Sorter()
	var indexes []*index.Builder
	defer func() {
		err = errors.Join(err, history.Close())
		for _, built := range indexes {
			err = errors.Join(err, built.Close())
		}
	}()
	most := int(8 * history.Limit() / draftBytes)
	if w, err = newStepWriter(ctx, b.Tx(), most); err != nil {
		return nil, err
	}
	if err := name(w); errors.Is(err, kv.ErrTxTooBig) {
		return nil, fmt.Errorf("the memory budget is for %d decisions at once: decide on fewer: %w", most, ErrOptions)
	} else if err != nil {
		return nil, err
	}
	if err := w.complete(); err != nil {
		return nil, err
	}
	var body []byte
	var last []*draft // about each node that is there
	for i, d := range w.drafts {
		body = d.append(body[:0])
		if err := errors.Join(history.Add(entryKey(d.Seq), body), history.Add(nodeKey(d.Node, d.Seq), nil)); err != nil {
			return nil, err
		}
		if isLast := i+1 == len(w.drafts) || w.drafts[i+1].Node != d.Node; isLast && !d.isRemoved {
			last = append(last, d)
		}
	}
	for _, column := range entryColumns {
		built, err := rewriteColumn(ctx, b, column, last)
		if built != nil {
			indexes = append(indexes, built)
		}
		if err != nil {
			return nil, err
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
			return nil, err
		}
	}
	put, err := b.Space(historySpace)
	if err != nil {
		return nil, err
	}
	for record, err := range history.Records(ctx) {
		if err == nil {
			err = put(record.Key, record.Value)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, b.Commit(func(tx *kv.Tx) error {
		for _, built := range indexes {
			if err := built.Mark(tx); err != nil {
				return err
			}
		}
		return errors.Join(index.CopyHeads(tx), tx.Space(historySpace).KeepTwice())
	})
}

// rewriteColumn writes a column anew, with its index, if the last drafts about nodes, which ascend, change it. The
// caller closes the index; nil: there is none.
func rewriteColumn(ctx context.Context, b *kv.Bulk, c entryColumn, last []*draft) (built *index.Builder, err error) {
	before, err := readColumn(b.Tx(), c.name)
	if err != nil {
		return nil, err
	}
	isSame := true
	for i := 0; i < len(last) && isSame; i++ {
		value, err := before(last[i].Node)
		if err == nil && i%lookEvery == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		isSame = c.holds(value, last[i])
	}
	if isSame {
		return nil, nil
	}
	out, err := b.Column(c.name, c.kind)
	if err != nil {
		return nil, err
	}
	if old, _ := b.Tx().Column(c.name); old.Indexed {
		if built, err = index.NewBuilder(b, c.name); err != nil {
			return nil, err
		}
	}
	for v := range kv.NodeID(b.Tx().NumNodes()) {
		value, err := before(v)
		if err == nil && v%lookEvery == 0 {
			err = ctx.Err()
		}
		if len(last) > 0 && last[0].Node == v {
			if !c.holds(value, last[0]) {
				value = c.value(last[0])
			}
			last = last[1:]
		}
		if err == nil {
			err = out.Put(v, value)
		}
		if err == nil && built != nil {
			err = built.Add(v, value)
		}
		if err != nil {
			return built, err
		}
	}
	if built != nil {
		err = built.Finish()
	}
	return built, err
}
