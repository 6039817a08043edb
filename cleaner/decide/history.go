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
	records := nodeRecords(ctx, tx, node)
	if node == kv.NoNode {
		records = historyRecords(ctx, tx, 1)
	}
	return func(yield func(Decision, error) bool) {
		for d, err := range records {
			if !yield(d.Decision, err) {
				return
			}
		}
	}
}

// nodeRecords yields the entries about a node, oldest first.
func nodeRecords(ctx context.Context, tx *kv.Tx, node kv.NodeID) iter.Seq2[historyRecord, error] {
	return func(yield func(historyRecord, error) bool) {
		for e, err := range recordsFrom(ctx, tx, nodeEntries(node)) {
			v, seq, ok := parseNodeKey(e.Key)
			if err == nil && !ok {
				err = fmt.Errorf("%w: a node's entry under %x", kv.ErrCorrupt, e.Key)
			}
			if err == nil && v != node {
				return
			}
			var d historyRecord
			if err == nil {
				d, err = readDecision(tx, seq)
			}
			if err == nil && d.Node != node {
				err = corruptEntry(seq, fmt.Sprintf("it is about node number %d, want %d", d.Node, node))
			}
			if err != nil {
				yield(historyRecord{}, fmt.Errorf("history: %w", err))
				return
			}
			if !yield(d, nil) {
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
		next := from
		for e, err := range recordsFrom(ctx, tx, entryKey(from)) {
			var d historyRecord
			if err == nil {
				d, err = parseEntry(e, next)
			}
			next++
			if err != nil {
				yield(historyRecord{}, fmt.Errorf("history: %w", err))
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// parseEntry reads a record that must be that of entry seq.
func parseEntry(e kv.Entry, seq int64) (historyRecord, error) {
	is, err := parseEntryKey(e.Key)
	if err != nil {
		return historyRecord{}, err
	}
	if is != seq {
		return historyRecord{}, corruptEntry(seq, "it is missing")
	}
	return parseDecision(seq, e.Value)
}

// LabelsAfter returns the labels of the moment when entry seq was the newest, for each node that is there and has a
// later decision; "" is no label. 0 is before the first entry. Decisions have not changed other nodes since. It reads
// the later entries, and holds some 200 bytes a node.
func LabelsAfter(ctx context.Context, tx *kv.Tx, seq int64) (map[kv.NodeID]string, error) {
	changes, err := changesAfter(ctx, tx, seq, math.MaxInt)
	labels := make(map[kv.NodeID]string, len(changes))
	for v, c := range changes {
		labels[v] = c.was.label
	}
	return labels, err
}
