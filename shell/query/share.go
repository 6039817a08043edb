package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A surroundings computes what a statement asks of the nodes around nodes. Any number of goroutines may ask. Of the
// memory, the labels take a quarter at most, and the nodes around one node another.
type surroundings struct {
	ctx    context.Context // of the statement: values are computed while its rows are read
	tx     *kv.Tx
	memory int64

	mu     sync.Mutex // of what follows
	ball   ops.Ball
	labels []kv.Class // of all nodes; nil while few were asked for, or if memory does not hold them
	singly int        // labels that were read one by one
	number map[string]kv.Class
}

// leastSurroundings is memory that surroundings may take whatever the budget.
const leastSurroundings = 1 << 20

func newSurroundings(ctx context.Context, tx *kv.Tx, memory int64) *surroundings {
	if memory == 0 {
		memory = defaultNeighborBytes
	}
	return &surroundings{ctx: ctx, tx: tx, memory: max(memory, leastSurroundings), ball: ops.Ball{Graph: &lists{tx: tx}}}
}

// shareOf returns the share, among the labelled nodes within some hops of a node, of those that have a label: the one
// that of returns. It is null if of returns null, or if no node there has a label.
func (s *surroundings) shareOf(of func(v kv.NodeID) (label kv.Value, err error), hops int) func(v kv.NodeID) (kv.Value, error) {
	return func(v kv.NodeID) (kv.Value, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		label, err := of(v)
		if err != nil || label.IsNull() {
			return kv.Value{}, err
		}
		wanted, known := s.class(label.Str())
		same, labelled := 0, 0
		walked := s.each(v, hops, func(u kv.NodeID) bool {
			var class kv.Class
			if class, err = s.label(u); err != nil {
				return false
			}
			if class != kv.NoClass {
				labelled++
			}
			if known && class == wanted {
				same++
			}
			return true
		})
		if err == nil {
			err = walked
		}
		return ratio(int64(same), int64(labelled)), err
	}
}

// ownLabel is the label of a node.
func (s *surroundings) ownLabel(v kv.NodeID) (kv.Value, error) {
	class, err := s.label(v)
	if err != nil || class == kv.NoClass {
		return kv.Value{}, err
	}
	return kv.ValueOf(s.tx.Classes()[class]), nil
}

// each calls visit for the nodes within some hops of a node, until it returns false.
func (s *surroundings) each(v kv.NodeID, hops int, visit func(u kv.NodeID) bool) error {
	most, count := max(1, s.memory/4/bytesPerNeighbor), int64(0)
	err := s.ball.Each(s.ctx, v, hops, func(u kv.NodeID, _ int) bool {
		count++
		return (hops == 1 || count <= most) && visit(u)
	})
	if err == nil && hops > 1 && count > most {
		id, wrong := s.tx.ID(v)
		if wrong != nil {
			return wrong
		}
		err = fmt.Errorf("more than %d nodes within %d hops of node %s: ask for fewer hops, or give more --memory", most, hops, id)
	}
	return err
}

// class finds the number of a class.
func (s *surroundings) class(name string) (class kv.Class, known bool) {
	if s.number == nil {
		s.number = map[string]kv.Class{}
		for k, name := range s.tx.Classes() {
			s.number[name] = kv.Class(k)
		}
	}
	class, known = s.number[name]
	return class, known
}

// readAllShare is the share of the nodes, as a divisor, from which on all labels are read, rather than one by one.
const readAllShare = 64

// label is the label of a node.
func (s *surroundings) label(v kv.NodeID) (kv.Class, error) {
	if s.labels != nil {
		return s.labels[v], nil
	}
	if s.singly++; s.singly > s.tx.NumNodes()/readAllShare && int64(s.tx.NumNodes())*4 <= s.memory/4 {
		s.labels = make([]kv.Class, s.tx.NumNodes())
		if err := s.tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(s.tx.NumNodes())}, s.labels); err != nil {
			s.labels = nil
			return kv.NoClass, err
		}
		return s.labels[v], nil
	}
	return s.tx.Label(v)
}

// A lists reads lists of neighbours. From some nodes of a block on, it decodes the block: then the next lists cost
// little.
type lists struct {
	tx     *kv.Tx
	blocks []kv.Range
	block  kv.Adjacency // the last one that was decoded
	last   int          // the block that lists were read of one by one
	singly int          // how many
}

// manySingly is how many lists of a block are read one by one, before the block is decoded.
const manySingly = 4

// Neighbors yields the neighbours of v, ascending. The next call must wait for its end.
func (l *lists) Neighbors(v kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if v < l.block.First || v >= l.block.End {
			decoded, err := l.decode(v)
			if err != nil {
				yield(0, err)
				return
			}
			if !decoded {
				l.tx.Neighbors(v)(yield)
				return
			}
		}
		for _, u := range l.block.Of(v) {
			if !yield(u, nil) {
				return
			}
		}
	}
}

// decode decodes the block of v, if it was asked for often. A node with a block of its own is read as a stream: its
// list may be long.
func (l *lists) decode(v kv.NodeID) (decoded bool, err error) {
	if l.blocks == nil {
		if l.blocks, err = l.tx.AdjacencyBlocks(); err != nil {
			return false, err
		}
	}
	at := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].End > v })
	if at != l.last {
		l.last, l.singly = at, 0
	}
	if l.singly++; l.singly <= manySingly || l.blocks[at].Len() == 1 {
		return false, nil
	}
	return true, l.tx.ReadAdjacency(l.blocks[at], &l.block)
}

// around resolves a share of labels to a property that is computed.
func (r *resolver) around(n name) (ColumnInfo, error) {
	column := ColumnInfo{Name: n.text, Kind: kv.KindFloat}
	if _, done := r.computed[n.text]; done {
		return column, nil
	}
	if r.alone {
		return column, &ResolveError{Pos: n.pos, Msg: "share is of nodes, and these rows are none"}
	}
	hops, err := r.hops(n.share.hops, 1)
	if err != nil {
		return column, err
	}
	of, err := r.shared(n.share)
	if err != nil {
		return column, err
	}
	if slices.Contains(propertyNames(r.tx), n.text) {
		return column, &ResolveError{Pos: n.pos, Msg: fmt.Sprintf("the store has a property of this name: ask for it as %s", QuoteName(n.text))}
	}
	r.computed[n.text] = index.Computed{Kind: column.Kind, At: r.surroundings.shareOf(of, hops)}
	return column, nil
}

// shared resolves the label whose share is asked for: a function of the node.
func (r *resolver) shared(s *share) (func(v kv.NodeID) (kv.Value, error), error) {
	if s.class != nil {
		value, err := r.value(*s.class)
		if err != nil {
			return nil, err
		}
		if value = r.class(value, *s.class); value.Kind() != kv.KindString {
			return nil, &ResolveError{Pos: s.class.pos, Msg: fmt.Sprintf("got %s, want label, suggested or a class in single quotes", describe(value))}
		}
		return func(kv.NodeID) (kv.Value, error) { return value, nil }, nil
	}
	columns := r.columns // of the rows, which nodes do not have
	r.columns = nil
	column, err := r.property(*s.of)
	r.columns = columns
	switch {
	case err != nil:
		return nil, err
	case column.Kind != kv.KindClass:
		return nil, &ResolveError{Pos: s.of.pos, Msg: fmt.Sprintf("%s is no class: want label, suggested or a class in single quotes", s.of)}
	case column.Name == kv.LabelColumn:
		return r.surroundings.ownLabel, nil
	}
	reader, err := r.tx.Reader(column.Name)
	if err != nil {
		return nil, err
	}
	return reader.At, nil
}
