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

// A Record is the commits First ≤ number ≤ Last, without those that did nothing.
type Record struct {
	First, Last uint64
	Commits     []Commit
}

// Append appends the body of the record to b:
//
//	last-first, then for each commit:
//	number-previous, added, number of lists, then for each list:
//	kind<<1|all, and if not all: number of nodes, first node, then the gaps
//
// Each is a varint. The number before that of the first commit is first-1.
func (r *Record) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, r.Last-r.First)
	previous := r.First - 1
	for _, c := range r.Commits {
		b = binary.AppendUvarint(b, c.Number-previous)
		b = binary.AppendUvarint(b, uint64(c.Added))
		b = binary.AppendUvarint(b, uint64(len(c.Lists)))
		for _, l := range c.Lists {
			b = l.append(b)
		}
		previous = c.Number
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
var errDamaged = errors.New("its commits cannot be decoded")

// Parse decodes the body of the record that ends with the commit last.
func Parse(last uint64, body []byte) (Record, error) {
	r := reader{b: body}
	span := r.uvarint(math.MaxUint64)
	if span >= last {
		return Record{}, errDamaged
	}
	parsed := Record{First: last - span, Last: last}
	for previous := parsed.First - 1; len(r.b) > 0 && !r.failed; {
		c := Commit{Number: previous + r.uvarint(last-previous), Added: int(r.uvarint(record.MaxNodes))}
		c.Lists = make([]List, r.count())
		for i := range c.Lists {
			c.Lists[i] = r.list()
		}
		r.failed = r.failed || c.Number == previous
		previous = c.Number
		parsed.Commits = append(parsed.Commits, c)
	}
	if r.failed {
		return Record{}, errDamaged
	}
	return parsed, nil
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

// Greatest is the greatest node of the record's lists; ok is false if they have none.
func (r *Record) Greatest() (v record.NodeID, ok bool) {
	for _, c := range r.Commits {
		for _, l := range c.Lists {
			if n := len(l.Nodes); n > 0 {
				v, ok = max(v, l.Nodes[n-1]), true
			}
		}
	}
	return v, ok
}
