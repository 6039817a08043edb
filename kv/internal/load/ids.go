package load

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"sync"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An idIndex finds the positions of the ids of a load. It is made once all nodes are known, in the first of these ways
// for which there is memory: each id is its position; an array by integer; a table by text; tables of parts of the ids,
// one after the other (idJoin). Any number of goroutines look ids up.
type idIndex struct {
	nodes, bytes int64 // ids, and their size
	isInteger    bool  // all are integers
	isNatural    bool  // and not negative
	isDense      bool  // and their positions
	greatest     int64 // of integers

	once     sync.Once
	err      error
	integers offheap.Array[uint32] // by integer the position plus one
	texts    *textTable
	join     *idJoin
}

// note takes the id of the next position into account.
func (x *idIndex) note(id string) {
	if x.isInteger {
		k, integer := dict.Integer(id)
		x.isInteger = integer
		x.isNatural = x.isNatural && integer && k >= 0
		x.isDense = x.isDense && integer && k == x.nodes
		x.greatest = max(x.greatest, k)
	}
	x.nodes++
	x.bytes += int64(len(id))
}

// makeIndex makes the index and the sorter of edges, and notes ids that are given twice.
func (l *Load) makeIndex(ctx context.Context) error {
	l.ids.once.Do(func() { l.ids.err = l.chooseIndex(ctx) })
	return l.ids.err
}

func (l *Load) chooseIndex(ctx context.Context) (err error) {
	l.edges = newEdgeSorter(l)
	x, unit := &l.ids, Unit(l.opt.MemoryBudget)
	// As ids are not sorted while they are looked up, they may take what that would.
	switch {
	case x.isDense:
		return nil
	case x.isNatural && x.greatest < unit/8:
		if x.integers, err = offheap.New[uint32](int(x.greatest) + 1); err != nil {
			return err
		}
		return l.eachRow(ctx, func(row nodeRow) error {
			place := &x.integers.Data[integerKey(viewText(row.id))]
			if *place > 0 {
				l.givenTwice(string(row.id), row.source, *place-1)
				return nil
			}
			*place = uint32(row.position) + 1
			return nil
		})
	case tableBytes(x.nodes, x.bytes) <= unit/2+unit/3:
		if x.texts, err = newTextTable(x.nodes, x.bytes); err != nil {
			return err
		}
		return l.eachRow(ctx, func(row nodeRow) error {
			l.addTo(x.texts, row.id, row.position, row.source)
			return nil
		})
	}
	x.join, err = newIDJoin(ctx, l)
	return err
}

// addTo adds an id to a table, or notes that it is there.
func (l *Load) addTo(t *textTable, id []byte, position int, source int64) {
	if first := t.add(dict.Hash(viewText(id)), viewText(id), uint32(position)); first != notFound {
		l.givenTwice(viewText(id), source, first)
	}
}

// givenTwice notes an id that the node at a position has already.
func (l *Load) givenTwice(id string, source int64, first uint32) {
	l.note(&l.duplicate, RowError{ID: id, Source: source, First: int64(first), Err: record.ErrExists})
}

// free gives the memory back.
func (x *idIndex) free() error {
	err := errors.Join(x.integers.Free(), x.texts.free(), x.join.close())
	x.texts, x.join = nil, nil
	return err
}

// noInteger is the key of an id that is no integer from 0 up.
const noInteger = 1 << 63

// integerKey is the key of an id that is looked up as an integer.
func integerKey(id string) uint64 {
	k, ok := dict.Integer(id)
	if !ok || k < 0 {
		return noInteger
	}
	return uint64(k)
}

// notFound is the position of an id that no node has; record.MaxNodes keeps it free.
const notFound = math.MaxUint32

