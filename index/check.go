package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/graphcleaner/graphcleaner/internal/spill"
	"github.com/graphcleaner/graphcleaner/kv"
)

// checkMemory bounds the bytes of entries that Check sorts at a time: as many as a Bulk of the least budget sorts.
const checkMemory = 4 << 20

// Check compares every index with its column and calls report for each entry that is missing, wrong, there twice or
// out of order. It returns an error only if it cannot go on: ctx.Err() after a cancellation, or the error of a file. It
// sorts the entries by node. More than a few megabytes of entries are sorted in the system's temporary directory.
func Check(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	for _, c := range tx.Columns() {
		if !c.Indexed {
			continue
		}
		if err := checkColumn(ctx, tx, c, report); err != nil {
			return err
		}
	}
	return nil
}

// checkColumn is Check of one index.
func checkColumn(ctx context.Context, tx *kv.Tx, c kv.Column, report func(kv.Problem)) error {
	k := checker{column: c, tx: tx, postings: openPostings(tx, c.Name), report: report}
	if err := k.check(ctx); err != nil {
		return fmt.Errorf("checking the index on %s: %w", c.Name, err)
	}
	return nil
}

// A checker compares one index with its column.
type checker struct {
	column   kv.Column
	tx       *kv.Tx
	postings postings
	report   func(kv.Problem)
}

func (k *checker) problem(format string, args ...any) {
	k.report(kv.Problem{Where: "index on " + k.column.Name, What: fmt.Sprintf(format, args...)})
}

func (k *checker) check(ctx context.Context) (err error) {
	if h := openHead(k.tx, k.column.Name); h != nil {
		if err := h.check(ctx, k.problem); err != nil {
			return err
		}
	}
	entries := spill.New("", checkMemory)
	defer func() { err = errors.Join(err, entries.Close()) }()
	whole, err := k.sort(ctx, entries)
	if err != nil || !whole {
		return err
	}
	return k.compare(ctx, entries)
}

// sort hands every entry to the sorter: the node, big endian, as key and the key of its value as value. whole is
// false if damage, which is reported, ends the walk early.
func (k *checker) sort(ctx context.Context, entries *spill.Sorter) (whole bool, err error) {
	steps := 0
	var last []byte
	for g, err := range k.postings.ascend(wholeRange(valueKind(k.column.Kind))) {
		if err != nil {
			k.problem("%v", err)
			return false, ctx.Err()
		}
		if steps++; steps%checkEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		for _, v := range g.nodes {
			entry := newEntry(g.key, v)
			if bytes.Compare(entry, last) <= 0 {
				k.problem("the entry of node number %d for %s is out of order", v, literal(decodeKey(g.key)))
			}
			last = entry
			if err := entries.Add(entry[len(g.key):], g.key); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// compare walks the column and the entries, by node, side by side.
func (k *checker) compare(ctx context.Context, entries *spill.Sorter) error {
	values, err := k.tx.Reader(k.column.Name)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(entries.Records(ctx))
	defer stop()
	entry, err, more := next()
	var want []byte
	for v := range kv.NodeID(k.tx.NumNodes()) {
		if v%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value, damage := values.At(v)
		if damage != nil {
			k.problem("%v", damage)
			return ctx.Err()
		}
		if want = want[:0]; !value.IsNull() {
			want, _ = appendKey(want, value)
		}
		count := 0
		for ; more && err == nil && entryNode(entry) == v; entry, err, more = next() {
			count++
			if count > 1 {
				k.problem("node number %d has entry %d for %s, want one entry at most",
					v, count, literal(decodeKey(entry.Value)))
			} else if !bytes.Equal(entry.Value, want) {
				k.problem("node number %d holds %s, its entry is for %s", v, literal(value), literal(decodeKey(entry.Value)))
			}
		}
		if err != nil {
			return err
		}
		if count == 0 && !value.IsNull() {
			k.problem("node number %d holds %s, and has no entry", v, literal(value))
		}
	}
	for ; more && err == nil; entry, err, more = next() {
		k.problem("there is an entry of node number %d for %s, and there are only %d nodes",
			entryNode(entry), literal(decodeKey(entry.Value)), k.tx.NumNodes())
	}
	return err
}

// entryNode is the node of an entry that sort has handed over.
func entryNode(r spill.Record) kv.NodeID { return kv.NodeID(binary.BigEndian.Uint32(r.Key)) }
