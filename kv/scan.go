package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/internal/mapped"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// get calls use with the body of the record under key, which is use's to keep and not to change; ErrNotFound when there is
// none.
func (tx *Tx) get(key []byte, use func(body []byte) error) error {
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	var value []byte
	err := guard(key, func() error {
		item, err := tx.txn.Get(key)
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error {
			value = v
			return nil
		})
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return ErrNotFound
	}
	if err != nil {
		return wrapBadger(err)
	}
	body, err := record.Decode(key, value)
	if err != nil {
		return tx.s.damaged(err)
	}
	return use(body)
}

// A getFunc is tx.get, or reads like it.
type getFunc func(key []byte, use func(body []byte) error) error

// fetch calls read with a getFunc for about count records whose keys begin with prefix. Badger's Get copies a value
// three times, into new memory each time; an iterator copies it twice, and keeps its memory where records follow each
// other. That pays off from a few records on. In an Update, which allows one iterator at a time, it is get.
func (tx *Tx) fetch(prefix []byte, count int, read func(get getFunc) error) error {
	if tx.write || count < 4 {
		return read(tx.get)
	}
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	it := tx.txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	c := cursor{s: tx.s, it: it}
	return read(c.get)
}

// A cursor reads records by key with one iterator.
type cursor struct {
	s  *Store
	it *badger.Iterator
	// hits and misses count how often the next record was the one wanted, and how often not.
	hits, misses int
}

func (c *cursor) get(key []byte, use func(body []byte) error) error {
	err := guard(key, func() error {
		if c.misses <= c.hits && c.it.Valid() {
			c.it.Next()
			if c.onKey(key) {
				c.hits++
				return nil
			}
			c.misses++
		}
		c.it.Seek(key)
		return nil
	})
	if err != nil {
		return err
	}
	if !c.onKey(key) {
		return ErrNotFound
	}
	r, _, err := current(c.it)
	if err != nil {
		return c.s.damaged(err)
	}
	return use(r.Body)
}

func (c *cursor) onKey(key []byte) bool { return c.it.Valid() && bytes.Equal(c.it.Item().Key(), key) }

// guard turns a panic while Badger reads a damaged table into the error it should have been. A table is mapped: where its
// file is cut short meanwhile, or the disk cannot read a page of it, that is such a panic too.
func guard(key []byte, read func() error) (err error) {
	defer mapped.Watch()()
	defer func() {
		if p := recover(); p != nil {
			if fault := mapped.FaultOf(p); fault != nil {
				p = fault
			}
			err = record.Corrupt(key, fmt.Sprintf("its table cannot be read: %v", p))
		}
	}()
	return read()
}

// guardFaults has a fault of a mapped file, in the calling goroutine, be an ErrCorrupt that names the file.
func guardFaults(read func() error) error {
	err := mapped.Guard(read)
	if fault, ok := errors.AsType[*mapped.Fault](err); ok && !errors.Is(err, ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, fault)
	}
	return err
}

// scan yields the records whose key begins with prefix and is not less than from (nil: all), ascending, each borrowed
// until the next step. Scans in an Update may be nested; one sees what was written before it read the part it is in.
func (tx *Tx) scan(prefix, from []byte) iter.Seq2[record.Record, error] {
	return tx.iterate(prefix, from, false)
}

// scanDown yields the records whose key begins with prefix and is not greater than from (nil: all), descending.
func (tx *Tx) scanDown(prefix, from []byte) iter.Seq2[record.Record, error] {
	return tx.iterate(prefix, from, true)
}

func (tx *Tx) iterate(prefix, from []byte, reverse bool) iter.Seq2[record.Record, error] {
	opt := badger.IteratorOptions{Prefix: prefix, Reverse: reverse}
	if from == nil {
		from = prefix
		if reverse {
			from = append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, MaxSpaceKey+1)...)
		}
	}
	if tx.write {
		return tx.iterateChunks(opt, from)
	}
	return func(yield func(record.Record, error) bool) {
		if err := tx.acquire(); err != nil {
			yield(record.Record{}, err)
			return
		}
		defer tx.release()
		it := tx.txn.NewIterator(opt)
		defer it.Close()
		for err := guard(from, func() error { it.Seek(from); return nil }); ; {
			if err != nil {
				yield(record.Record{}, err)
				return
			}
			r, ok, err2 := current(it)
			if err2 != nil || !ok {
				if err2 != nil {
					yield(record.Record{}, tx.s.damaged(err2))
				}
				return
			}
			if !yield(r, nil) {
				return
			}
			err = guard(r.Key, func() error { it.Next(); return nil })
		}
	}
}

// current decodes the record an iterator stands on; false at the end.
func current(it *badger.Iterator) (r record.Record, ok bool, err error) {
	if !it.Valid() {
		return r, false, nil
	}
	item := it.Item()
	r.Key = item.Key()
	var value []byte
	err = guard(r.Key, func() error {
		return item.Value(func(v []byte) error {
			value = v
			return nil
		})
	})
	if err == nil {
		r.Body, err = record.Decode(r.Key, value)
	}
	return r, true, wrapBadger(err)
}

// iterateChunks iterates in an Update, where Badger allows one open iterator: it reads some records ahead into memory
// of their own, closes the iterator, and only then yields them.
func (tx *Tx) iterateChunks(opt badger.IteratorOptions, from []byte) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		seek, skip := from, []byte(nil)
		for size := 8; ; size = min(2*size, 1024) {
			chunk, err := tx.readChunk(opt, seek, skip, size)
			for _, r := range chunk {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(record.Record{}, err)
				return
			}
			if len(chunk) < size {
				return
			}
			seek = chunk[len(chunk)-1].Key
			skip = seek
		}
	}
}

// readChunk reads up to size records from seek on, without the one under skip.
func (tx *Tx) readChunk(opt badger.IteratorOptions, seek, skip []byte, size int) ([]record.Record, error) {
	if err := tx.acquire(); err != nil {
		return nil, err
	}
	defer tx.release()
	it := tx.txn.NewIterator(opt)
	defer it.Close()
	var chunk []record.Record
	for err := guard(seek, func() error { it.Seek(seek); return nil }); ; {
		if err != nil {
			return chunk, err
		}
		r, ok, err2 := current(it)
		if err2 != nil || !ok {
			return chunk, tx.s.damaged(err2)
		}
		if !bytes.Equal(r.Key, skip) {
			chunk = append(chunk, record.Record{Key: bytes.Clone(r.Key), Body: bytes.Clone(r.Body)})
			if len(chunk) == size {
				return chunk, nil
			}
		}
		err = guard(r.Key, func() error { it.Next(); return nil })
	}
}
