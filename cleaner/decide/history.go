package decide

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/graphcleaner/graphcleaner/kv"
)

// History yields the entries of a node, or with kv.NoNode those of all nodes, oldest first; of a store without
// decisions none. On failure it yields the error, once, and stops. An entry that is missing between others is
// kv.ErrCorrupt.
func History(ctx context.Context, tx *kv.Tx, node kv.NodeID) iter.Seq2[Decision, error] {
	if node == kv.NoNode {
		return wholeHistory(ctx, tx)
	}
	return func(yield func(Decision, error) bool) {
		for seq, err := range entriesOf(tx, node) {
			var d historyRecord
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				d, err = readDecision(tx, seq)
			}
			if err == nil && d.Node != node {
				err = corruptEntry(seq, fmt.Sprintf("it is about node number %d, want %d", d.Node, node))
			}
			if err != nil {
				yield(Decision{}, err)
				return
			}
			if !yield(d.Decision, nil) {
				return
			}
		}
	}
}

// entriesOf yields the numbers of the entries about a node, ascending.
func entriesOf(tx *kv.Tx, node kv.NodeID) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for e, err := range tx.Space(historySpace).Ascend(nodeEntries(node)) {
			if err != nil {
				yield(0, fmt.Errorf("history: %w", err))
				return
			}
			v, seq, ok := parseNodeKey(e.Key)
			if !ok {
				yield(0, fmt.Errorf("history: %w: a node's entry under %x", kv.ErrCorrupt, e.Key))
				return
			}
			if v != node || !yield(seq, nil) {
				return
			}
		}
	}
}

func wholeHistory(ctx context.Context, tx *kv.Tx) iter.Seq2[Decision, error] {
	return func(yield func(Decision, error) bool) {
		for d, err := range historyRecords(ctx, tx, 1) {
			if !yield(d.Decision, err) {
				return
			}
		}
	}
}

// recordsFrom yields the records of one sort, ascending from a key of it.
func recordsFrom(ctx context.Context, tx *kv.Tx, key []byte) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		count := 0
		for e, err := range tx.Space(historySpace).Ascend(key) {
			if err == nil && e.Key[0] != key[0] {
				return
			}
			if count++; err == nil && count%lookEvery == 0 {
				err = ctx.Err()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// historyRecords yields the entries from one on, oldest first.
func historyRecords(ctx context.Context, tx *kv.Tx, from int64) iter.Seq2[historyRecord, error] {
	return func(yield func(historyRecord, error) bool) {
		last := from - 1
		for e, err := range recordsFrom(ctx, tx, entryKey(from)) {
			var d historyRecord
			if err == nil {
				d, err = nextDecision(last, e)
			}
			if err != nil {
				yield(historyRecord{}, fmt.Errorf("history: %w", err))
				return
			}
			if last = d.Seq; !yield(d, nil) {
				return
			}
		}
	}
}

// nextDecision is the entry that follows entry last.
func nextDecision(last int64, e kv.Entry) (historyRecord, error) {
	seq, err := parseEntryKey(e.Key)
	if err != nil {
		return historyRecord{}, err
	}
	if seq != last+1 {
		return historyRecord{}, corruptEntry(last+1, "it is missing")
	}
	return parseDecision(seq, e.Value)
}

// LabelsAfter returns the labels of the moment when entry seq was the newest, for each node that is there and has a
// later decision; "" is no label. 0 is before the first entry. Decisions have not changed other nodes since. The later
// entries are read, and the map takes some 50 bytes a node.
func LabelsAfter(ctx context.Context, tx *kv.Tx, seq int64) (map[kv.NodeID]string, error) {
	removed, err := tx.Removed()
	if err != nil {
		return nil, err
	}
	labels := map[kv.NodeID]string{}
	for d, err := range historyBackwards(ctx, tx, math.MaxInt64) {
		if err != nil {
			return nil, err
		}
		if d.Seq <= seq {
			break
		}
		if !removed.Has(d.Node) {
			labels[d.Node] = d.From
		}
	}
	return labels, nil
}

// historyBackwards yields the entries from one on, newest first; from math.MaxInt64 on all of them.
func historyBackwards(ctx context.Context, tx *kv.Tx, from int64) iter.Seq2[historyRecord, error] {
	return func(yield func(historyRecord, error) bool) {
		before := int64(0) // the number of the entry that comes next; 0: any
		if from != math.MaxInt64 {
			before = from
		}
		for e, err := range tx.Space(historySpace).Descend(entryKey(from)) {
			if err == nil && before%lookEvery == 0 {
				err = ctx.Err()
			}
			var seq int64
			if err == nil {
				seq, err = parseEntryKey(e.Key)
			}
			if err == nil && before > 0 && seq != before {
				err = corruptEntry(before, "it is missing")
			}
			var d historyRecord
			if err == nil {
				d, err = parseDecision(seq, e.Value)
			}
			if err != nil {
				yield(historyRecord{}, fmt.Errorf("history: %w", err))
				return
			}
			if before = seq - 1; !yield(d, nil) {
				return
			}
		}
		if before > 0 {
			yield(historyRecord{}, fmt.Errorf("history: %w", corruptEntry(before, "it is missing")))
		}
	}
}
