package load

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/graphcleaner/graphcleaner/internal/offheap"
	"github.com/graphcleaner/graphcleaner/kv/internal/dict"
)

// An idIndex finds the positions of the ids of a load in memory: of integers by their value, of all ids by their text
// from the first one that this does not suit. If neither has room it is off, for good: the ends of edges are then
// found by sorting. It is filled by one goroutine; after that any number look ids up.
type idIndex struct {
	off      bool
	byText   bool
	integers integerIndex
	texts    textIndex
}

// newIDIndex returns an index that takes about half a unit if the ids are integers, and, as ids are not sorted while
// they are looked up, what that would take besides.
func newIDIndex(unit int64) idIndex {
	return idIndex{integers: integerIndex{limit: unit / 8}, texts: textIndex{limit: unit/2 + unit/3}}
}

// isDense reports whether each id so far is its position.
func (x *idIndex) isDense() bool { return !x.off && !x.byText && len(x.integers.positions.Data) == 0 }

// add adds the id of the next position. If the id is there already, it returns that position and true instead.
func (x *idIndex) add(id string) (first int, duplicate bool, err error) {
	if x.off {
		return 0, false, nil
	}
	if !x.byText {
		first, duplicate, fits, err := x.integers.add(id)
		if fits || err != nil {
			return first, duplicate, err
		}
		if err := x.useTexts(); x.off || err != nil {
			return 0, false, err
		}
	}
	first, duplicate, fits, err := x.texts.add(dict.Hash(id), id)
	if !fits && err == nil {
		err = x.turnOff()
	}
	return first, duplicate, err
}

// useTexts goes on by text.
func (x *idIndex) useTexts() error {
	x.byText = true
	var position [1]uint32
	for rest, k := x.integers.count, uint64(0); rest > 0; k++ {
		x.integers.find([]uint64{k}, position[:])
		if position[0] == notFound {
			continue
		}
		id := strconv.FormatUint(k, 10)
		fits, err := x.texts.put(dict.Hash(id), id, position[0])
		if err != nil {
			return err
		}
		if !fits {
			return x.turnOff()
		}
		rest--
	}
	return x.integers.free()
}

// turnOff gives the memory back.
func (x *idIndex) turnOff() error {
	x.off = true
	if err := x.integers.free(); err != nil {
		return err
	}
	return x.texts.free()
}

// An integerIndex finds the positions of ids that are integers from 0 up to a limit that its memory sets. Ids that are
// their positions cost nothing; else it costs four bytes for every integer up to the greatest.
type integerIndex struct {
	limit int64 // integers are less
	count int   // ids so far

	// positions holds, by integer, the position plus one. It is empty while each id is its position.
	positions offheap.Array[uint32]
}

// add adds the id of the next position. If the id is there already, it returns that position and true instead. An id
// that is no such integer does not fit.
func (x *integerIndex) add(id string) (first int, duplicate, fits bool, err error) {
	position := x.count
	k, ok := dict.Integer(id)
	if len(x.positions.Data) == 0 {
		if ok && k == int64(position) {
			x.count++
			return 0, false, true, nil
		}
		if ok && 0 <= k && k < int64(position) {
			return int(k), true, true, nil
		}
		if !ok || k < 0 || max(k, int64(position)) >= x.limit {
			return 0, false, false, nil
		}
		if x.positions, err = offheap.New[uint32](int(x.limit)); err != nil {
			return 0, false, false, err
		}
		for i := range position {
			x.positions.Data[i] = uint32(i) + 1
		}
	}
	if !ok || k < 0 || k >= x.limit {
		return 0, false, false, nil
	}
	if there := x.positions.Data[k]; there > 0 {
		return int(there) - 1, true, true, nil
	}
	x.count++
	x.positions.Data[k] = uint32(position) + 1
	return 0, false, true, nil
}

func (x *integerIndex) free() error {
	x.count = 0
	return x.positions.Free()
}

// notFound is the position of an id that no node has; record.MaxNodes keeps it free.
const notFound = math.MaxUint32

// has reports whether an integer is there.
func (x *integerIndex) has(key uint64) bool {
	var position [1]uint32
	x.find([]uint64{key}, position[:])
	return position[0] != notFound
}

// find sets the positions of integers, or notFound. Nothing depends on what was read for another, so that the processor
// waits for many of them at once.
func (x *integerIndex) find(keys []uint64, positions []uint32) {
	if len(x.positions.Data) == 0 {
		for i, k := range keys {
			positions[i] = notFound
			if k < uint64(x.count) {
				positions[i] = uint32(k)
			}
		}
		return
	}
	table := x.positions.Data
	for i, k := range keys {
		positions[i] = notFound
		if k < uint64(len(table)) {
			positions[i] = table[k] - 1 // 0 becomes notFound
		}
	}
}

