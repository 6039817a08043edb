package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"hash/maphash"

	"github.com/graphcleaner/graphcleaner/kv/internal/decisions"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// decisions compares the spaces that are kept twice with decisions.log, as it was when the check began.
func (c *checker) decisions(ctx context.Context) error {
	if c.decided == nil {
		return nil
	}
	seed := maphash.MakeSeed()
	parts := 1 + c.decided.Size()/max(c.tx.s.opt.MemoryBudget/8, 1)
	for part := range uint64(parts) {
		in := func(key []byte) bool { return maphash.Bytes(seed, key)%uint64(parts) == part }
		if err := c.decisionsIn(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// decisionsIn is decisions for a part of the keys, which fits into memory.
func (c *checker) decisionsIn(ctx context.Context, in func(key []byte) bool) error {
	last, err := c.tx.LastCommit()
	if err != nil {
		return err
	}
	want := map[string][sha256.Size]byte{}
	contents, err := c.decided.Scan(func(f decisions.Frame) error {
		if f.Last > last {
			return nil // committed since
		}
		for e, err := range f.Entries() {
			switch {
			case err != nil:
				return err
			case e.Name == "" || c.tx.cat.Spaces[e.Name] != record.GenerationOf(e.Key) || !in(e.Key):
			case e.Value == nil:
				delete(want, string(e.Key))
			default:
				want[string(e.Key)] = sha256.Sum256(e.Value)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if damage := contents.Corrupt(c.tx.s.identity()); damage != nil {
		return damage
	}
	for _, name := range sortedNames(c.tx.cat.Twice) {
		g, there := c.tx.cat.Spaces[name]
		if !there {
			continue
		}
		prefix := record.Prefix(record.KindSpace, g)
		err := eachRecord(ctx, c.tx.txn, prefix, func(r record.Record, damage error) error {
			if !in(r.Key) || damage != nil {
				return nil //nolint:nilerr // what is damaged stays wanted
			}
			sum, there := want[string(r.Key)]
			if !there {
				c.problem("space "+name, "%s lacks the entry %q", decisions.FileName, r.Key[len(prefix):])
			} else if sum == sha256.Sum256(record.Encode(r.Key, r.Body)) {
				delete(want, string(r.Key))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, key := range sortedNames(want) {
			if own, is := bytes.CutPrefix([]byte(key), prefix); is {
				c.problem("space "+name, "the entry %q is missing, or not as %s has it", own, decisions.FileName)
			}
		}
	}
	return nil
}
