package decide

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv"
)

// History yields the entries of a node, or with kv.NoNode those of all nodes, oldest first; of a store without
// decisions none. On failure it yields the error, once, and stops. An entry that is missing between others is
// kv.ErrCorrupt.
func History(ctx context.Context, tx *kv.Tx, node kv.NodeID) iter.Seq2[Decision, error] {
	if node == kv.NoNode {
		return historyFrom(ctx, tx, 1)
	}
	return func(yield func(Decision, error) bool) {
		entries, err := entriesOf(ctx, tx, node)
		for _, d := range entries {
			if !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(Decision{}, fmt.Errorf("history: %w", err))
		}
	}
}

// entriesOf returns the entries about a node, the oldest first; after an error those before it.
func entriesOf(ctx context.Context, tx *kv.Tx, node kv.NodeID) ([]Decision, error) {
	r := entryReader{ctx: ctx, tx: tx}
	defer r.stop()
	return r.of(node)
}

// readAbout reads entry seq, which is about a node.
func readAbout(tx *kv.Tx, node kv.NodeID, seq int64) (Decision, error) {
	d, err := readDecision(tx, seq)
	if err == nil && d.Node != node {
		err = corruptEntry(seq, fmt.Sprintf("it is about node number %d, want %d", d.Node, node))
	}
	return d.Decision, err
}

// An entryReader reads the entries about nodes in ascending order.
type entryReader struct {
	ctx  context.Context
	tx   *kv.Tx
	next func() (kv.Entry, error, bool) // of the keys by node; nil before the first node
	end  func()

	node kv.NodeID // of the key that was read last; kv.NoNode after the last
	seq  int64
	err  error // of the keys: nothing can be read after it
}

// stop ends the reading.
func (r *entryReader) stop() {
	if r.next != nil {
		r.end()
	}
}

// mostPassed is how many keys are passed to come to a node, before it is looked up.
const mostPassed = 64

// of returns the entries about a node, the oldest first; after an error those before it.
func (r *entryReader) of(v kv.NodeID) (entries []Decision, err error) {
	for passed := 0; r.err == nil && (r.next == nil || r.node < v); passed++ {
		if r.next == nil || passed == mostPassed {
			r.stop()
			r.next, r.end = iter.Pull2(recordsFrom(r.ctx, r.tx, nodeEntries(v)))
		}
		r.advance()
	}
	for ; r.err == nil && r.node == v; r.advance() {
		d, err := readAbout(r.tx, v, r.seq)
		if err != nil {
			return entries, err
		}
		entries = append(entries, d)
	}
	return entries, r.err
}

// advance reads the next key. It passes over one of no node, which Check finds.
func (r *entryReader) advance() {
	for ok := false; !ok; {
		e, err, more := r.next()
		if !more || err != nil {
			r.node, r.err = kv.NoNode, err
			return
		}
		r.node, r.seq, ok = parseNodeKey(e.Key)
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

// historyFrom yields the entries from one on, oldest first, without lost ones.
func historyFrom(ctx context.Context, tx *kv.Tx, from int64) iter.Seq2[Decision, error] {
	return func(yield func(Decision, error) bool) {
		next := from
		for e, err := range recordsFrom(ctx, tx, entryKey(from)) {
			var d historyRecord
			var is int64
			if err == nil {
				is, err = parseEntryKey(e.Key)
			}
			if err == nil && is != next {
				err = corruptEntry(next, "it is missing")
			}
			if err == nil {
				d, err = parseDecision(next, e.Value)
			}
			next++
			if errors.Is(err, errLost) {
				continue
			}
			if err != nil {
				yield(Decision{}, fmt.Errorf("history: %w", err))
				return
			}
			if !yield(d.Decision, nil) {
				return
			}
		}
	}
}
