package dict

import (
	"encoding/binary"
	"iter"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Reader reads external ids, and the places of nodes in the nodes file. It keeps the blocks it last read, so that
// neighbouring nodes, and neighbouring positions even more so, cost little. One goroutine.
type Reader struct {
	dict   *Dict
	isOnce bool // it reads one number or id

	ids  block
	ends [IDsPerBlock]uint32 // of each id in the block of ids

	positions, nodes block
}

// A block is the last that was read of a kind.
type block struct {
	kind   record.Kind
	number int    // −1 for none
	body   []byte // borrowed; of ids their text alone
	walk   []byte // memory of a block
}

// Reader returns a reader of the dictionary.
func (d *Dict) Reader() *Reader {
	r := d.Once()
	r.isOnce = false
	return &r
}

// Once returns a reader of one number or id, which is kept in memory with its block.
func (d *Dict) Once() Reader {
	return Reader{
		dict: d, isOnce: true, ids: block{kind: record.KindIDs, number: -1},
		positions: block{kind: record.KindPosition, number: -1}, nodes: block{kind: record.KindNodeAt, number: -1},
	}
}

// read makes block number the one that b has. Its body lies in the memory of b, unless it is cached already: who reads
// many does not crowd others out.
func (r *Reader) read(b *block, number int, parse func(body []byte) ([]byte, error)) error {
	if number == b.number {
		return nil
	}
	b.number = -1
	body, err := r.record(r.dict.block(b.kind, number), &b.walk)
	if err == nil {
		body, err = parse(body)
	}
	if err != nil {
		return err
	}
	b.body, b.number = body, number
	return nil
}

// record returns the body of a record, borrowed.
func (r *Reader) record(name snapshot.Name, walk *[]byte) ([]byte, error) {
	if r.isOnce {
		return snapshot.Lookup(r.dict.Records, name)
	}
	if entry := r.dict.Records.Cache().Get(name); entry != nil {
		return entry.Body, nil
	}
	memory := *walk // walk itself would be on the heap
	err := snapshot.Need(r.dict.Records, name.Key(), func(body []byte) error {
		memory = append(memory[:0], body...)
		return nil
	})
	*walk = memory
	return memory, err
}

// number reads the i-th number of all blocks of a kind.
func (r *Reader) number(b *block, i int) (int, error) {
	err := r.read(b, i/NumbersPerBlock, func(body []byte) ([]byte, error) {
		return body, r.dict.checkNumbers(b.kind, i/NumbersPerBlock, body)
	})
	if err != nil {
		return 0, err
	}
	n, err := r.dict.numberIn(b.kind, b.number, b.body, i%NumbersPerBlock)
	return int(n), err
}

// PositionOf returns the place of a node in the nodes file.
func (r *Reader) PositionOf(v record.NodeID) (int, error) {
	if int(v) >= r.dict.LoadedNodes {
		return int(v), nil
	}
	return r.number(&r.positions, int(v))
}

// NodeAt returns the node at a position, which must be less than the number of nodes.
func (r *Reader) NodeAt(position int) (record.NodeID, error) {
	if position >= r.dict.LoadedNodes {
		return record.NodeID(position), nil
	}
	v, err := r.number(&r.nodes, position)
	return record.NodeID(v), err
}

// At returns the id of v.
func (r *Reader) At(v record.NodeID) (string, error) {
	position, err := r.PositionOf(v)
	if err != nil {
		return "", err
	}
	return r.AtPosition(position)
}

// AtPosition returns the id at a position, which must be less than the number of nodes.
func (r *Reader) AtPosition(position int) (string, error) {
	if position < r.dict.LoadedNodes {
		return r.loaded(position)
	}
	var id string
	err := snapshot.Need(r.dict.Records, AddedNodeKey(r.dict.Generation, record.NodeID(position)),
		func(body []byte) error {
			id = string(body)
			return nil
		})
	return id, err
}

// loaded returns the id at a position of the load.
func (r *Reader) loaded(position int) (string, error) {
	if r.dict.Dense {
		return strconv.Itoa(position), nil
	}
	number, begin := position/IDsPerBlock, uint32(0)
	err := r.read(&r.ids, number, func(body []byte) ([]byte, error) { return r.parseIDs(number, body) })
	if err != nil {
		return "", err
	}
	if position %= IDsPerBlock; position > 0 {
		begin = r.ends[position-1]
	}
	return string(r.ids.body[begin:r.ends[position]]), nil
}

// parseIDs reads a block of ids: their lengths as varints, then their text, which it returns.
func (r *Reader) parseIDs(number int, body []byte) (text []byte, err error) {
	end := uint32(0)
	for i := range min(IDsPerBlock, r.dict.LoadedNodes-number*IDsPerBlock) {
		length, n := binary.Uvarint(body)
		if n <= 0 || length > MaxID {
			return nil, record.Corrupt(r.dict.block(record.KindIDs, number).Key(), "an id of it has no length")
		}
		end += uint32(length)
		r.ends[i], body = end, body[n:]
	}
	if len(body) != int(end) {
		return nil, record.Corrupt(r.dict.block(record.KindIDs, number).Key(), "its ids are not as long as it says")
	}
	return body, nil
}

// block is the name of a block.
func (d *Dict) block(k record.Kind, number int) snapshot.Name {
	return snapshot.Name{Kind: k, Generation: d.Generation, A: uint32(number)}
}

// PositionKeys are the keys of the blocks that hold the positions of ascending nodes.
func (d *Dict) PositionKeys(nodes iter.Seq[record.NodeID]) iter.Seq[[]byte] {
	return blockKeys(d, nodes, record.KindPosition, NumbersPerBlock)
}

// IDKeys are the keys of the blocks that hold the ids at ascending positions.
func (d *Dict) IDKeys(positions iter.Seq[int]) iter.Seq[[]byte] {
	if d.Dense {
		return func(func([]byte) bool) {}
	}
	return blockKeys(d, positions, record.KindIDs, IDsPerBlock)
}

func blockKeys[N ~uint32 | ~int](d *Dict, numbers iter.Seq[N], k record.Kind, inBlock int) iter.Seq[[]byte] {
	return snapshot.BlockKeys(numbers, inBlock, d.LoadedNodes,
		func(number uint32) []byte { return d.block(k, int(number)).Key() })
}
