package lsm

import (
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An Iterator reads records in the order of their keys. A table that cannot be read is an ErrCorrupt.
type Iterator struct{ it *pack.Walk }

// Close ends the iterator.
func (i *Iterator) Close() { i.it.Close() }

// Seek goes to the first record whose key is not before one.
func (i *Iterator) Seek(key []byte) error {
	return guard(key, func() error { return i.it.Seek(key) })
}

// Next goes to the next record.
func (i *Iterator) Next() error {
	var key []byte
	if i.Valid() {
		key = i.Key()
	}
	return guard(key, i.it.Next)
}

// Valid says whether there is a record; false at the end.
func (i *Iterator) Valid() bool { return i.it.Valid() }

// Key is the key of the record, borrowed until the next step.
func (i *Iterator) Key() []byte { return i.it.Key() }

// Version is that of the commit that wrote the record.
func (i *Iterator) Version() uint64 { return i.it.Version() }

// ValueSize is the size of the value in bytes.
func (i *Iterator) ValueSize() int64 { return i.it.ValueSize() }

// Value is the value as it is stored, borrowed until the next step.
func (i *Iterator) Value() (value []byte, err error) {
	err = guard(i.Key(), func() (err error) {
		value, err = i.it.Value()
		return err
	})
	return value, wrapBadger(err)
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
