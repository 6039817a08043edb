// Package changes encodes which nodes the commits of a store touched. It knows neither the names of columns and matrices, nor
// where records are kept.
package changes

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Kind numbers a thing that a node has, such as its edges or its value in one column.
type Kind uint32

// Edges is the kind of the edges of nodes.
const Edges Kind = 0

// A List is the nodes that a commit touched in one kind, ascending and each once; or all of them.
type List struct {
	Kind  Kind
	All   bool
	Nodes []record.NodeID
}

// A Commit is what one commit did: how many nodes it added, and which nodes it touched.
type Commit struct {
	Number uint64
	Added  int
	Lists  []List
}

// Shorten has the longest list be of all nodes. It returns false if no list has nodes.
func (c *Commit) Shorten() bool {
	longest := &List{}
	for i := range c.Lists {
		if l := &c.Lists[i]; len(l.Nodes) > len(longest.Nodes) {
			longest = l
		}
	}
	longest.All = len(longest.Nodes) > 0
	longest.Nodes = nil
	return longest.All
}

// Append appends the body of the record of the commit to b:
//
//	added, number of lists, then for each list:
//	kind<<1|all, and if not all: number of nodes, first node, then the gaps
//
// Each is a varint.
func (c *Commit) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(c.Added))
	b = binary.AppendUvarint(b, uint64(len(c.Lists)))
	for _, l := range c.Lists {
		b = l.append(b)
	}
	return b
}

func (l List) append(b []byte) []byte {
	if l.All {
		return binary.AppendUvarint(b, uint64(l.Kind)<<1|1)
	}
	b = binary.AppendUvarint(b, uint64(l.Kind)<<1)
	b = binary.AppendUvarint(b, uint64(len(l.Nodes)))
	previous := record.NodeID(0)
	for _, v := range l.Nodes {
		b = binary.AppendUvarint(b, uint64(v-previous))
		previous = v
	}
	return b
}

// errDamaged is returned for bytes that Append did not make.
var errDamaged = errors.New("its lists cannot be decoded")

// Parse decodes the body of the record of a commit.
func Parse(number uint64, body []byte) (Commit, error) {
	r := reader{b: body}
	c := Commit{Number: number, Added: int(r.uvarint(record.MaxNodes))}
	c.Lists = make([]List, r.count())
	for i := range c.Lists {
		c.Lists[i] = r.list()
	}
	if r.failed || len(r.b) > 0 {
		return Commit{}, errDamaged
	}
	return c, nil
}

// A reader takes what is encoded from the front of bytes.
type reader struct {
	b      []byte
	failed bool
}

// uvarint takes a number that is at most a limit; zero after a failure.
func (r *reader) uvarint(limit uint64) uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 || x > limit || r.failed {
		r.failed = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count takes a number of things, each of a byte or more.
func (r *reader) count() int { return int(r.uvarint(uint64(len(r.b)))) }

func (r *reader) list() List {
	kind := r.uvarint(math.MaxUint32<<1 | 1)
	l := List{Kind: Kind(kind >> 1), All: kind&1 == 1}
	if l.All {
		return l
	}
	l.Nodes = make([]record.NodeID, r.count())
	previous := uint64(0)
	for i := range l.Nodes {
		gap := r.uvarint(math.MaxUint32 - previous)
		r.failed = r.failed || i > 0 && gap == 0
		previous += gap
		l.Nodes[i] = record.NodeID(previous)
	}
	return l
}

// Sorted makes the list of nodes that were touched, in the order in which they were. It takes the slice.
func Sorted(k Kind, nodes []record.NodeID) List {
	slices.Sort(nodes)
	return List{Kind: k, Nodes: slices.Compact(nodes)}
}

// Greatest is the greatest node of the lists; ok is false if they have none.
func (c *Commit) Greatest() (v record.NodeID, ok bool) {
	for _, l := range c.Lists {
		if n := len(l.Nodes); n > 0 {
			v, ok = max(v, l.Nodes[n-1]), true
		}
	}
	return v, ok
}