// A textIndex finds the positions of ids by their text: a table of slots by hash, with linear probing, over records
//
//	position uint32 · length uvarint · text
//
// A slot is 0 if it is empty, or else the place of a record plus one below the upper tagBits bits of the hash. The
// table is chosen by the lower bits.
type textIndex struct {
	limit   int64 // bytes of slots and records
	slots   offheap.Array[uint64]
	records offheap.Array[uint8] // made as long as the limit; used says what is in it
	used    int64
	count   int
}

const (
	tagBits   = 24
	placeBits = 64 - tagBits
	placeMask = 1<<placeBits - 1
	minSlots  = 1 << 10
)

// add is integerIndex.add. An id does not fit if there is no more room.
func (x *textIndex) add(hash uint64, id string) (first int, duplicate, fits bool, err error) {
	if there := x.findFrom(hash, x.slot(hash), id); there != notFound {
		return int(there), true, true, nil
	}
	fits, err = x.put(hash, id, uint32(x.count))
	return 0, false, fits, err
}

// put adds an id that is not there.
func (x *textIndex) put(hash uint64, id string, position uint32) (fits bool, err error) {
	size := int64(4 + binary.MaxVarintLen16 + len(id))
	if 4*(x.count+1) > 3*len(x.slots.Data) {
		if fits, err := x.grow(size); !fits || err != nil {
			return false, err
		}
	}
	if x.used+size > int64(len(x.records.Data)) || 8*int64(len(x.slots.Data))+x.used+size > x.limit {
		return false, nil
	}
	place := x.used
	record := binary.LittleEndian.AppendUint32(x.records.Data[place:place], position)
	record = binary.AppendUvarint(record, uint64(len(id)))
	record = append(record, id...)
	x.used += int64(len(record))
	x.count++
	x.take(hash, place)
	return true, nil
}

// grow makes room for twice as many slots beside the records and another size bytes of them, if the limit allows.
func (x *textIndex) grow(size int64) (fits bool, err error) {
	length := max(2*len(x.slots.Data), minSlots)
	if 8*int64(length)+x.used+size > min(x.limit, placeMask) {
		return false, nil
	}
	if len(x.records.Data) == 0 {
		if x.records, err = offheap.New[uint8](int(x.limit)); err != nil {
			return false, err
		}
	}
	if err := x.slots.Free(); err != nil {
		return false, err
	}
	if x.slots, err = offheap.New[uint64](length); err != nil {
		return false, err
	}
	for place := int64(0); place < x.used; {
		id, end := x.text(place)
		x.take(dict.Hash(viewText(id)), place)
		place = end
	}
	return true, nil
}

// take puts a record into the first free slot from that of its hash.
func (x *textIndex) take(hash uint64, place int64) {
	mask := uint64(len(x.slots.Data) - 1)
	at := hash & mask
	for x.slots.Data[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots.Data[at] = hash>>placeBits<<placeBits | uint64(place+1)
}

// slot is what the slot of a hash holds.
func (x *textIndex) slot(hash uint64) uint64 {
	if len(x.slots.Data) == 0 {
		return 0
	}
	return x.slots.Data[hash&uint64(len(x.slots.Data)-1)]
}

// position is that of the record at a place.
func (x *textIndex) position(place int64) uint32 {
	return binary.LittleEndian.Uint32(x.records.Data[place:])
}

// text is the id of the record at a place, which ends at another.
func (x *textIndex) text(place int64) (id []byte, end int64) {
	place += 4
	length := int64(x.records.Data[place])
	if length < 0x80 {
		place++
	} else {
		long, n := binary.Uvarint(x.records.Data[place:])
		length, place = int64(long), place+int64(n)
	}
	return x.records.Data[place : place+length], place + length
}

// findFrom returns the position of an id, or notFound; first is the slot of its hash.
func (x *textIndex) findFrom(hash, first uint64, id string) uint32 {
	mask := uint64(len(x.slots.Data) - 1)
	at := hash & mask
	for slot := first; slot != 0; slot = x.slots.Data[at] {
		if (slot^hash)>>placeBits == 0 {
			place := int64(slot&placeMask) - 1
			if text, _ := x.text(place); string(text) == id {
				return x.position(place)
			}
		}
		at = (at + 1) & mask
	}
	return notFound
}

// find sets the positions of ids of given hashes, or notFound; slots is as long, and scratch. Slots and records are
// each fetched for all of the ids before the first is looked at, so that the processor waits for many at once.
func (x *textIndex) find(hashes []uint64, id func(i int) string, slots []uint64, positions []uint32) {
	for i, hash := range hashes {
		slots[i] = x.slot(hash)
	}
	for i, slot := range slots {
		positions[i] = notFound
		if slot != 0 {
			positions[i] = x.position(int64(slot&placeMask) - 1)
		}
	}
	for i, hash := range hashes {
		positions[i] = x.findFrom(hash, slots[i], id(i))
	}
}

func (x *textIndex) free() error {
	x.used, x.count = 0, 0
	err := x.records.Free()
	if freeing := x.slots.Free(); err == nil {
		err = freeing
	}
	return err
}
