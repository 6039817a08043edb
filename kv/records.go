package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// txRecords gives the structures of the store the records of a transaction, to read and to write.
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

// mostAhead is how many bytes iterateChunks reads ahead, about.
const mostAhead = 1 << 20

// iterateChunks iterates in an Update, which may write between two records, and an iterator does not see that: it reads
// some records ahead into memory of their own, ends the iterator, and only then yields them.
func (tx *Tx) iterateChunks(prefix, from []byte, reverse bool) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		var skip []byte // the last key of the chunk before, which the next begins with
		for size := 8; ; size = min(2*size, 1024) {
			var chunk []record.Record
			bytesHeld, more := 0, false
			err := tx.each(prefix, from, reverse, func(r record.Record) bool {
				if !bytes.Equal(r.Key, skip) {
					chunk = append(chunk, record.Record{Key: bytes.Clone(r.Key), Body: bytes.Clone(r.Body)})
					bytesHeld += len(r.Key) + len(r.Body)
				}
				more = len(chunk) == size || bytesHeld >= mostAhead
				return !more
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
			if !more {
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

// isNearer says whether a is before key, and b is further before it or after it.
func isNearer(a, b, key []byte) bool {
	return bytes.Compare(a, key) <= 0 && (bytes.Compare(b, key) > 0 || bytes.Compare(a, b) > 0)
}

func (c *cursors) giveBack(cursor *cursor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, cursor)
}

// dict is the dictionary of ids, positions and nodes.
func (tx *Tx) dict() *dict.Dict {
	if tx.structures != nil {
		return &tx.structures.dict
	}
	d := tx.newDict()
	return &d
}

func (tx *Tx) newDict() dict.Dict {
	c := tx.cat
	return dict.Dict{
		Records: tx.records(), Generation: c.Graph, Nodes: c.Nodes, LoadedNodes: c.LoadedNodes, Dense: c.DenseIDs,
		Reused: c.Removed > 0,
	}
}

// Node returns the node of an external id; ErrNotFound if there is none.
func (tx *Tx) Node(id string) (NodeID, error) {
	if err := tx.Err(); err != nil {
		return 0, err
	}
	position, err := tx.dict().Position(id)
	if err != nil {
		return 0, err
	}
	if position >= 0 {
		nodes := tx.dict().Once()
		v, err := nodes.NodeAt(position)
		if err != nil {
			return 0, err
		}
		if removed, err := tx.isRemoved(v); err != nil || !removed {
			return v, err
		}
	}
	return 0, fmt.Errorf("node %q: %w", firstRunes(id, MaxID), ErrNotFound)
}

// ID returns the external id of a node.
func (tx *Tx) ID(v NodeID) (string, error) {
	if err := tx.checkNode(v); err != nil {
		return "", err
	}
	ids := tx.dict().Once()
	return ids.At(v)
}

// Places reads the places of nodes in the node file, from 0, and the nodes and ids at places. Nodes added later
// follow, and removed nodes keep their places. Asked in ascending order, each costs little. It belongs to one
// goroutine; a Tx may have many. It sees what an Update wrote before it was made.
type Places struct {
	tx  *Tx
	ids *dict.Reader
}

// Places returns a reader of places.
func (tx *Tx) Places() (*Places, error) {
	if err := tx.Err(); err != nil {
		return nil, err
	}
	return &Places{tx, tx.dict().Reader()}, nil
}

// WillRead says at which ascending places ids are read soon; see Tx.WillRead.
func (p *Places) WillRead(positions iter.Seq[int]) { p.tx.willRead(p.tx.dict().IDKeys(positions)) }

// Of is the place of a node that is there.
func (p *Places) Of(v NodeID) (int, error) {
	if err := p.tx.checkNumber(v); err != nil {
		return 0, err
	}
	return p.ids.PositionOf(v)
}

// NodeAt is the node at a place, which must be one of a node that is there.
func (p *Places) NodeAt(position int) (NodeID, error) { return p.ids.NodeAt(position) }

// ID is the value of the property id of the node at a place, likewise.
func (p *Places) ID(position int) (Value, error) {
	id, err := p.ids.AtPosition(position)
	if err != nil {
		return Value{}, err
	}
	return p.tx.idValue(id)
}

// InFileOrder yields the NodeID of every node that is there, in the order of the node file, then of those added
// later. On failure it yields the error once, and stops.
func (tx *Tx) InFileOrder() iter.Seq2[NodeID, error] {
	return func(yield func(NodeID, error) bool) {
		tx.eachPlace(func(_ int, v NodeID, err error) bool { return yield(v, err) })
	}
}

// eachPlace yields the places of the nodes that are there, ascending, with the nodes. On failure it yields the error
// once.
func (tx *Tx) eachPlace(yield func(position int, v NodeID, err error) bool) {
	removed, err := tx.Removed()
	if err != nil {
		yield(0, 0, err)
		return
	}
	nodes := tx.dict().Reader()
	for position := range tx.cat.Nodes {
		v, err := nodes.NodeAt(position)
		if err != nil {
			yield(0, 0, err)
			return
		}
		if !removed.Has(v) && !yield(position, v, nil) {
			return
		}
	}
}

// IDs yields every external id in the order of InFileOrder. On failure it yields the error once, and stops.
func (tx *Tx) IDs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ids := tx.dict().Reader()
		tx.eachPlace(func(position int, _ NodeID, err error) bool {
			id := ""
			if err == nil {
				id, err = ids.AtPosition(position)
			}
			return yield(id, err) && err == nil
		})
	}
}

// AddNode adds a node without edges, numbered after all others. n.Values must be empty: use SetValue. An id that is
// taken is an ErrExists, one that cannot be an id an ErrInvalidID. The first id that is no integer turns the column
// id into text: Shape says whether that has happened.
func (tx *Tx) AddNode(n Node) (NodeID, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	if len(n.Values) > 0 {
		return 0, fmt.Errorf("node %q: %w: values are set by SetValue", n.ID, ErrInvalidValue)
	}
	if err := validateID(n.ID); err != nil {
		return 0, err
	}
	switch _, err := tx.Node(n.ID); {
	case err == nil:
		return 0, fmt.Errorf("node %q: %w", n.ID, ErrExists)
	case !errors.Is(err, ErrNotFound):
		return 0, err
	}
	if tx.cat.Nodes >= record.MaxNodes {
		return 0, fmt.Errorf("node %q: the store is full: it has %d nodes", n.ID, tx.cat.Nodes)
	}
	if err := tx.graphForWrite(); err != nil {
		return 0, fmt.Errorf("node %q: %w", n.ID, err)
	}
	v := NodeID(tx.cat.Nodes)
	if err := tx.dict().Add(tx.records(), v, n.ID); err != nil {
		return 0, err
	}
	counts, err := tx.count()
	if err != nil {
		return 0, err
	}
	_, integer := dict.Integer(n.ID)
	counts.IntegerIDs = counts.IntegerIDs && integer
	counts.Nodes++
	if n.Label != "" {
		if err := tx.SetLabel(v, n.Label); err != nil {
			return 0, tx.fail(fmt.Errorf("node %q: %w", n.ID, err))
		}
	}
	return v, nil
}

// graphForWrite gives a graph without one a generation.
func (tx *Tx) graphForWrite() error {
	if tx.cat.Graph != 0 {
		return nil
	}
	c, err := tx.change()
	if err != nil {
		return err
	}
	c.Graph, err = c.newGeneration()
	return err
}
