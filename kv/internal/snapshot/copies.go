package snapshot

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Copies are what records of generations say of some nodes, lent to a snapshot so that it need not read these records. As a generation
// is written once, a copy is right for as long as the catalogue names the generation.
type Copies struct {
	lent  atomic.Bool // there are some
	mu    sync.RWMutex
	nodes map[record.NodeID]copied
}

// A copied is a node of a body: its fields, each of a generation.
type copied struct {
	generations []record.Generation
	fields      []byte // each behind its length
}

// AppendHead appends the generations of fields to a body, before its nodes.
func AppendHead(body []byte, generations []record.Generation) []byte {
	body = binary.AppendUvarint(body, uint64(len(generations)))
	for _, g := range generations {
		body = binary.AppendUvarint(body, uint64(g))
	}
	return body
}

// AppendCopy appends a node to a body, before its fields.
func AppendCopy(body []byte, v record.NodeID) []byte {
	return binary.BigEndian.AppendUint32(body, uint32(v))
}

// AppendField appends a field of a node to a body.
func AppendField(body, field []byte) []byte {
	return append(binary.AppendUvarint(body, uint64(len(field))), field...)
}

// maxFields is how many fields of a node a body may have.
const maxFields = 64

var errCut = fmt.Errorf("copies of rows: %w: they are cut short", record.ErrCorrupt)

// ParseHead returns the generations of the fields of a body, and its nodes.
func ParseHead(body []byte) (generations []record.Generation, nodes []byte, err error) {
	count, n := binary.Uvarint(body)
	if n <= 0 || count > maxFields {
		return nil, nil, errCut
	}
	body = body[n:]
	generations = make([]record.Generation, count)
	for i := range generations {
		g, n := binary.Uvarint(body)
		if n <= 0 {
			return nil, nil, errCut
		}
		generations[i], body = record.Generation(g), body[n:]
	}
	return generations, body, nil
}

// ParseCopies calls use for each node of a body, with its fields, each behind its length.
func ParseCopies(body []byte, use func(generations []record.Generation, v record.NodeID, fields []byte)) error {
	generations, body, err := ParseHead(body)
	if err != nil {
		return err
	}
	for len(body) > 0 {
		if len(body) < 4 {
			return errCut
		}
		v, rest := record.NodeID(binary.BigEndian.Uint32(body)), body[4:]
		fields := rest
		for range generations {
			var ok bool
			if _, rest, ok = CutField(rest); !ok {
				return errCut
			}
		}
		use(generations, v, fields[:len(fields)-len(rest)])
		body = rest
	}
	return nil
}

// CutField cuts the first field from what AppendField has appended.
func CutField(fields []byte) (field, rest []byte, ok bool) {
	length, n := binary.Uvarint(fields)
	if n <= 0 || length > uint64(len(fields)-n) {
		return nil, nil, false
	}
	return fields[n:][:length], fields[n:][length:], true
}

// Lend lends the nodes of a body, which is not changed afterwards; none of a damaged one.
func (c *Copies) Lend(body []byte) error {
	nodes := map[record.NodeID]copied{}
	err := ParseCopies(body, func(generations []record.Generation, v record.NodeID, fields []byte) {
		nodes[v] = copied{generations, fields}
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil {
		c.nodes = nodes
	} else {
		maps.Copy(c.nodes, nodes)
	}
	c.lent.Store(true)
	return nil
}

// Lent says whether there are copies.
func (c *Copies) Lent() bool { return c != nil && c.lent.Load() }

// Field is what a generation says of a node, if there is a copy of it.
func (c *Copies) Field(g record.Generation, v record.NodeID) (field []byte, ok bool) {
	if !c.Lent() {
		return nil, false
	}
	c.mu.RLock()
	node := c.nodes[v]
	c.mu.RUnlock()
	rest := node.fields
	for _, of := range node.generations {
		if field, rest, ok = CutField(rest); of == g {
			return field, ok
		}
	}
	return nil, false
}

// Without leaves out the nodes of which there is a copy of a generation.
func (c *Copies) Without(g record.Generation, nodes iter.Seq[record.NodeID]) iter.Seq[record.NodeID] {
	if !c.Lent() {
		return nodes
	}
	return func(yield func(record.NodeID) bool) {
		for v := range nodes {
			if _, ok := c.Field(g, v); !ok && !yield(v) {
				return
			}
		}
	}
}
