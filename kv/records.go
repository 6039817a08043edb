package kv

import (
	"bytes"
	"iter"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// txRecords are what a transaction shows of the store to the structures in it, and what they write.
type txRecords struct{ tx *Tx }

func (tx *Tx) records() txRecords { return txRecords{tx} }

func (r txRecords) Cache() *snapshot.Cache     { return r.tx.cache }
func (r txRecords) Put(key, body []byte) error { return r.tx.put(key, body) }
func (r txRecords) Remove(key []byte) error    { return r.tx.remove(key) }
func (r txRecords) Scan(prefix, from []byte) iter.Seq2[record.Record, error] {
	return r.tx.iterate(prefix, from, false)
}

// ScanDown yields the records whose key begins with prefix and is not greater than from (nil: all), descending.
func (r txRecords) ScanDown(prefix, from []byte) iter.Seq2[record.Record, error] {
	return r.tx.iterate(prefix, from, true)
}

// Get reads a record with the cursor that is best for it. In an Update a cursor sees what was written before too.
func (r txRecords) Get(key []byte, use func(body []byte) error) error {
	tx := r.tx
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	c := tx.cursors.take(key)
	if c == nil {
		prefix := key[:1]
		if record.Kind(key[0]) >= record.FirstGenerational {
			prefix = key[:5]
		}
		c = &cursor{prefix: bytes.Clone(prefix), lookups: tx.txn.Lookups(prefix)}
	}
	defer tx.cursors.giveBack(c)
	c.last = append(c.last[:0], key...)
	damaged := true
	err := c.lookups.Record(key, func(body []byte) error {
		damaged = false
		return use(body)
	})
	if damaged && err != nil {
		return tx.s.damaged(err)
	}
	return err
}

// WillRead says of which ascending nodes which properties are read soon; of the id, the place in the node file. A store
// that is opened to be read asks the system for them at once, so that the disk finds them side by side. A property that
// is not stored is ignored.
func (tx *Tx) WillRead(properties []string, nodes iter.Seq[NodeID]) {
	for _, name := range properties {
		if name == idColumn {
			tx.willRead(tx.dict().PositionKeys(nodes))
		} else if entry, err := tx.columnEntry(name); err == nil {
			tx.willRead(tx.column(entry).Keys(nodes))
		}
	}
}

// willRead says under which keys records are read soon.
func (tx *Tx) willRead(keys iter.Seq[[]byte]) {
	if tx.acquire() != nil {
		return
	}
	defer tx.release()
	tx.txn.WillRead(keys)
}

// iterate yields the records whose key begins with prefix and is not less than from (nil: all), ascending, or in
// reverse not greater, descending; each borrowed until the next step. Those in an Update may be nested; one sees what
// was written before it read the part it is in.
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
		err := tx.each(prefix, from, reverse, func(r record.Record) bool { return yield(r, nil) })
		if err != nil {
			yield(record.Record{}, err)
		}
	}
}

// iterateChunks iterates in an Update, which may write between two records, and an iterator does not see that: it reads
// some records ahead into memory of their own, ends the iterator, and only then yields them.
func (tx *Tx) iterateChunks(prefix, from []byte, reverse bool) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		var skip []byte // the last key of the chunk before, which the next begins with
		for size := 8; ; size = min(2*size, 1024) {
			var chunk []record.Record
			err := tx.each(prefix, from, reverse, func(r record.Record) bool {
				if !bytes.Equal(r.Key, skip) {
					chunk = append(chunk, record.Record{Key: bytes.Clone(r.Key), Body: bytes.Clone(r.Body)})
				}
				return len(chunk) < size
			})
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
			skip = chunk[len(chunk)-1].Key
			from = skip
		}
	}
}

// each calls use with the records of iterate until it returns false.
func (tx *Tx) each(prefix, from []byte, reverse bool, use func(record.Record) bool) error {
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	it := tx.txn.Iterator(prefix, reverse)
	defer it.Close()
	for err := it.Seek(from); ; err = it.Next() {
		if err != nil {
			return err
		}
		r, ok, err := it.Record()
		if err != nil || !ok {
			return tx.s.damaged(err)
		}
		if !use(r) {
			return nil
		}
	}
}

// A cursor looks up records of one kind and generation.
type cursor struct {
	prefix  []byte
	lookups *lsm.Lookups
	last    []byte // the key that was read last
}

// cursors are those of one transaction that nobody is using.
type cursors struct {
	mu   sync.Mutex
	free []*cursor
}

// take returns the cursor that read the nearest key before one, which is that of the same scan if there are several;
// else any other of its kind and generation; nil if there is none.
func (c *cursors) take(key []byte) *cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, cursor := range c.free {
		if bytes.HasPrefix(key, cursor.prefix) && (best < 0 || isNearer(cursor.last, c.free[best].last, key)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	cursor := c.free[best]
	c.free = slices.Delete(c.free, best, best+1)
	return cursor
}

// isNearer says whether a is before key, and b is further before it or behind it.
func isNearer(a, b, key []byte) bool {
	return bytes.Compare(a, key) <= 0 && (bytes.Compare(b, key) > 0 || bytes.Compare(a, b) > 0)
}

func (c *cursors) giveBack(cursor *cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cursor)
}
