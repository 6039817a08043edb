package decide

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// writeInBulk is WriteSteps for more than a transaction holds. The drafts are sorted by their nodes, so that the
// columns are read and written in order; the entries that they become are sorted again for the history. Memory holds
// what the sorters do.
func writeInBulk(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (_ Entries, err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return Entries{}, err
	}
	defer b.Abort()
	w := bulkWriter{ctx: ctx, bulk: b, drafts: b.Sorter(), made: b.Sorter(), entries: b.Sorter()}
	defer func() { err = errors.Join(err, w.close()) }()
	steps, err := newStepWriter(ctx, b.Tx(), func(d draft) error { return w.add(w.drafts, &d) })
	if err != nil {
		return Entries{}, err
	}
	if err := name(steps); err != nil {
		return Entries{}, err
	}
	entries := steps.entries()
	if entries.Disputed, err = complete(ctx, b.Tx(), w.each(w.drafts), w.keep); err != nil {
		return Entries{}, err
	}
	if err := w.columns(); err != nil {
		return Entries{}, err
	}
	if err := w.history(); err != nil {
		return Entries{}, err
	}
	return entries, b.Commit(w.mark)
}

// A bulkWriter writes entries in a kv.Bulk.
type bulkWriter struct {
	ctx     context.Context
	bulk    *kv.Bulk
	drafts  *spill.Sorter // by nodeKey
	made    *spill.Sorter // of drafts: entries, by nodeKey
	entries *spill.Sorter // the same by Seq, as the history has them
	indexes []*index.Builder
	body    []byte // scratch

	relabelled, unscored, disputes bool // some node is, or was
}

func (w *bulkWriter) close() (err error) {
	for _, b := range w.indexes {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, w.drafts.Close(), w.made.Close(), w.entries.Close())
}

// mark is the final of the commit.
func (w *bulkWriter) mark(tx *kv.Tx) error {
	for _, b := range w.indexes {
		if err := b.Mark(tx); err != nil {
			return err
		}
	}
	return errors.Join(index.CopyHeads(tx), tx.Space(historySpace).KeepTwice())
}

// add hands a draft, or the entry made of it, to a sorter.
func (w *bulkWriter) add(to *spill.Sorter, d *draft) error {
	w.body = d.appendDraft(w.body[:0])
	return to.Add(nodeKey(d.Node, d.Seq), w.body)
}

// each yields what add has handed to a sorter, by node.
func (w *bulkWriter) each(sorter *spill.Sorter) iter.Seq2[*draft, error] {
	return func(yield func(*draft, error) bool) {
		for record, err := range sorter.Records(w.ctx) {
			var d draft
			if err == nil {
				d, err = parseDraft(record)
			}
			if !yield(&d, err) || err != nil {
				return
			}
		}
	}
}

// keep keeps an entry.
func (w *bulkWriter) keep(d *draft) error {
	w.relabelled, w.unscored = w.relabelled || d.From != d.Label, w.unscored || d.unscored
	w.disputes = w.disputes || d.Disputed || d.WasDisputed
	if err := w.add(w.made, d); err != nil {
		return err
	}
	w.body = d.append(w.body[:0])
	return w.entries.AddUint64(uint64(d.Seq), w.body)
}

// last yields the last entry about each node. It is unscored if one of them is.
func (w *bulkWriter) last() iter.Seq2[*draft, error] {
	return func(yield func(*draft, error) bool) {
		var last *draft
		for d, err := range w.each(w.made) {
			if err != nil {
				yield(nil, err)
				return
			}
			if last != nil && last.Node == d.Node {
				d.unscored = d.unscored || last.unscored
			} else if last != nil && !yield(last, nil) {
				return
			}
			last = d
		}
		if last != nil {
			yield(last, nil)
		}
	}
}

// columns rewrites the columns in which something changes.
func (w *bulkWriter) columns() error {
	all, none := func(*draft) bool { return true }, func(*draft) kv.Value { return kv.Value{} }
	scores, scored := w.bulk.Tx().Column(ScoreColumn)
	for _, c := range []struct {
		name    string
		kind    kv.Kind
		changes bool
		of      func(*draft) bool // whose value is another
		value   func(*draft) kv.Value
	}{
		{kv.LabelColumn, kv.KindClass, w.relabelled, all, func(d *draft) kv.Value { return labelValue(d.Label) }},
		{ScoreColumn, scores.Kind, w.unscored && scored, func(d *draft) bool { return d.unscored }, none},
		{DisputedColumn, kv.KindBool, w.disputes, all, func(d *draft) kv.Value { return disputedValue(d.Disputed) }},
		{DecidedByColumn, kv.KindString, true, all, func(d *draft) kv.Value { return d.decidedBy }},
		{Column, kv.KindString, true, all, func(d *draft) kv.Value { return d.After.value() }},
	} {
		if !c.changes {
			continue
		}
		if err := w.column(c.name, c.kind, c.of, c.value); err != nil {
			return err
		}
	}
	return nil
}

