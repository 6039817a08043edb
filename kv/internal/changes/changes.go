// Package changes encodes which nodes the commits of a store touched. It does not know what the names of its sets stand
// for, nor where records are kept.
package changes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Commit has the effect of one commit: how many nodes it added, and which nodes it touched. Its record is msgpack.
type Commit struct {
	Added int  `msgpack:"added"`
	Sets  Sets `msgpack:"sets"`
}

// Sets are sets of nodes, by their names.
type Sets map[string]*Touched

// Of returns a set to change; an empty one if there was none.
func (s *Sets) Of(name string) *Touched {
	if *s == nil {
		*s = Sets{}
	}
	set := s.Named(name)
	(*s)[name] = set
	return set
}

// Named returns a set to read; an empty one if there is none.
func (s Sets) Named(name string) *Touched {
	if set := s[name]; set != nil {
		return set
	}
	return new(Touched)
}

// Join adds all sets of others.
func (s *Sets) Join(others Sets) {
	for name, other := range others {
		set := s.Of(name)
		set.All = set.All || other.All
		set.nodes.Or(&other.nodes)
	}
}

// Touched is described in kv.
type Touched struct {
	All   bool
	nodes roaring.Bitmap
}

// Add adds nodes.
func (t *Touched) Add(nodes ...record.NodeID) {
	for _, v := range nodes {
		t.nodes.Add(uint32(v))
	}
}

// Has reports whether v was touched.
func (t *Touched) Has(v record.NodeID) bool { return t.All || t.nodes.Contains(uint32(v)) }

// Count is the number of nodes that Nodes yields.
func (t *Touched) Count() int { return int(t.nodes.GetCardinality()) }

// Nodes yields the nodes that were touched, ascending. If All, it need not yield all of them.
func (t *Touched) Nodes() iter.Seq[record.NodeID] {
	return func(yield func(v record.NodeID) bool) {
		t.nodes.Iterate(func(v uint32) bool { return yield(record.NodeID(v)) })
	}
}

// EncodeMsgpack writes the gaps between the nodes, each a varint, from 0 on; nil for all nodes. A bitmap would take
// more: most commits touch few nodes.
func (t *Touched) EncodeMsgpack(e *msgpack.Encoder) error {
	if t.All {
		return e.EncodeNil()
	}
	gaps, previous := []byte{}, record.NodeID(0)
	for v := range t.Nodes() {
		gaps = binary.AppendUvarint(gaps, uint64(v-previous))
		previous = v
	}
	return e.EncodeBytes(gaps)
}

// DecodeMsgpack is the inverse of EncodeMsgpack. Of nil the pointer is nil, and it is not called.
func (t *Touched) DecodeMsgpack(d *msgpack.Decoder) error {
	gaps, err := d.DecodeBytes()
	for v := uint64(0); len(gaps) > 0; {
		gap, n := binary.Uvarint(gaps)
		if v += gap; n <= 0 || gap > record.MaxNodes || v > record.MaxNodes || !t.nodes.CheckedAdd(uint32(v)) {
			return errNodes
		}
		gaps = gaps[n:]
	}
	return err
}

var errNodes = errors.New("its nodes do not ascend, or are not there")

// Encode returns the body of the record of the commit. If it would be longer than a limit, the largest sets become
// those of all nodes.
func (c *Commit) Encode(limit int) ([]byte, error) {
	for {
		var b bytes.Buffer
		e := msgpack.NewEncoder(&b)
		e.SetSortMapKeys(true)
		if err := e.Encode(c); err != nil || b.Len() <= limit || !c.shorten() {
			return b.Bytes(), err
		}
	}
}

// shorten makes the largest set one of all nodes. It returns false if each is already.
func (c *Commit) shorten() bool {
	largest := new(Touched)
	for _, t := range c.Sets {
		if !t.All && t.Count() > largest.Count() {
			largest = t
		}
	}
	largest.All = true
	return largest.Count() > 0
}

// Parse decodes the body of the record of a commit to a store that has so many nodes.
func Parse(body []byte, nodes int) (c Commit, err error) {
	if err := msgpack.Unmarshal(body, &c); err != nil {
		return c, err
	}
	if c.Added < 0 || c.Added > nodes {
		return c, errNodes
	}
	for name, t := range c.Sets {
		if t == nil {
			c.Sets[name] = &Touched{All: true}
		} else if t.Count() > 0 && int(t.nodes.Maximum()) >= nodes {
			return c, errNodes
		}
	}
	return c, nil
}
