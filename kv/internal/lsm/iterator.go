package lsm

import (
	"bytes"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An Iterator reads records in the order of their keys. A table that cannot be read is an ErrCorrupt. It does not see
// what its transaction writes later.
type Iterator struct {
	*pack.Walk
	t          *Txn // that may hand it out again; nil of one that reads
	prefix     []byte
	descending bool
	steps      int // of the transaction, that it sees
}

// mostSpare is how many iterators a transaction keeps for later.
const mostSpare = 8

// Iterator begins to read the records whose keys begin with prefix, descending or not. It must be closed. Badger sorts
// all that a transaction has written for each new iterator, so one that was closed is handed out again until the next
// write.
func (t *Txn) Iterator(prefix []byte, descending bool) *Iterator {
	for n, i := range t.spare {
		if i.descending == descending && bytes.Equal(i.prefix, prefix) {
			t.spare = slices.Delete(t.spare, n, n+1)
			return i
		}
	}
	i := new(Iterator)
	if t.writes {
		i = &Iterator{t: t, prefix: bytes.Clone(prefix), descending: descending, steps: t.steps}
	}
	tables := t.packs.of(prefix)
	if t.txn == nil || len(prefix) > 0 && record.Kind(prefix[0]).IsBlock() {
		i.Walk = tables.Walk(prefix, descending)
	} else {
		i.Walk = tables.Walk(prefix, descending, t.badger(prefix, descending))
	}
	return i
}

// Close ends the iterator.
func (i *Iterator) Close() {
	if i.t == nil || i.steps != i.t.steps || len(i.t.spare) == mostSpare {
		i.Walk.Close()
		return
	}
	i.t.spare = append(i.t.spare, i)
}

// Seek goes to the first record whose key is not before one.
func (i *Iterator) Seek(key []byte) error {
	return guard(key, func() error { return i.Walk.Seek(key) })
}

// Next goes to the next record.
func (i *Iterator) Next() error {
	var key []byte
	if i.Valid() {
		key = i.Key()
	}
	return guard(key, i.Walk.Next)
}

// Value is the value as it is stored, borrowed until the next step.
func (i *Iterator) Value() (value []byte, err error) {
	err = guard(i.Key(), func() error {
		value = i.Walk.Value()
		return nil
	})
	return value, err
}

// Record decodes the record, borrowed until the next step; ok is false at the end.
func (i *Iterator) Record() (r record.Record, ok bool, err error) {
	if !i.Valid() {
		return r, false, nil
	}
	r.Key = i.Key()
	value, err := i.Value()
	if err == nil {
		r.Body, err = record.Decode(r.Key, value)
	}
	return r, true, err
}
