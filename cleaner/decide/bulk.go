package decide

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/graphcleaner/graphcleaner/cleaner/internal/naming"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// writeEntriesBulk is WriteSteps for more than a transaction holds. The drafts are sorted by their nodes, so that the
// columns are read and written in order; the entries that they become are sorted again for the history. Memory holds
// what the sorters do.
func writeEntriesBulk(ctx context.Context, s *kv.Store, name func(w *StepWriter) error) (_ Entries, err error) {
	b, err := s.Bulk(ctx)
	if err != nil {
		return Entries{}, err
	}
	defer b.Abort()
	w := bulkWriter{
		bulk: b, drafts: b.Sorter(), entries: b.Sorter(),
		changes: b.Sorter(),
	}
	defer func() { err = errors.Join(err, w.close()) }()
	steps, err := newStepWriter(ctx, b.Tx(), w.take)
	if err != nil {
		return Entries{}, err
	}
	if err := name(steps); err != nil {
		return Entries{}, err
	}
	if err := w.complete(ctx); err != nil {
		return Entries{}, err
	}
	if err := w.columns(ctx); err != nil {
		return Entries{}, err
	}
	if err := w.history(ctx); err != nil {
		return Entries{}, err
	}
	if err := b.Commit(w.mark); err != nil {
		return Entries{}, err
	}
	entries := steps.entries()
	entries.Disputed = w.disputed
	return entries, nil
}

// A bulkWriter makes entries in a kv.Bulk.
type bulkWriter struct {
	bulk    *kv.Bulk
	drafts  *spill.Sorter // by nodeKey
	entries *spill.Sorter // by Seq, as the history has them
	changes *spill.Sorter // of nodes, by node
	indexes []*index.Builder
	body    []byte // scratch

	relabelled, unscored, disputes bool // some node is, or was

	disputed int64 // counts the entries after which their node is disputed
}

