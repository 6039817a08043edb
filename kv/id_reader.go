package kv

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// An idReader reads external ids and keeps the blocks it last read, so that neighbouring nodes, and neighbouring
// positions even more so, cost little. One goroutine.
type idReader struct {
	tx *Tx

	block int    // of ids, −1 for none
	ends  []int  // where the ids of the block end in text
	text  []byte // the ids of the block, borrowed

	positions      []byte // a block of them by node, borrowed
	positionsBlock int    // −1 for none
}

func (tx *Tx) newIDReader() *idReader { return &idReader{tx: tx, block: -1, positionsBlock: -1} }

// record returns the body of a record behind the last one that was read of its kind, which is borrowed. One that does
// not follow it is a lookup; one that does is probably of a walk over all of them, and is not kept.
func (r *idReader) record(name recordName, last int) ([]byte, error) {
	if int(name.a) != last+1 {
		kept, err := r.tx.lookup(name)
		if err != nil {
			return nil, err
		}
		return kept.body, nil
	}
	if kept := r.tx.records.get(name); kept != nil {
		return kept.body, nil
	}
	var body []byte
	err := r.tx.need(name.key(), func(read []byte) error {
		body = read
		return nil
	})
	return body, err
}

// at returns the id of v.
func (r *idReader) at(v NodeID) (string, error) {
	if err := r.tx.checkNode(v); err != nil {
		return "", err
	}
	if int(v) >= r.tx.cat.LoadedNodes {
		return r.atPosition(int(v))
	}
	block := int(v) / numbersPerBlock
	if block != r.positionsBlock {
		name := recordName{kind: record.KindPosition, generation: r.tx.cat.Graph, a: uint32(block)}
		body, err := r.record(name, r.positionsBlock)
		if err == nil {
			err = r.tx.checkNumbers(record.KindPosition, block, body)
		}
		if err != nil {
			return "", err
		}
		r.positions, r.positionsBlock = body, block
	}
	position, err := r.tx.numberIn(record.KindPosition, block, r.positions, int(v)%numbersPerBlock)
	if err != nil {
		return "", err
	}
	return r.atPosition(int(position))
}

// atPosition returns the id at a position, which must be less than the number of nodes.
func (r *idReader) atPosition(position int) (string, error) {
	if position < r.tx.cat.LoadedNodes {
		return r.loaded(position)
	}
	var id string
	err := r.tx.need(addedNodeKey(r.tx.cat.Graph, NodeID(position)), func(body []byte) error {
		id = string(body)
		return nil
	})
	return id, err
}

// loaded returns the id at a position of the load.
func (r *idReader) loaded(position int) (string, error) {
	if r.tx.cat.DenseIDs {
		return strconv.Itoa(position), nil
	}
	if block := position / idsPerBlock; r.block != block {
		last := r.block
		r.block = -1
		if err := r.read(block, last); err != nil {
			return "", err
		}
		r.block = block
	}
	i := position % idsPerBlock
	begin := 0
	if i > 0 {
		begin = r.ends[i-1]
	}
	return string(r.text[begin:r.ends[i]]), nil
}

// read decodes a block of ids, the one read before being last: their lengths as varints, then their bytes.
func (r *idReader) read(block, last int) error {
	name := recordName{kind: record.KindIDs, generation: r.tx.cat.Graph, a: uint32(block)}
	body, err := r.record(name, last)
	if err != nil {
		return err
	}
	r.ends = r.ends[:0]
	end := 0
	for range min(idsPerBlock, r.tx.cat.LoadedNodes-block*idsPerBlock) {
		length, n := binary.Uvarint(body)
		if n <= 0 || length > MaxID {
			return record.Corrupt(name.key(), fmt.Sprintf("id %d of it has no length", len(r.ends)))
		}
		end += int(length)
		r.ends = append(r.ends, end)
		body = body[n:]
	}
	if len(body) != end {
		return record.Corrupt(name.key(), fmt.Sprintf("its ids have %d bytes, want %d", len(body), end))
	}
	r.text = body
	return nil
}
