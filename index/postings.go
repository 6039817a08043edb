package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv"
)

// Postings are the entries (value, NodeID) of one column in ascending order. A build writes them as leaves, like those
// of a B+-tree whose upper levels are the key order of the space. Later changes are records of their own, one an entry,
// which reads merge in and Compact folds into the leaves: a change in a transaction costs one small write and no
// read, however many there are.
type postings struct {
	column string
	space  *kv.Space
}

const (
	changePrefix = 'C'
	leafPrefix   = 'L'
)

// openPostings returns the postings of a column as a transaction sees them.
func openPostings(tx *kv.Tx, column string) postings {
	return postings{column: column, space: tx.Space(spaceName(column))}
}

// spaceName is the kv.Space of a column's postings.
func spaceName(column string) string { return "index/" + column }

// newEntry is an entry: the key of the value, then the NodeID, big endian.
func newEntry(key []byte, v kv.NodeID) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(key), uint32(v))
}

// cutEntry is the inverse of newEntry; ok is false when the bytes are no entry.
func cutEntry(entry []byte) (key []byte, v kv.NodeID, ok bool) {
	if len(entry) < 4 {
		return nil, 0, false
	}
	key = entry[:len(entry)-4]
	return key, kv.NodeID(binary.BigEndian.Uint32(entry[len(key):])), validKey(key)
}

// set notes that the entry of a value, not null, is there or is not.
func (p postings) set(value kv.Value, v kv.NodeID, there bool) error {
	record, _ := appendKey([]byte{changePrefix}, value)
	record = binary.BigEndian.AppendUint32(record, uint32(v))
	state := []byte{0}
	if there {
		state[0] = 1
	}
	return p.wrap(p.space.Put(record, state))
}

// A group is a stretch of entries of one value. Both slices are borrowed until the next step.
type group struct {
	key   []byte
	nodes []kv.NodeID // ascending
}

// ascend yields the groups with keys in r, ascending. A value with many entries comes in several groups in a row,
// their nodes ascending.
func (p postings) ascend(r keyRange) iter.Seq2[group, error] { return p.merge(r, false) }

// descend yields the groups with keys in r, descending. A value with many entries comes in several groups in a row,
// the one with the greatest nodes first; within a group nodes ascend.
func (p postings) descend(r keyRange) iter.Seq2[group, error] { return p.merge(r, true) }

// merge yields the leaves with their changes applied. Changes between two leaves become leaves of their own.
func (p postings) merge(r keyRange, down bool) iter.Seq2[group, error] {
	return func(yield func(group, error) bool) {
		nextChange, stop := iter.Pull2(p.changes(r, down))
		defer stop()
		m := merge{r: r, down: down, next: nextChange, yield: yield}
		if !m.advance() {
			return
		}
		leaves := p.leavesUp(r)
		if down {
			leaves = p.leavesDown(r)
		}
		for l, err := range leaves {
			if err != nil {
				yield(group{}, err)
				return
			}
			if !m.leaf(l) {
				return
			}
		}
		m.own(func([]byte) bool { return true })
	}
}

// A merge applies changes to leaves, both coming in the order of the walk. Its methods return false when the walk is
// over.
type merge struct {
	r      keyRange
	down   bool
	next   func() (change, error, bool)
	head   change // the first change not yet applied
	more   bool   // there is one
	yield  func(group, error) bool
	merged leaf
}

// A change is an entry that is there, or is not, whatever the leaves say.
type change struct {
	entry []byte
	there bool
}

func (m *merge) advance() bool {
	var err error
	if m.head, err, m.more = m.next(); err != nil {
		m.yield(group{}, err)
		return false
	}
	return true
}

// leaf yields what comes before a leaf, and then the leaf with the changes it spans.
func (m *merge) leaf(l *leaf) bool {
	first, last := l.first(), l.last()
	before := func(entry []byte) bool { return bytes.Compare(entry, first) < 0 }
	within := func(entry []byte) bool { return bytes.Compare(entry, last) <= 0 }
	if m.down {
		before = func(entry []byte) bool { return bytes.Compare(entry, last) > 0 }
		within = func(entry []byte) bool { return bytes.Compare(entry, first) >= 0 }
	}
	if !m.own(before) {
		return false
	}
	changes, ok := m.take(within, math.MaxInt)
	if !ok {
		return false
	}
	if len(changes) == 0 {
		return m.groups(l)
	}
	m.merged.apply(l, changes)
	return m.groups(&m.merged)
}

