package gap

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// An Encoder collects rows and writes them as a block. The zero Encoder is empty and ready.
type Encoder[N ~uint32] struct {
	rows    int
	entries int
	starts  []byte // of finished and of the current group
	groups  []byte // finished groups
	degrees []byte // of the current group
	lists   []byte // of the current group
}

// Append adds the next row. The list ascends strictly; that it does is the caller's duty, and Append panics if it
// does not, since no later check could repair the order.
func (e *Encoder[N]) Append(list []N) {
	if e.rows%groupRows == 0 {
		e.closeGroup()
		e.starts = binary.LittleEndian.AppendUint32(e.starts, uint32(len(e.groups)))
	}
	e.degrees = binary.AppendUvarint(e.degrees, uint64(len(list)))
	e.rows++
	e.entries += len(list)
	e.lists = appendList(e.lists, list)
}

// appendList writes a list, for which what Append says holds, after dst as it is in a group.
func appendList[N ~uint32](dst []byte, list []N) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(list)*binary.MaxVarintLen32)
	dst = dst[:cap(dst)]
	previous := int64(-1)
	for _, v := range list {
		gap := uint64(int64(v) - previous - 1)
		if gap > math.MaxUint32 {
			panic(fmt.Sprintf("gap: neighbour %d follows %d", v, previous))
		}
		previous = int64(v)
		for ; gap >= 0x80; n++ {
			dst[n] = byte(gap) | 0x80
			gap >>= 7
		}
		dst[n] = byte(gap)
		n++
	}
	return dst[:n]
}

// Rows is the number of rows appended since the last Reset.
func (e *Encoder[N]) Rows() int { return e.rows }

// Size is the number of bytes that AppendTo will write, give or take the few of the header.
func (e *Encoder[N]) Size() int {
	return len(e.starts) + len(e.groups) + len(e.degrees) + len(e.lists)
}

// AppendTo writes the block after dst.
func (e *Encoder[N]) AppendTo(dst []byte) []byte {
	e.closeGroup()
	dst = binary.AppendUvarint(dst, uint64(e.rows))
	dst = binary.AppendUvarint(dst, uint64(e.entries))
	dst = append(dst, e.starts...)
	return append(dst, e.groups...)
}

// Reset forgets the rows and keeps the memory.
func (e *Encoder[N]) Reset() {
	*e = Encoder[N]{starts: e.starts[:0], groups: e.groups[:0], degrees: e.degrees[:0], lists: e.lists[:0]}
}

func (e *Encoder[N]) closeGroup() {
	e.groups = append(e.groups, e.degrees...)
	e.groups = append(e.groups, e.lists...)
	e.degrees, e.lists = e.degrees[:0], e.lists[:0]
}