// labelValue is a label as the column has it.
func labelValue(label string) kv.Value {
	if label == "" {
		return kv.Value{}
	}
	return kv.ValueOf(label)
}

// column rewrites a column, and its index where it has one, with the values of some of the last entries.
func (w *bulkWriter) column(name string, kind kv.Kind, of func(*draft) bool, value func(*draft) kv.Value) error {
	tx := w.bulk.Tx()
	old, there := tx.Column(name)
	out, err := w.bulk.Column(name, kind)
	if err != nil {
		return err
	}
	put := out.Put
	if old.Indexed {
		entries, err := index.NewBuilder(w.bulk, name)
		if err != nil {
			return err
		}
		w.indexes = append(w.indexes, entries)
		put = func(v kv.NodeID, value kv.Value) error { return errors.Join(out.Put(v, value), entries.Add(v, value)) }
	}
	before := func(kv.NodeID) (kv.Value, error) { return kv.Value{}, nil }
	if there {
		reader, err := tx.Reader(name)
		if err != nil {
			return err
		}
		before = reader.At
	}
	next, stop := iter.Pull2(w.last())
	defer stop()
	d, err, more := next()
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return err
		}
		isNew := more && d.Node == v && of(d)
		var is kv.Value
		if isNew {
			is = value(d)
		} else if is, err = before(v); err != nil {
			return err
		}
		if err := put(v, is); err != nil {
			return err
		}
		if more && d.Node == v {
			d, err, more = next()
		}
	}
	if err != nil || !old.Indexed {
		return err
	}
	return w.indexes[len(w.indexes)-1].Finish()
}

// history rewrites the history with the entries added at its end.
func (w *bulkWriter) history() error {
	put, err := w.bulk.Space(historySpace)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(w.bulk.Tx().Space(historySpace).Ascend(nil))
	defer stop()
	old, err, more := next()
	copies := 0
	copyUpTo := func(key []byte) error {
		for ; more && (key == nil || bytes.Compare(old.Key, key) < 0); old, err, more = next() {
			if copies++; err == nil && copies%lookEvery == 0 {
				err = w.ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("history: %w", err)
			}
			if err := put(old.Key, old.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if err := copyUpTo([]byte{entryTag + 1}); err != nil {
		return err
	}
	for record, err := range w.entries.Records(w.ctx) {
		if err != nil {
			return err
		}
		if err := put(entryKey(int64(binary.BigEndian.Uint64(record.Key))), record.Value); err != nil {
			return err
		}
	}
	for record, err := range w.drafts.Records(w.ctx) {
		if err != nil {
			return err
		}
		if err := errors.Join(copyUpTo(record.Key), put(record.Key, nil)); err != nil {
			return err
		}
	}
	return copyUpTo(nil)
}

// Flags of a draft on its way through a sorter.
const (
	flagUnscored = 1 << iota
	flagRemoved
	flagDecidedBy
	flagView
	flagDisputed // of the view
)

// appendDraft adds the draft to b: its historyRecord as on disk, with the length before it, and the rest.
func (d *draft) appendDraft(b []byte) []byte {
	record := d.append(nil)
	b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	view := d.view
	if view == nil {
		view = &View{}
	}
	flags := byte(0)
	for _, is := range []struct {
		flag byte
		set  bool
	}{
		{flagUnscored, d.unscored}, {flagRemoved, d.isRemoved}, {flagDecidedBy, !d.decidedBy.IsNull()},
		{flagView, d.view != nil}, {flagDisputed, view.Disputed},
	} {
		if is.set {
			flags |= is.flag
		}
	}
	b = binary.AppendVarint(append(b, flags, byte(view.Decision)), view.Run)
	for _, text := range []string{view.Label, view.Suggestion, d.decidedBy.Str()} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// parseDraft is the inverse of appendDraft, of the record of a sorter.
func parseDraft(record spill.Record) (d draft, err error) {
	_, seq, _ := parseNodeKey(record.Key)
	r := recordReader{b: record.Value}
	if d.historyRecord, err = parseDecision(seq, r.take(uint64(r.count()))); err != nil {
		return d, err
	}
	flags := r.byte()
	d.unscored, d.isRemoved = flags&flagUnscored != 0, flags&flagRemoved != 0
	view := &View{Decision: Kind(r.byte()), Disputed: flags&flagDisputed != 0, Run: r.varint()}
	view.Label, view.Suggestion = r.text(), r.text()
	if flags&flagView != 0 {
		d.view = view
	}
	if decidedBy := r.text(); flags&flagDecidedBy != 0 {
		d.decidedBy = kv.ValueOf(decidedBy)
	}
	if r.failed || len(r.b) > 0 {
		return d, corruptEntry(seq, "its draft has another length")
	}
	return d, nil
}
