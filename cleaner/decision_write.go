package cleaner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// writeEntries makes entries in one transaction, or where they do not fit into one, in a bulk write. In both it calls
// enter, which makes them.
func writeEntries(ctx context.Context, s *kv.Store, enter func(l *ledger) error) ([]Decision, error) {
	var made []Decision
	err := s.Update(func(tx *kv.Tx) error {
		l, err := newLedger(tx)
		if err != nil {
			return err
		}
		l.write = l.put
		if err := enter(l); err != nil {
			return err
		}
		made = l.made
		return nil
	})
	if errors.Is(err, kv.ErrTxTooBig) {
		return writeEntriesBulk(ctx, s, enter)
	}
	if err != nil {
		return nil, err
	}
	return made, nil
}

// put writes an entry, and what it changes of its node, in an update.
func (l *ledger) put(d historyRecord) error {
	if d.From != d.To {
		if err := l.tx.SetLabel(d.Node, d.To); err != nil {
			return err
		}
	}
	if d.Unscored {
		if err := l.tx.SetValue(d.Node, ScoreColumn, kv.Value{}); err != nil {
			return err
		}
	}
	if _, there := l.tx.Column(DecisionColumn); !there {
		if err := l.tx.AddColumn(DecisionColumn, kv.KindString); err != nil {
			return err
		}
	}
	if err := l.tx.SetValue(d.Node, DecisionColumn, d.After.value()); err != nil {
		return err
	}
	history := l.tx.Space(historySpace)
	if err := history.KeepTwice(); err != nil {
		return err
	}
	if err := history.Put(entryKey(d.Seq), d.append(nil)); err != nil {
		return err
	}
	return history.Put(nodeKey(d.Node, d.Seq), nil)
}

// value is the kind as DecisionColumn has it.
func (k DecisionKind) value() kv.Value {
	if k == NoDecision {
		return kv.Value{}
	}
	return kv.StringValue(k.String())
}

// writeEntriesBulk is writeEntries for more than a transaction holds.
func writeEntriesBulk(ctx context.Context, s *kv.Store, enter func(l *ledger) error) (_ []Decision, err error) {
	b, err := s.Bulk()
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	l, err := newLedger(b.Tx())
	if err != nil {
		return nil, err
	}
	var records []historyRecord
	relabelled, unscored := false, map[kv.NodeID]bool{}
	l.changed = map[kv.NodeID]nodeState{}
	l.write = func(d historyRecord) error {
		records = append(records, d)
		l.changed[d.Node] = nodeState{label: d.To, decision: d.After}
		relabelled = relabelled || d.From != d.To
		if d.Unscored {
			unscored[d.Node] = true
		}
		return nil
	}
	if err := enter(l); err != nil {
		return nil, err
	}
	w := decisionWriter{bulk: b}
	defer func() { err = errors.Join(err, w.close()) }()
	if relabelled {
		err = w.column(ctx, kv.LabelColumn, kv.KindClass, func(v kv.NodeID) (kv.Value, bool) {
			state, changed := l.changed[v]
			if state.label == "" {
				return kv.Value{}, changed
			}
			return kv.StringValue(state.label), changed
		})
		if err != nil {
			return nil, err
		}
	}
	if len(unscored) > 0 {
		scores, _ := b.Tx().Column(ScoreColumn)
		err = w.column(ctx, ScoreColumn, scores.Kind, func(v kv.NodeID) (kv.Value, bool) {
			return kv.Value{}, unscored[v]
		})
		if err != nil {
			return nil, err
		}
	}
	err = w.column(ctx, DecisionColumn, kv.KindString, func(v kv.NodeID) (kv.Value, bool) {
		state, changed := l.changed[v]
		return state.decision.value(), changed
	})
	if err != nil {
		return nil, err
	}
	if err := w.history(ctx, records); err != nil {
		return nil, err
	}
	if err := b.Commit(w.mark); err != nil {
		return nil, err
	}
	return l.made, nil
}

// A decisionWriter rewrites what decisions change.
type decisionWriter struct {
	bulk    *kv.Bulk
	indexes []*index.Builder
}

func (w *decisionWriter) close() (err error) {
	for _, b := range w.indexes {
		err = errors.Join(err, b.Close())
	}
	return err
}

// mark is the final of the commit.
func (w *decisionWriter) mark(tx *kv.Tx) error {
	for _, b := range w.indexes {
		if err := b.Mark(tx); err != nil {
			return err
		}
	}
	return tx.Space(historySpace).KeepTwice()
}

// column rewrites a column, and its index where it has one, with the values that changed.
func (w *decisionWriter) column(
	ctx context.Context, name string, kind kv.Kind, changed func(v kv.NodeID) (kv.Value, bool),
) error {
	tx := w.bulk.Tx()
	stored, there := tx.Column(name)
	out, err := w.bulk.Column(name, kind)
	if err != nil {
		return err
	}
	var entries *index.Builder
	if stored.Indexed {
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
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value, now := changed(v)
		if !now && there {
			if value, err = before.At(v); err != nil {
				return err
			}
		}
		if err := out.Put(v, value); err != nil {
			return err
		}
		if entries != nil {
			if err := entries.Add(v, value); err != nil {
				return err
			}
		}
	}
	if entries == nil {
		return nil
	}
	return entries.Finish()
}

// history rewrites the history with entries added at its end.
func (w *decisionWriter) history(ctx context.Context, added []historyRecord) error {
	out, err := w.bulk.Space(historySpace)
	if err != nil {
		return err
	}
	h := historyWriter{out: out, added: added}
	for i := range added {
		h.about = append(h.about, nodeKey(added[i].Node, added[i].Seq))
	}
	slices.SortFunc(h.about, bytes.Compare)
	copied := 0
	for e, err := range w.bulk.Tx().Space(historySpace).Ascend(nil) {
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		if copied++; copied%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := h.putBefore(ctx, e.Key); err != nil {
			return err
		}
		if err := out.Put(e.Key, e.Value); err != nil {
			return err
		}
	}
	return h.putBefore(ctx, nil)
}

// A historyWriter merges entries into a history.
type historyWriter struct {
	out   *kv.SpaceWriter
	added []historyRecord // their entries come after all that are there
	about [][]byte        // their keys by node, ascending
	body  []byte
}

// putBefore writes what belongs before a key of the history; nil: all that is left.
func (h *historyWriter) putBefore(ctx context.Context, key []byte) error {
	if key != nil && key[0] == entryTag {
		return nil
	}
	for i := range h.added {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		h.body = h.added[i].append(h.body[:0])
		if err := h.out.Put(entryKey(h.added[i].Seq), h.body); err != nil {
			return err
		}
	}
	h.added = nil
	for len(h.about) > 0 && (key == nil || bytes.Compare(h.about[0], key) < 0) {
		if err := h.out.Put(h.about[0], nil); err != nil {
			return err
		}
		h.about = h.about[1:]
	}
	return nil
}
