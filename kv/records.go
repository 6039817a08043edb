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

func (r txRecords) Get(key []byte, use func(body []byte) error) error {
	if err := r.tx.acquire(); err != nil {
		return err
	}
	defer r.tx.release()
	value, err := r.tx.txn.Get(key)
	if err != nil {
		return err
	}
	body, err := record.Decode(key, value)
	if err != nil {
		return r.tx.s.damaged(err)
	}
	return use(body)
}

// Fetch has the Getter read records where they lie. That pays off from a few records on. For an Update it does not:
// Badger sorts all that was written for each new iterator.
func (r txRecords) Fetch(prefix []byte, count int, read func(snapshot.Getter) error) error {
	if r.tx.write || count < 4 {
		return read(r)
	}
	if err := r.tx.acquire(); err != nil {
		return err
	}
	defer r.tx.release()
	lookups := r.tx.txn.Lookups(prefix)
	return read(snapshot.GetFunc(func(key []byte, use func(body []byte) error) error {
		return r.tx.lookUp(lookups, key, use)
	}))
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

// lookUp reads a record where it lies.
func (tx *Tx) lookUp(l *lsm.Lookups, key []byte, use func(body []byte) error) error {
	damaged := true
	err := l.Record(key, func(body []byte) error {
		damaged = false
		return use(body)
	})
	if damaged && err != nil {
		return tx.s.damaged(err)
	}
	return err
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

// iterateChunks iterates in an Update, which may write between two records, and an iterator does not see that: it reads
// some records ahead into memory of their own, closes the iterator, and only then yields them.
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

// A cursor looks up records of one kind and generation.
type cursor struct {
	prefix  []byte
	lookups *lsm.Lookups
	last    []byte // the key that was read last
}

// cursors are those of one snapshot that nobody is using.
type cursors struct {
	mu   sync.Mutex
	free []*cursor
}

// take returns the cursor that read a key last, if there is one, else any other of its kind and generation; nil if
// there is none.
func (c *cursors) take(previous, key []byte) *cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, cursor := range c.free {
		if !bytes.HasPrefix(key, cursor.prefix) {
			continue
		}
		best = i
		if bytes.Equal(cursor.last, previous) {
			break
		}
	}
	if best < 0 {
		return nil
	}
	cursor := c.free[best]
	c.free = slices.Delete(c.free, best, best+1)
	return cursor
}

func (c *cursors) giveBack(cursor *cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cursor)
}

func (r txRecords) GetAfter(previous, key []byte, use func(body []byte) error) error {
	tx := r.tx
	if tx.write {
		return r.Get(key, use) // a write would have to close the cursors
	}
	if err := tx.acquire(); err != nil {
		return err
	}
	defer tx.release()
	c := tx.cursors.take(previous, key)
	if c == nil {
		prefix := record.Prefix(record.Kind(key[0]), record.GenerationOf(key))
		c = &cursor{prefix: prefix, lookups: tx.txn.Lookups(prefix)}
	}
	defer tx.cursors.giveBack(c)
	c.last = append(c.last[:0], key...)
	return tx.lookUp(c.lookups, key, use)
}
