// Package changes encodes which nodes the commits of a store touched. It does not know what the names of its sets stand
// for, nor where records are kept.
package changes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Commit is what one commit did: how many nodes it added, and which nodes it touched, in sets with names. Its record
// is msgpack.
type Commit struct {
	Added int            `msgpack:"added"`
	Sets  map[string]Set `msgpack:"sets"`
}

// A Set is the gaps between ascending nodes, each a varint, from 0 on. An empty Set stands for all nodes.
type Set []byte

// SetOf makes the Set of one or more nodes, which ascend.
func SetOf(nodes iter.Seq[record.NodeID]) (s Set) {
	previous := record.NodeID(0)
	for v := range nodes {
		s = binary.AppendUvarint(s, uint64(v-previous))
		previous = v
	}
	return s
}

// All reports whether a Set stands for all nodes.
func (s Set) All() bool { return len(s) == 0 }

// Nodes yields the nodes of a Set that does not stand for all. The Set must be one that SetOf or Parse gave.
func (s Set) Nodes() iter.Seq[record.NodeID] {
	return func(yield func(record.NodeID) bool) {
		for v := uint64(0); len(s) > 0; {
			gap, n := binary.Uvarint(s)
			v, s = v+gap, s[n:]
			if !yield(record.NodeID(v)) {
				return
			}
		}
	}
}

// check returns an error unless the nodes of a Set ascend and are below a number.
func (s Set) check(nodes int) error {
	next := uint64(0)
	for first := true; len(s) > 0; first = false {
		gap, n := binary.Uvarint(s)
		if n <= 0 || gap == 0 && !first || gap >= uint64(nodes)-next {
			return errNodes
		}
		next, s = next+gap, s[n:]
	}
	return nil
}

var errNodes = errors.New("its nodes do not ascend, or are not there")

// Encode returns the body of the record of the commit. If it would be longer than a limit, the longest Sets become
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

// shorten makes the longest Set one of all nodes. It returns false if each is already.
func (c *Commit) shorten() bool {
	longest := ""
	for name, s := range c.Sets {
		if len(s) > len(c.Sets[longest]) {
			longest = name
		}
	}
	if c.Sets[longest].All() {
		return false
	}
	c.Sets[longest] = nil
	return true
}

// Parse decodes the body of the record of a commit to a store that has so many nodes.
func Parse(body []byte, nodes int) (c Commit, err error) {
	if err := msgpack.Unmarshal(body, &c); err != nil {
		return c, err
	}
	if c.Added < 0 || c.Added > nodes {
		return c, errNodes
	}
	for _, s := range c.Sets {
		if err := s.check(nodes); err != nil {
			return c, err
		}
	}
	return c, nil
}
