package kv

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// An idReader reads external ids and keeps the blocks it last decoded, so that neighbouring nodes, and neighbouring
// positions even more so, cost little. One goroutine.
type idReader struct {
	tx *Tx

	block int    // of ids, −1 for none
	ends  []int  // where the ids of the block end in text
	text  []byte // the ids of the block

	positions      []uint32 // of the nodes of a block
	positionsBlock int      // −1 for none
}

func (tx *Tx) newIDReader() *idReader { return &idReader{tx: tx, block: -1, positionsBlock: -1} }

// at returns the id of v.
func (r *idReader) at(v NodeID) (string, error) {
	if err := r.tx.checkNode(v); err != nil {
		return "", err
	}
	if int(v) >= r.tx.cat.LoadedNodes {
		return r.atPosition(int(v))
	}
	if block := int(v) / numbersPerBlock; block != r.positionsBlock {
		r.positionsBlock = -1
		var err error
		if r.positions, err = r.tx.numbers(kindPosition, block, r.positions[:0]); err != nil {
			return "", err
		}
		r.positionsBlock = block
	}
	return r.atPosition(int(r.positions[v%numbersPerBlock]))
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
		r.block = -1
		if err := r.read(block); err != nil {
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

// read decodes a block of ids: their lengths as varints, then their bytes.
func (r *idReader) read(block int) error {
	key := numberKey(kindIDs, r.tx.cat.Graph, uint32(block))
	return r.tx.need(key, func(body []byte) error {
		r.ends = r.ends[:0]
		end := 0
		for range min(idsPerBlock, r.tx.cat.LoadedNodes-block*idsPerBlock) {
			length, n := binary.Uvarint(body)
			if n <= 0 || length > MaxID {
				return corrupt(key, fmt.Sprintf("id %d of it has no length", len(r.ends)))
			}
			end += int(length)
			r.ends = append(r.ends, end)
			body = body[n:]
		}
		if len(body) != end {
			return corrupt(key, fmt.Sprintf("its ids have %d bytes, want %d", len(body), end))
		}
		r.text = append(r.text[:0], body...)
		return nil
	})
}
