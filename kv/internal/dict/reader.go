package dict

import (
	"strconv"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A Reader reads external ids and keeps the blocks it last read, so that neighbouring nodes, and neighbouring
// positions even more so, cost little. One goroutine.
type Reader struct {
	dict *Dict

	block int    // of ids, −1 for none
	ends  []int  // where the ids of the block end in text
	text  []byte // the ids of the block, borrowed

	positions      []byte // a block of them by node, borrowed
	positionsBlock int    // −1 for none
}

// Reader returns a reader of the dictionary.
func (d *Dict) Reader() *Reader { return &Reader{dict: d, block: -1, positionsBlock: -1} }

// record returns the body of a record behind the last one that was read of its kind, which is borrowed. One that does
// not follow it is a lookup; one that does is probably of a walk over all of them, and is not kept.
func (r *Reader) record(name snapshot.Name, last int) ([]byte, error) {
	if int(name.A) != last+1 {
		return snapshot.Lookup(r.dict.Records, name)
	}
	if entry := r.dict.Records.Cache().Get(name); entry != nil {
		return entry.Body, nil
	}
	var body []byte
	err := snapshot.Need(r.dict.Records, name.Key(), func(read []byte) error {
		body = read
		return nil
	})
	return body, err
}

// At returns the id of v.
func (r *Reader) At(v record.NodeID) (string, error) {
	if int(v) >= r.dict.LoadedNodes {
		return r.AtPosition(int(v))
	}
	block := int(v) / NumbersPerBlock
	if block != r.positionsBlock {
		name := snapshot.Name{Kind: record.KindPosition, Generation: r.dict.Generation, A: uint32(block)}
		body, err := r.record(name, r.positionsBlock)
		if err == nil {
			err = r.dict.checkNumbers(record.KindPosition, block, body)
		}
		if err != nil {
			return "", err
		}
		r.positions, r.positionsBlock = body, block
	}
	position, err := r.dict.numberIn(record.KindPosition, block, r.positions, int(v)%NumbersPerBlock)
	if err != nil {
		return "", err
	}
	return r.AtPosition(int(position))
}

// AtPosition returns the id at a position, which must be less than the number of nodes.
func (r *Reader) AtPosition(position int) (string, error) {
	if position < r.dict.LoadedNodes {
		return r.loaded(position)
	}
	var id string
	err := snapshot.Need(r.dict.Records, AddedNodeKey(r.dict.Generation, record.NodeID(position)), func(body []byte) error {
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
		body, err := r.record(name, last)
		if err != nil {
			return "", err
		}
		if r.ends, r.text, err = r.dict.parseIDs(name, body, r.ends[:0]); err != nil {
			return "", err
		}
		r.block = block
	}
	i := position % IDsPerBlock
	begin := 0
	if i > 0 {
		begin = r.ends[i-1]
	}
	return string(r.text[begin:r.ends[i]]), nil
}
