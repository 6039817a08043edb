package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Of the nodes at the greatest values of some columns, most questions ask for the same properties. As these nodes are far apart, each
// property would cost a block a node. So the index has copies of them, id included, in the order of its entries.
var headColumns = map[string][]string{"score": {"label", "suggested", "confidence", "decision"}}

// The head of an index are its last entries: a part of all nodes, and what fits into the transaction that makes an index visible.
const (
	headShare   = 32
	headEntries = 1 << 14
	headBytes   = 512 << 10

	headRecord = 16 << 10 // a record of copies is hardly longer
	headRow    = 2 << 10  // a longer row is not copied
)

const headPrefix = 'R'

// headKey is the key of the copies from an entry on, up to those of the next record.
func headKey(entry []byte) []byte { return append([]byte{headPrefix}, entry...) }

// copyHead writes the copies of the head of an index again. If something of it is damaged, there are none, or those from before: nothing
// needs them, and what they are of is read or checked elsewhere.
func (p postings) copyHead(tx *kv.Tx) error { return unlessCorrupt(p.writeHead(tx)) }

func unlessCorrupt(err error) error {
	if errors.Is(err, kv.ErrCorrupt) {
		return nil
	}
	return err
}

func (p postings) writeHead(tx *kv.Tx) error {
	columns, ok := headColumns[p.column]
	if !ok {
		return nil
	}
	var old [][]byte
	for e, err := range p.space.Ascend([]byte{headPrefix}) {
		if err != nil {
			return p.wrap(err)
		}
		old = append(old, bytes.Clone(e.Key))
	}
	for _, key := range old {
		if err := p.space.Delete(key); err != nil {
			return p.wrap(err)
		}
	}
	info, _ := tx.Column(p.column)
	var entries [][]byte
	var nodes []kv.NodeID
	for g, err := range p.descend(wholeRange(valueKind(info.Kind))) {
		if err != nil {
			return err
		}
		for _, v := range slices.Backward(g.nodes) {
			entries, nodes = append(entries, newEntry(g.key, v)), append(nodes, v)
		}
		if len(nodes) >= min(headEntries, tx.NumNodes()/headShare) {
			break
		}
	}
	head, rows, err := tx.CopyRows(columns, nodes)
	if err != nil {
		return p.wrap(err)
	}
	body, written := bytes.Clone(head), 0
	for i, row := range rows {
		if len(row) <= headRow {
			body = append(body, row...)
		}
		if last := i == len(rows)-1; !last && len(body) < headRecord {
			continue
		}
		if err := p.space.Put(headKey(entries[i]), body); err != nil {
			return p.wrap(err)
		}
		if written += len(body); written >= headBytes {
			return nil
		}
		body = append(body[:0], head...)
	}
	return nil
}

// A headReader lends the copies of the entries of a descending walk.
type headReader struct {
	postings postings
	tx       *kv.Tx
	least    []byte // the key of the last record lent; nil for none
	over     bool   // there are no more records
}

// lend lends the copies of entries from one on, down to another. Damaged copies end it.
func (h *headReader) lend(greatest, least []byte) error {
	to := headKey(least)
	if h.over || h.least != nil && bytes.Compare(to, h.least) >= 0 {
		return nil
	}
	h.over = true
	return unlessCorrupt(h.lendDownTo(greatest, to))
}

func (h *headReader) lendDownTo(greatest, to []byte) error {
	for e, err := range h.postings.space.Descend(headKey(greatest)) {
		if err != nil {
			return h.postings.wrap(err)
		}
		if e.Key[0] != headPrefix {
			break
		}
		if h.least != nil && bytes.Compare(e.Key, h.least) >= 0 {
			continue
		}
		if err := h.tx.LendCopies(bytes.Clone(e.Value)); err != nil {
			return h.postings.wrap(err)
		}
		h.least = bytes.Clone(e.Key)
		if bytes.Compare(e.Key, to) <= 0 {
			h.over = false
			return nil
		}
	}
	return nil
}

// checkHead compares copies with what they are of, and calls report for each record that differs.
func (p postings) checkHead(ctx context.Context, tx *kv.Tx, report func(error)) error {
	for e, err := range p.space.Ascend([]byte{headPrefix}) {
		if err == nil {
			err = tx.CheckCopies(e.Value)
		}
		if errors.Is(err, kv.ErrCorrupt) {
			report(err)
		} else if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// CopyHeads writes the head of each index again if a block that it copies was replaced. Call it in the final function of Bulk.Commit, where
// the Bulk has written such blocks again.
func CopyHeads(tx *kv.Tx) error {
	columns, err := oldHeads(tx)
	if err != nil {
		return err
	}
	for _, column := range columns {
		if err := openPostings(tx, column).copyHead(tx); err != nil {
			return err
		}
	}
	return nil
}

// oldHeads are the columns whose indexes have no copies, or copies of what was replaced.
func oldHeads(tx *kv.Tx) (columns []string, err error) {
	for _, c := range tx.Columns() {
		if !c.Indexed {
			continue
		}
		current, err := openPostings(tx, c.Name).headIsCurrent(tx)
		if err != nil {
			return nil, err
		}
		if !current {
			columns = append(columns, c.Name)
		}
	}
	return columns, nil
}

// headIsCurrent says whether the copies of the head are those that copyHead would write. An index without entries has none.
func (p postings) headIsCurrent(tx *kv.Tx) (current bool, err error) {
	columns, ok := headColumns[p.column]
	if !ok {
		return true, nil
	}
	for e, err := range p.space.Ascend([]byte{headPrefix}) {
		if err == nil {
			current, err = tx.CopiesAreCurrent(e.Value, columns)
		}
		return current, unlessCorrupt(p.wrap(err))
	}
	info, _ := tx.Column(p.column)
	for _, err := range p.descend(wholeRange(valueKind(info.Kind))) {
		return false, unlessCorrupt(err)
	}
	return true, nil
}