func (w *bulkWriter) close() (err error) {
	for _, b := range w.indexes {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, w.drafts.Close(), w.entries.Close(), w.changes.Close())
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

// take keeps a draft.
func (w *bulkWriter) take(d draft) error {
	w.body = d.appendDraft(w.body[:0])
	return w.drafts.Add(nodeKey(d.Node, d.Seq), w.body)
}

// complete makes entries of the drafts, and of the last about each node a change. Of several errors it returns that of
// the first draft.
func (w *bulkWriter) complete(ctx context.Context) error {
	facts, err := newFactReader(w.bulk.Tx())
	if err != nil {
		return err
	}
	people := newStandingReader(ctx, w.bulk.Tx())
	defer people.stop()
	var f nodeFacts
	step := int64(0) // of the last draft about the node whose facts f are
	var failures refusals
	change := nodeChange{node: kv.NoNode}
	for record, err := range w.drafts.Records(ctx) {
		if err != nil {
			return err
		}
		d, err := parseDraft(record)
		if err != nil {
			return err
		}
		twice := d.Node == change.node && d.Step == step
		if d.Node != change.node {
			if err := w.addChange(change); err != nil {
				return err
			}
			if f, err = facts.of(d.Node); err == nil && f.id != "" {
				f.standing, err = people.of(d.Node)
			}
			if err != nil {
				return naming.Node(w.bulk.Tx(), d.Node, err)
			}
			change = nodeChange{node: d.Node}
		}
		step = d.Step
		if twice {
			failures.add(d.Seq, fmt.Errorf("node %s: %w", f.id, ErrDecidedTwice))
			continue
		}
		if err := d.complete(&f); err != nil {
			failures.add(d.Seq, err)
			continue
		}
		if d.Disputed {
			w.disputed++
		}
		change.state = f.nodeState
		if f.standing != nil {
			change.decidedBy = f.standing.decidedBy()
		}
		change.relabelled = change.relabelled || d.From != d.Label
		change.disputes = change.disputes || d.Disputed || d.WasDisputed
		change.unscored = change.unscored || d.unscored
		w.body = d.append(w.body[:0])
		if err := w.entries.AddUint64(uint64(d.Seq), w.body); err != nil {
			return err
		}
	}
	if err := failures.err(); err != nil {
		return err
	}
	return w.addChange(change)
}

// refusals are the drafts that cannot be entries: the first, and of those whose nodes have changed the first few.
type refusals struct {
	seq   int64 // of first
	first error
	few   []refusal // ascending
	count int64     // of the nodes that have changed
}

type refusal struct {
	seq  int64
	node ChangedNode
}

func (r *refusals) add(seq int64, err error) {
	if r.first == nil || seq < r.seq {
		r.seq, r.first = seq, err
	}
	change, ok := errors.AsType[*ChangedError](err)
	if !ok {
		return
	}
	r.count++
	at := sort.Search(len(r.few), func(i int) bool { return r.few[i].seq > seq })
	r.few = slices.Insert(r.few, at, refusal{seq, change.First[0]})
	r.few = r.few[:min(len(r.few), maxChangedNodes)]
}

// err is the first error, and where that is of a node that has changed, one of all these.
func (r *refusals) err() error {
	if _, ok := errors.AsType[*ChangedError](r.first); !ok {
		return r.first
	}
	all := &ChangedError{Count: r.count}
	for _, few := range r.few {
		all.First = append(all.First, few.node)
	}
	return all
}

// A factReader reads the facts of nodes in ascending order.
type factReader struct {
	ids     *kv.ColumnReader
	columns map[string]*kv.ColumnReader // of columns that are there
}

func newFactReader(tx *kv.Tx) (*factReader, error) {
	r := &factReader{columns: map[string]*kv.ColumnReader{}}
	var err error
	if r.ids, err = tx.Reader("id"); err != nil {
		return nil, err
	}
	for _, name := range []string{kv.LabelColumn, Column, SuggestedColumn, RunColumn, ScoreColumn, DisputedColumn} {
		if _, there := tx.Column(name); !there {
			continue
		}
		if r.columns[name], err = tx.Reader(name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *factReader) of(v kv.NodeID) (nodeFacts, error) {
	id, err := r.ids.At(v)
	if err != nil {
		return nodeFacts{}, err
	}
	return readFacts(id.String(), func(column string) (kv.Value, error) {
		if reader := r.columns[column]; reader != nil {
			return reader.At(v)
		}
		return kv.Value{}, nil
	})
}

// A nodeChange is what decisions make of a node.
type nodeChange struct {
	node                 kv.NodeID
	state                nodeState
	decidedBy            kv.Value
	relabelled, unscored bool
	disputes             bool // it is disputed, or was
}

// Flags of a change and of a draft.
const (
	flagRelabelled = 1 << iota
	flagUnscored
	flagView
	flagDisputes
	flagDisputed
	flagDecidedBy
)

// addChange keeps the change of a node, in the order of nodes; none of kv.NoNode.
func (w *bulkWriter) addChange(c nodeChange) error {
	if c.node == kv.NoNode {
		return nil
	}
	flags := byte(0)
	for flag, set := range map[byte]bool{
		flagRelabelled: c.relabelled, flagUnscored: c.unscored, flagDisputes: c.disputes, flagDisputed: c.state.disputed,
		flagDecidedBy: !c.decidedBy.IsNull(),
	} {
		if set {
			flags |= flag
		}
	}
	w.relabelled, w.unscored, w.disputes = w.relabelled || c.relabelled, w.unscored || c.unscored, w.disputes || c.disputes
	w.body = binary.AppendUvarint(append(w.body[:0], flags, byte(c.state.decision)), uint64(len(c.state.label)))
	w.body = append(append(w.body, c.state.label...), c.decidedBy.Str()...)
	return w.changes.AddUint64(uint64(c.node), w.body)
}

// sortedChanges yields the changes, in the order of nodes.
func (w *bulkWriter) sortedChanges(ctx context.Context) iter.Seq2[nodeChange, error] {
	return func(yield func(nodeChange, error) bool) {
		for record, err := range w.changes.Records(ctx) {
			if err != nil {
				yield(nodeChange{}, err)
				return
			}
			r := recordReader{b: record.Value}
			flags := r.byte()
			c := nodeChange{
				node:       kv.NodeID(binary.BigEndian.Uint64(record.Key)),
				state:      nodeState{decision: Kind(r.byte()), label: r.text(), disputed: flags&flagDisputed != 0},
				relabelled: flags&flagRelabelled != 0, unscored: flags&flagUnscored != 0, disputes: flags&flagDisputes != 0,
			}
			if flags&flagDecidedBy != 0 {
				c.decidedBy = kv.ValueOf(string(r.b))
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// columns rewrites the columns in which something changes.
func (w *bulkWriter) columns(ctx context.Context) error {
	if w.relabelled {
		err := w.column(ctx, kv.LabelColumn, kv.KindClass, func(c nodeChange) (kv.Value, bool) {
			if c.state.label == "" {
				return kv.Value{}, c.relabelled
			}
			return kv.ValueOf(c.state.label), c.relabelled
		})
		if err != nil {
			return err
		}
	}
	if scores, there := w.bulk.Tx().Column(ScoreColumn); w.unscored && there {
		err := w.column(ctx, ScoreColumn, scores.Kind, func(c nodeChange) (kv.Value, bool) { return kv.Value{}, c.unscored })
		if err != nil {
			return err
		}
	}
	if w.disputes {
		err := w.column(ctx, DisputedColumn, kv.KindBool, func(c nodeChange) (kv.Value, bool) { return disputedValue(c.state.disputed), c.disputes })
		if err != nil {
			return err
		}
	}
	if err := w.column(ctx, DecidedByColumn, kv.KindString, func(c nodeChange) (kv.Value, bool) { return c.decidedBy, true }); err != nil {
		return err
	}
	return w.column(ctx, Column, kv.KindString, func(c nodeChange) (kv.Value, bool) {
		return c.state.decision.value(), true
	})
}

// column rewrites a column, and its index where it has one, with the values of the changes that are to it.
func (w *bulkWriter) column(ctx context.Context, name string, kind kv.Kind, of func(nodeChange) (kv.Value, bool)) error {
	tx := w.bulk.Tx()
	old, there := tx.Column(name)
	out, err := w.bulk.Column(name, kind)
	if err != nil {
		return err
	}
	var entries *index.Builder
	if old.Indexed {
		if entries, err = index.NewBuilder(w.bulk, name); err != nil {
			return err
		}
		w.indexes = append(w.indexes, entries)
	}
	var before *kv.ColumnReader
	if there {
		if before, err = tx.Reader(name); err != nil {
			return err
		}
	}
	next := kv.NodeID(0) // the first node without a value so far
	put := func(value kv.Value) error {
		if err := out.Put(next, value); err != nil {
			return err
		}
		if entries != nil {
			if err := entries.Add(next, value); err != nil {
				return err
			}
		}
		next++
		return nil
	}
	keepUpTo := func(end kv.NodeID) error {
		for next < end {
			if next%lookEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			var value kv.Value
			if before != nil {
				if value, err = before.At(next); err != nil {
					return err
				}
			}
			if err := put(value); err != nil {
				return err
			}
		}
		return nil
	}
	for c, err := range w.sortedChanges(ctx) {
		if err != nil {
			return err
		}
		value, isTo := of(c)
		if !isTo {
			continue
		}
		if err := keepUpTo(c.node); err != nil {
			return err
		}
		if err := put(value); err != nil {
			return err
		}
	}
	if err := keepUpTo(kv.NodeID(tx.NumNodes())); err != nil {
		return err
	}
	if entries == nil {
		return nil
	}
	return entries.Finish()
}

// history rewrites the history with the entries added at its end.
func (w *bulkWriter) history(ctx context.Context) error {
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
				err = ctx.Err()
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
	for record, err := range w.entries.Records(ctx) {
		if err != nil {
			return err
		}
		if err := put(entryKey(int64(binary.BigEndian.Uint64(record.Key))), record.Value); err != nil {
			return err
		}
	}
	for record, err := range w.drafts.Records(ctx) {
		if err != nil {
			return err
		}
		if err := errors.Join(copyUpTo(record.Key), put(record.Key, nil)); err != nil {
			return err
		}
	}
	return copyUpTo(nil)
}

// appendDraft adds the draft to b: what a historyRecord is on disk, with its length before it, and the rest.
func (d *draft) appendDraft(b []byte) []byte {
	record := d.append(nil)
	b = append(binary.AppendUvarint(b, uint64(len(record))), record...)
	flags := byte(0)
	if d.unscored {
		flags |= flagUnscored
	}
	if d.view == nil {
		return append(b, flags)
	}
	if d.view.Disputed {
		flags |= flagDisputed
	}
	b = append(b, flags|flagView, byte(d.view.Decision))
	b = binary.AppendVarint(b, d.view.Run)
	for _, text := range []string{d.view.Label, d.view.Suggestion} {
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
	d.unscored = flags&flagUnscored != 0
	if flags&flagView != 0 {
		d.view = &View{Decision: Kind(r.byte()), Disputed: flags&flagDisputed != 0, Run: r.varint()}
		d.view.Label, d.view.Suggestion = r.text(), r.text()
	}
	if r.failed || len(r.b) > 0 {
		return d, corruptEntry(seq, "its draft has another length")
	}
	return d, nil
}
