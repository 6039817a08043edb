package index

import (
	"bytes"
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Check compares every index with its column and calls report for each entry that is missing, wrong, or out of
// order. It returns an error only when it cannot go on: ctx.Err() when cancelled.
func Check(ctx context.Context, tx *kv.Tx, report func(kv.Problem)) error {
	for _, c := range tx.Columns() {
		if !c.Indexed {
			continue
		}
		if err := checkIndex(ctx, tx, c, report); err != nil {
			return err
		}
	}
	return nil
}

func checkIndex(ctx context.Context, tx *kv.Tx, c kv.Column, report func(kv.Problem)) error {
	problem := func(format string, args ...any) {
		report(kv.Problem{Where: "index on " + c.Name, What: fmt.Sprintf(format, args...)})
	}
	if _, err := readStatistics(tx, c.Name); err != nil {
		problem("%v", err)
	}
	seen := roaring.New()
	var last []byte
	groups := 0
	for g, err := range openPostings(tx, c.Name).ascend(wholeRange(valueKind(c.Kind))) {
		if err != nil {
			problem("%v", err)
			return ctx.Err()
		}
		if groups%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		groups++
		for _, v := range g.nodes {
			entry := newEntry(g.key, v)
			if bytes.Compare(entry, last) <= 0 {
				problem("the entry of node number %d for %s is out of order", v, literal(decodeKey(g.key)))
			}
			last = entry
			if !seen.CheckedAdd(uint32(v)) {
				problem("node number %d has two entries", v)
			}
		}
	}
	values, err := tx.Reader(c.Name)
	if err != nil {
		return fmt.Errorf("index on %s: %w", c.Name, err)
	}
	for v := range kv.NodeID(tx.NumNodes()) {
		if v%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		value, err := values.At(v)
		if err != nil {
			problem("%v", err)
			return nil
		}
		if value.IsNull() == seen.Contains(uint32(v)) {
			problem("node number %d holds %s, and has entries: %t", v, literal(value), seen.Contains(uint32(v)))
		}
	}
	return nil
}
