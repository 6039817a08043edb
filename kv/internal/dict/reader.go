package dict

import (
	"iter"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Reader reads external ids, and the places of nodes in the nodes file. It keeps the blocks it last read, so that
// neighbouring nodes, and neighbouring positions even more so, cost little. One goroutine.
type Reader struct {
	dict *Dict

	block int    // of ids, −1 for none
	ids   idText // of the block
	walk  []byte // memory of a block of ids

	positions, nodes numberBlock
}

// A numberBlock is a block of the positions of nodes, or of the nodes at positions.
type numberBlock struct {
	kind   record.Kind
	number int    // −1 for none
	body   []byte // borrowed
	walk   []byte // memory of a block
}

// Reader returns a reader of the dictionary.
func (d *Dict) Reader() *Reader {
	return &Reader{
		dict: d, block: -1,
		positions: numberBlock{kind: record.KindPosition, number: -1}, nodes: numberBlock{kind: record.KindNodeAt,
			number: -1},
	}
}

// record returns the body of a record behind the last one that was read of its kind, borrowed. If it was not asked
// for before it lies in the memory of walk, and is not kept; nor is one that follows the last: it is probably of a
// walk over all of them.
func (r *Reader) record(name snapshot.Name, last int, walk *[]byte) ([]byte, error) {
	if entry := r.dict.Records.Cache().Get(name); entry != nil {
		return entry.Body, nil
	}
	var previous []byte
	switch follows := int(name.A) == last+1; {
	case follows && last >= 0:
		before := name
		before.A--
		previous = before.Key()
	case !follows && r.dict.Records.Cache().Again(name):
		return snapshot.Lookup(r.dict.Records, name)
	}
	err := snapshot.Need(snapshot.After(r.dict.Records, previous), name.Key(), func(body []byte) error {
		*walk = append((*walk)[:0], body...)
		return nil
	})
	return *walk, err
}

// number reads the i-th number of all blocks of a kind.
func (r *Reader) number(b *numberBlock, i int) (int, error) {
	if block := i / NumbersPerBlock; block != b.number {
		last, name := b.number, snapshot.Name{Kind: b.kind, Generation: r.dict.Generation, A: uint32(block)}
		b.number = -1
		body, err := r.record(name, last, &b.walk)
		if err == nil {
			err = r.dict.checkNumbers(b.kind, block, body)
		}
		if err != nil {
			return 0, err
		}
		b.body, b.number = body, block
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
	err := snapshot.Need(snapshot.InPlace(r.dict.Records), AddedNodeKey(r.dict.Generation, record.NodeID(position)),
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
	if block := position / IDsPerBlock; r.block != block {
		last, name := r.block, r.dict.idBlock(block)
		r.block = -1
		body, err := r.record(name, last, &r.walk)
		if err != nil {
			return "", err
		}
		if r.ids, err = r.dict.parseIDs(name, body, r.ids.ends[:0]); err != nil {
			return "", err
		}
		r.block = block
	}
	return string(r.ids.at(position % IDsPerBlock)), nil
}

// PositionKeys are the keys of the blocks that hold the positions of ascending nodes.
func (d *Dict) PositionKeys(nodes iter.Seq[record.NodeID]) iter.Seq[[]byte] {
	return snapshot.BlockKeys(nodes, NumbersPerBlock, d.LoadedNodes, func(block uint32) []byte {
		return snapshot.Name{Kind: record.KindPosition, Generation: d.Generation, A: block}.Key()
	})
}

// IDKeys are the keys of the blocks that hold the ids at ascending positions.
func (d *Dict) IDKeys(positions iter.Seq[int]) iter.Seq[[]byte] {
	if d.Dense {
		return func(func([]byte) bool) {}
	}
	return snapshot.BlockKeys(positions, IDsPerBlock, d.LoadedNodes,
		func(block uint32) []byte { return d.idBlock(int(block)).Key() })
}