// own yields changes outside the leaves as leaves of their own.
func (m *merge) own(while func(entry []byte) bool) bool {
	for {
		changes, ok := m.take(while, leafEntries)
		if !ok || len(changes) == 0 {
			return ok
		}
		m.merged.apply(&leaf{}, changes)
		if !m.groups(&m.merged) {
			return false
		}
	}
}

// take takes at most so many changes, while it is true of their entries, and returns them ascending.
func (m *merge) take(while func(entry []byte) bool, most int) (changes []change, ok bool) {
	for m.more && len(changes) < most && while(m.head.entry) {
		changes = append(changes, m.head)
		if !m.advance() {
			return nil, false
		}
	}
	if m.down {
		slices.Reverse(changes)
	}
	return changes, true
}

// groups yields those of a leaf that are in the range.
func (m *merge) groups(l *leaf) bool {
	from, _ := l.find(m.r.low)
	to, _ := l.find(m.r.high)
	for g := range to - from {
		at := from + g
		if m.down {
			at = to - 1 - g
		}
		if !m.yield(group{l.key(at), l.group(at)}, nil) {
			return false
		}
	}
	return true
}

// leavesUp yields the leaves that may hold entries with keys in r, ascending, each borrowed until the next step.
func (p postings) leavesUp(r keyRange) iter.Seq2[*leaf, error] {
	return func(yield func(*leaf, error) bool) {
		// Entries of the range may begin in the leaf before the first that begins within it.
		from := leafKey(r.low)
		for e, err := range p.space.Descend(from) {
			if err != nil {
				yield(nil, p.wrap(err))
				return
			}
			if e.Key[0] == leafPrefix {
				from = bytes.Clone(e.Key)
			}
			break
		}
		end := leafKey(r.high)
		var l leaf
		for e, err := range p.space.Ascend(from) {
			if err == nil && bytes.Compare(e.Key, end) >= 0 {
				return
			}
			if err == nil {
				err = l.decode(e.Value)
			}
			if err != nil {
				yield(nil, p.wrap(err))
				return
			}
			if !yield(&l, nil) {
				return
			}
		}
	}
}

// leavesDown yields the leaves that may hold entries with keys in r, descending, each borrowed until the next step.
func (p postings) leavesDown(r keyRange) iter.Seq2[*leaf, error] {
	return func(yield func(*leaf, error) bool) {
		begin := leafKey(r.low)
		var l leaf
		for e, err := range p.space.Descend(leafKey(r.high)) {
			if err == nil && e.Key[0] != leafPrefix {
				return
			}
			if err == nil {
				err = l.decode(e.Value)
			}
			if err != nil {
				yield(nil, p.wrap(err))
				return
			}
			if !yield(&l, nil) || bytes.Compare(e.Key, begin) < 0 {
				return
			}
		}
	}
}

func leafKey(entry []byte) []byte { return append([]byte{leafPrefix}, entry...) }

// changes yields the change records with keys in r; their entries are the receiver's.
func (p postings) changes(r keyRange, down bool) iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		low, high := append([]byte{changePrefix}, r.low...), append([]byte{changePrefix}, r.high...)
		entries := p.space.Ascend(low)
		if down {
			entries = p.space.Descend(high)
		}
		for e, err := range entries {
			if err != nil {
				yield(change{}, p.wrap(err))
				return
			}
			if down && bytes.Compare(e.Key, low) < 0 || !down && bytes.Compare(e.Key, high) >= 0 {
				return
			}
			if down && bytes.Equal(e.Key, high) {
				continue
			}
			entry := bytes.Clone(e.Key[1:])
			if _, _, ok := cutEntry(entry); !ok || len(e.Value) != 1 || e.Value[0] > 1 {
				yield(change{}, p.wrap(fmt.Errorf("change record %x: %w", e.Key, kv.ErrCorrupt)))
				return
			}
			if !yield(change{entry, e.Value[0] == 1}, nil) {
				return
			}
		}
	}
}

// hasChanges reports whether there are change records.
func (p postings) hasChanges() (bool, error) {
	for e, err := range p.space.Ascend(nil) {
		if err != nil {
			return false, p.wrap(err)
		}
		return e.Key[0] == changePrefix, nil
	}
	return false, nil
}

func (p postings) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index on %s: %w", p.column, err)
}
