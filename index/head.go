package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Most questions ask for the same properties of the nodes at the greatest values of a column. These nodes are far
// apart: each property would cost a block a node. So an index has copies of these rows, its head, in a space of its
// own. A copy counts as long as the value has the origin that it had, see kv.Tx.Origin. So no write has to look for
// copies.
var headProperties = map[string][]string{"score": {"id", "label", "suggested", "confidence", "decision"}}

const (
	headNodes = 1 << 14 // at most, and about one in headShare nodes
	headShare = 32
	headBytes = 512 << 10 // about: a head is written in one transaction
	headRows  = 256       // of a record: a row has at most its part of kv.MaxSpaceValue
)

// A head answers for properties by copies. Its space has records of headRows rows, descending by entry, under their
// numbers from 0.
type head struct {
	tx         *kv.Tx
	space      string
	properties []string
	rows       map[kv.NodeID][]copied // one for each property
	records    int                    // read so far
}

type copied struct {
	origin uint64
	value  []byte
}

// openHead returns the head of the index of a column; nil if such an index has none.
func openHead(tx *kv.Tx, column string) *head {
	properties, ok := headProperties[column]
	if !ok {
		return nil
	}
	return &head{tx: tx, space: headSpace(column), properties: properties, rows: map[kv.NodeID][]copied{}}
}

func headSpace(column string) string { return "head/" + column }

func recordKey(number int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(number)) }

// known returns the value of a property of a node, if there is a copy that counts.
func (h *head) known(v kv.NodeID, property string) (value kv.Value, ok bool) {
	if h == nil {
		return kv.Value{}, false
	}
	row, at := h.rows[v], slices.Index(h.properties, property)
	if row == nil || at < 0 {
		return kv.Value{}, false
	}
	c := row[at]
	if origin, err := h.tx.Origin(property, v); err != nil || origin == 0 || origin != c.origin {
		return kv.Value{}, false
	}
	return value, value.Parse(c.value) == nil
}

// willRead says which properties of ascending nodes are read soon.
func (h *head) willRead(tx *kv.Tx, properties []string, nodes iter.Seq[kv.NodeID]) {
	for i, name := range properties {
		tx.WillRead(properties[i:i+1], func(yield func(kv.NodeID) bool) {
			for v := range nodes {
				if _, ok := h.known(v, name); !ok && !yield(v) {
					return
				}
			}
		})
	}
}

// read reads the copies of so many of the greatest entries. Damage ends it, since nothing needs copies.
func (h *head) read(entries int) error {
	for h.records*headRows < min(entries, headNodes) {
		body, err := h.tx.Space(h.space).Get(recordKey(h.records))
		if err == nil {
			err = h.add(body)
		}
		if h.records++; errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrCorrupt) {
			h.records = headNodes
		} else if err != nil {
			return fmt.Errorf("copies of rows: %w", err)
		}
	}
	return nil
}

// add adds the rows of a record.
func (h *head) add(body []byte) error {
	in := input{data: body}
	for len(in.data) > 0 {
		v, row := kv.NodeID(in.number(math.MaxUint32)), make([]copied, len(h.properties))
		for i := range row {
			row[i].origin = uint64(in.number(math.MaxInt))
			row[i].value = in.take(in.number(kv.MaxSpaceValue))
		}
		h.rows[v] = row
	}
	if in.failed {
		return fmt.Errorf("copies of rows: they are cut short: %w", kv.ErrCorrupt)
	}
	return nil
}

// appendRow appends the copy of a row: the node, and of each property the origin, 0 if there is none, the length of the
// value, and the value.
func (h *head) appendRow(dst []byte, v kv.NodeID) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(v))
	for _, property := range h.properties {
		origin, err := h.tx.Origin(property, v)
		value, err2 := h.tx.Value(v, property)
		if err = cmp.Or(err, err2); err != nil && !errors.Is(err, kv.ErrNoColumn) {
			return nil, err
		}
		field := value.Append(nil)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, origin), uint64(len(field)))
		dst = append(dst, field...)
	}
	return dst, nil
}

// write copies the rows of the greatest entries anew. It reads them in the order of nodes.
func (h *head) write(column string) error {
	var nodes []kv.NodeID
	info, _ := h.tx.Column(column)
	for g, err := range openPostings(h.tx, column).descend(wholeRange(valueKind(info.Kind))) {
		if err != nil {
			return err
		}
		slices.Reverse(g.nodes)
		nodes = append(nodes, g.nodes...)
		if len(nodes) >= min(headNodes, h.tx.NumNodes()/headShare) {
			nodes = nodes[:min(headNodes, len(nodes))]
			break
		}
	}
	rows := map[kv.NodeID][]byte{}
	for _, v := range slices.Sorted(slices.Values(nodes)) {
		row, err := h.appendRow(nil, v)
		if err != nil {
			return err
		}
		if len(row) <= kv.MaxSpaceValue/headRows {
			rows[v] = row
		}
	}
	if err := h.tx.Space(h.space).Drop(); err != nil {
		return err
	}
	number, size := 0, 0
	for some := range slices.Chunk(nodes, headRows) {
		var body []byte
		for _, v := range some {
			body = append(body, rows[v]...)
		}
		if err := h.tx.Space(h.space).Put(recordKey(number), body); err != nil {
			return err
		}
		if size += len(body); size >= headBytes {
			break
		}
		number++
	}
	return nil
}

// check reports each copy that counts and is not the value.
func (h *head) check(ctx context.Context, problem func(format string, args ...any)) error {
	err := h.read(headNodes)
	for v := range h.rows {
		for _, property := range h.properties {
			copied, ok := h.known(v, property)
			if value, err := h.tx.Value(v, property); ok && err == nil && value != copied {
				problem("node number %d has %s %s, the copy of it is %s", v, property, literal(value), literal(copied))
			}
		}
	}
	return cmp.Or(err, ctx.Err())
}

// copyHead copies the rows of an index anew. Damage is no error: nothing needs copies.
func copyHead(tx *kv.Tx, column string) error {
	if headProperties[column] == nil {
		return nil
	}
	if err := openHead(tx, column).write(column); err != nil && !errors.Is(err, kv.ErrCorrupt) {
		return fmt.Errorf("index on %s: copies of rows: %w", column, err)
	}
	return nil
}

// CopyHeads copies the first rows of indexes anew. Call it in the final function of Bulk.Commit, where the Bulk has
// written anew what is copied.
func CopyHeads(tx *kv.Tx) (err error) {
	for _, c := range tx.Columns() {
		if c.Indexed {
			err = cmp.Or(err, copyHead(tx, c.Name))
		}
	}
	return err
}
