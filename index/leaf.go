package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/graphcleaner/graphcleaner/kv"
)

// A build begins a new leaf when one has this many entries, or its keys this many bytes. The latter stays far below
// what a record of a kv.Space may hold, whatever the keys.
const (
	leafEntries  = 512
	leafKeyBytes = 16 << 10
)

// A leaf is a decoded postings record: entries (key, NodeID) in ascending order. Entries with one key are a group.
type leaf struct {
	keys  []byte      // the groups' keys end to end
	ends  []int       // of each group's key in keys
	nodes []kv.NodeID // all entries' nodes, ascending within a group
	stops []int       // of each group's nodes in nodes
}

func (l *leaf) reset() {
	l.keys, l.ends, l.nodes, l.stops = l.keys[:0], l.ends[:0], l.nodes[:0], l.stops[:0]
}

func (l *leaf) groups() int { return len(l.ends) }

// key returns the key of group g, borrowed from the leaf.
func (l *leaf) key(g int) []byte {
	start := 0
	if g > 0 {
		start = l.ends[g-1]
	}
	return l.keys[start:l.ends[g]]
}

// group returns the nodes of group g, borrowed from the leaf.
func (l *leaf) group(g int) []kv.NodeID {
	start := 0
	if g > 0 {
		start = l.stops[g-1]
	}
	return l.nodes[start:l.stops[g]]
}

// first and last return copies of the entries at the ends of a leaf that is not empty.
func (l *leaf) first() []byte { return newEntry(l.key(0), l.nodes[0]) }
func (l *leaf) last() []byte  { return newEntry(l.key(l.groups()-1), l.nodes[len(l.nodes)-1]) }

// find returns the first group with a key ≥ key.
func (l *leaf) find(key []byte) (g int, same bool) {
	return sort.Find(l.groups(), func(g int) int { return bytes.Compare(key, l.key(g)) })
}

// add appends an entry that is above all others.
func (l *leaf) add(key []byte, v kv.NodeID) {
	if n := l.groups(); n == 0 || !bytes.Equal(l.key(n-1), key) {
		l.keys = append(l.keys, key...)
		l.ends = append(l.ends, len(l.keys))
		l.stops = append(l.stops, len(l.nodes))
	}
	l.nodes = append(l.nodes, v)
	l.stops[len(l.stops)-1]++
}

// apply makes the leaf that of another with changes, which ascend.
func (l *leaf) apply(to *leaf, changes []change) {
	l.reset()
	take := func() {
		if changes[0].there {
			key, v, _ := cutEntry(changes[0].entry)
			l.add(key, v)
		}
		changes = changes[1:]
	}
	var entry []byte
	for g := range to.groups() {
		for _, v := range to.group(g) {
			entry = binary.BigEndian.AppendUint32(append(entry[:0], to.key(g)...), uint32(v))
			for len(changes) > 0 && bytes.Compare(changes[0].entry, entry) < 0 {
				take()
			}
			if len(changes) > 0 && bytes.Equal(changes[0].entry, entry) {
				take()
			} else {
				l.add(to.key(g), v)
			}
		}
	}
	for len(changes) > 0 {
		take()
	}
}

// appendTo appends the encoded leaf: see the package comment.
func (l *leaf) appendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(l.groups()))
	var last []byte
	for g := range l.groups() {
		key, nodes := l.key(g), l.group(g)
		prefix := commonPrefix(last, key)
		dst = binary.AppendUvarint(dst, uint64(prefix))
		dst = binary.AppendUvarint(dst, uint64(len(key)-prefix))
		dst = append(dst, key[prefix:]...)
		dst = binary.AppendUvarint(dst, uint64(len(nodes)))
		before := kv.NodeID(0)
		for _, v := range nodes {
			dst = binary.AppendUvarint(dst, uint64(v-before))
			before = v
		}
		last = key
	}
	return dst
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// decode reads an encoded leaf, reusing l's memory. Whatever the bytes, it returns a leaf in order with valid
// keys, or an error that is kv.ErrCorrupt.
func (l *leaf) decode(data []byte) error {
	l.reset()
	in := input{data: data}
	groups := in.number(leafEntries)
	var last []byte
	for range groups {
		prefix, rest := in.number(maxKeyLen), in.number(maxKeyLen)
		tail := in.take(rest)
		if in.failed || prefix > len(last) || prefix+rest > maxKeyLen {
			return corruptLeaf("a key is cut short")
		}
		start := len(l.keys)
		l.keys = append(append(l.keys, last[:prefix]...), tail...)
		key := l.keys[start:]
		if !validKey(key) || start > 0 && bytes.Compare(key, last) <= 0 {
			return corruptLeaf("its keys are not ascending values")
		}
		l.ends = append(l.ends, len(l.keys))
		count := in.number(leafEntries - len(l.nodes))
		if in.failed || count == 0 {
			return corruptLeaf("a group has too few or too many nodes")
		}
		v := in.number(math.MaxUint32)
		l.nodes = append(l.nodes, kv.NodeID(v))
		for range count - 1 {
			gap := in.number(math.MaxUint32 - v)
			if gap == 0 {
				return corruptLeaf("its nodes are not ascending")
			}
			v += gap
			l.nodes = append(l.nodes, kv.NodeID(v))
		}
		l.stops = append(l.stops, len(l.nodes))
		last = key
	}
	if in.failed || groups == 0 || len(in.data) > 0 {
		return corruptLeaf("it is cut short, empty, or goes on behind its end")
	}
	return nil
}

func corruptLeaf(what string) error { return fmt.Errorf("index leaf: %s: %w", what, kv.ErrCorrupt) }

// input reads an encoded leaf. After a failure it yields zeros.
type input struct {
	data   []byte
	failed bool
}

// number reads a uvarint that is at most limit.
func (in *input) number(limit int) int {
	if len(in.data) > 0 && in.data[0] < 0x80 && int(in.data[0]) <= limit {
		n := int(in.data[0])
		in.data = in.data[1:]
		return n
	}
	n, size := binary.Uvarint(in.data)
	if size <= 0 || limit < 0 || n > uint64(limit) {
		in.failed, in.data = true, nil
		return 0
	}
	in.data = in.data[size:]
	return int(n)
}

func (in *input) take(n int) []byte {
	if n > len(in.data) {
		in.failed, in.data = true, nil
		return nil
	}
	head := in.data[:n]
	in.data = in.data[n:]
	return head
}
