package kv

import (
	"bytes"
	"iter"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// get calls use with the body of the record under key, which is use's to keep and not to change; ErrNotFound when there is
// none.
func (tx *Tx) get(key []byte, use func(body []byte) error) error {
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	value, err := tx.txn.Get(key)
	if err != nil {
		return err
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
	it := tx.txn.Iterator(prefix, false)
	defer it.Close()
	c := cursor{s: tx.s, it: it}
	return read(c.get)
}

// A cursor reads records by key with one iterator.
type cursor struct {
	s  *Store
	it *lsm.Iterator
	// hits and misses count how often the next record was the one wanted, and how often not.
	hits, misses int
}

func (c *cursor) get(key []byte, use func(body []byte) error) error {
	if err := c.find(key); err != nil {
		return err
	}
	if !c.it.On(key) {
		return ErrNotFound
	}
	r, _, err := c.it.Record()
	if err != nil {
		return c.s.damaged(err)
	}
	return use(r.Body)
}

// find goes to the record under a key, or where it would be.
func (c *cursor) find(key []byte) error {
	if c.misses <= c.hits && c.it.Valid() {
		if err := c.it.Next(); err != nil {
			return err
		}
		if c.it.On(key) {
			c.hits++
			return nil
		}
		c.misses++
	}
	return c.it.Seek(key)
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
	if from == nil {
		from = prefix
		if reverse {
			from = append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, MaxSpaceKey+1)...)
		}
	}
	if tx.write {
		return tx.iterateChunks(prefix, from, reverse)
	}
	return func(yield func(record.Record, error) bool) {
		if err := tx.acquire(); err != nil {
			yield(record.Record{}, err)
			return
		}
		defer tx.release()
		it := tx.txn.Iterator(prefix, reverse)
		defer it.Close()
		for err := it.Seek(from); ; {
			if err != nil {
				yield(record.Record{}, err)
				return
			}
			r, ok, err2 := it.Record()
			if err2 != nil || !ok {
				if err2 != nil {
					yield(record.Record{}, tx.s.damaged(err2))
				}
				return
			}
			if !yield(r, nil) {
				return
			}
			err = it.Next()
		}
	}
}

// iterateChunks iterates in an Update, where Badger allows one open iterator: it reads some records ahead into memory
// of their own, closes the iterator, and only then yields them.
func (tx *Tx) iterateChunks(prefix, from []byte, reverse bool) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		seek, skip := from, []byte(nil)
		for size := 8; ; size = min(2*size, 1024) {
			chunk, err := tx.readChunk(prefix, seek, skip, reverse, size)
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
func (tx *Tx) readChunk(prefix, seek, skip []byte, reverse bool, size int) ([]record.Record, error) {
	if err := tx.acquire(); err != nil {
		return nil, err
	}
	defer tx.release()
	it := tx.txn.Iterator(prefix, reverse)
	defer it.Close()
	var chunk []record.Record
	for err := it.Seek(seek); ; {
		if err != nil {
			return chunk, err
		}
		r, ok, err2 := it.Record()
		if err2 != nil || !ok {
			return chunk, tx.s.damaged(err2)
		}
		if !bytes.Equal(r.Key, skip) {
			chunk = append(chunk, record.Record{Key: bytes.Clone(r.Key), Body: bytes.Clone(r.Body)})
			if len(chunk) == size {
				return chunk, nil
			}
		}
		err = it.Next()
	}
}