// findIntegers sets the positions of integers, or notFound. Nothing depends on what was read for another, so that the
// processor waits for many of them at once.
func (x *idIndex) findIntegers(keys []uint64, positions []uint32) {
	table := x.integers.Data
	for i, k := range keys {
		positions[i] = notFound
		switch {
		case k < uint64(len(table)):
			positions[i] = table[k] - 1 // 0 becomes notFound
		case x.isDense && k < uint64(x.nodes):
			positions[i] = uint32(k)
		}
	}
}

// A textTable finds the positions of ids by their text: a table of slots by hash, with linear probing, over records
//
//	position uint32 · length uint16 · text
//
// A slot is 0 if it is empty, or else the place of a record plus one below the upper tagBits bits of the hash. The
// table is chosen by the lower bits.
type textTable struct {
	slots   offheap.Array[uint64]
	records offheap.Array[uint8]
	used    int
}

const (
	tagBits      = 24
	placeBits    = 64 - tagBits
	placeMask    = 1<<placeBits - 1
	recordHeader = 6
)

// slotsOf is how many slots a table of ids has: a power of two, of which a third at least is empty.
func slotsOf(ids int64) int64 { return 1 << bits.Len64(uint64(ids+ids/2)) }

// tableBytes is the size of a table of ids that have so many bytes together.
func tableBytes(ids, bytes int64) int64 { return 8*slotsOf(ids) + recordHeader*ids + bytes }

// newTextTable makes a table with room for ids that have so many bytes together.
func newTextTable(ids, bytes int64) (x *textTable, err error) {
	x = &textTable{}
	if x.slots, err = offheap.New[uint64](int(slotsOf(ids))); err != nil {
		return nil, err
	}
	if x.records, err = offheap.New[uint8](int(recordHeader*ids + bytes)); err != nil {
		return nil, errors.Join(err, x.free())
	}
	return x, nil
}

// add adds an id, or returns the position of the same one, which is notFound otherwise.
func (x *textTable) add(hash uint64, id string, position uint32) uint32 {
	mask := uint64(len(x.slots.Data) - 1)
	at := hash & mask
	if there := x.find(hash, id); there != notFound {
		return there
	}
	for x.slots.Data[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots.Data[at] = hash>>placeBits<<placeBits | uint64(x.used+1)
	record := x.records.Data[x.used:]
	binary.LittleEndian.PutUint32(record, position)
	binary.LittleEndian.PutUint16(record[4:], uint16(len(id)))
	x.used += recordHeader + copy(record[recordHeader:], id)
	return notFound
}

// find is the position of an id, or notFound.
func (x *textTable) find(hash uint64, id string) uint32 {
	mask := uint64(len(x.slots.Data) - 1)
	at := hash & mask
	for slot := x.slots.Data[at]; slot != 0; slot = x.slots.Data[at] {
		if (slot^hash)>>placeBits == 0 {
			record := x.record(slot)
			text := record[recordHeader:]
			if text = text[:binary.LittleEndian.Uint16(record[4:])]; string(text) == id {
				return binary.LittleEndian.Uint32(record)
			}
		}
		at = (at + 1) & mask
	}
	return notFound
}

// record is the record of a slot, and what follows.
func (x *textTable) record(slot uint64) []byte { return x.records.Data[slot&placeMask-1:] }

// findAll sets the positions of ids of given hashes, or notFound. Slots and records are each fetched for all of the ids
// before the first is looked at, so that the processor waits for many at once.
func (x *textTable) findAll(hashes []uint64, id func(i int) string, positions []uint32) {
	slot := func(hash uint64) uint64 { return x.slots.Data[hash&uint64(len(x.slots.Data)-1)] }
	for i, hash := range hashes {
		positions[i] = uint32(slot(hash))
	}
	for i, hash := range hashes {
		if slot := slot(hash); slot != 0 {
			positions[i] = binary.LittleEndian.Uint32(x.record(slot))
		}
	}
	for i, hash := range hashes {
		positions[i] = x.find(hash, id(i))
	}
}

func (x *textTable) free() error {
	if x == nil {
		return nil
	}
	return errors.Join(x.slots.Free(), x.records.Free())
}
