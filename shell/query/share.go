package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/bitset"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A surroundings computes what a statement asks of the nodes around nodes. Any number of goroutines may ask. Of the
// memory, the labels take a quarter at most, and the nodes around one node another. A goroutine has a bit for each node
// of the store beside that.
type surroundings struct {
	ctx    context.Context // of the statement: values are computed while its rows are read
	tx     *kv.Tx
	memory int64

	asked   atomic.Int64 // labels that were read one by one
	labels  func() ([]kv.Class, error)
	blocks  func() ([]kv.Range, error)
	walkers sync.Pool // of *walker
}

func newSurroundings(ctx context.Context, tx *kv.Tx, memory int64) *surroundings {
	memory = max(cmp.Or(memory, defaultRowBytes), leastRowBytes)
	s := &surroundings{ctx: ctx, tx: tx, memory: memory, blocks: sync.OnceValues(tx.AdjacencyBlocks)}
	s.labels = sync.OnceValues(func() ([]kv.Class, error) {
		labels := make([]kv.Class, tx.NumNodes())
		return labels, tx.ReadClasses(kv.LabelColumn, kv.Range{End: kv.NodeID(len(labels))}, labels)
	})
	s.walkers.New = func() any { return &walker{seen: bitset.New[kv.NodeID](tx.NumNodes())} }
	return s
}

// shareOf returns the share, among the labelled nodes within some hops of a node, of those that have a label: the one
// that of returns. It is null if of returns kv.NoClass, or if no node there has a label.
func (s *surroundings) shareOf(of func(v kv.NodeID) (kv.Class, error), hops int) func(v kv.NodeID) (kv.Value, error) {
	return func(v kv.NodeID) (kv.Value, error) {
		wanted, err := of(v)
		if err != nil || wanted == kv.NoClass {
			return kv.Value{}, err
		}
		labels, err := s.allLabels()
		if err != nil {
			return kv.Value{}, err
		}
		same, labelled := int64(0), int64(0)
		for u, err := range s.around(v, hops) {
			class := kv.NoClass
			if err == nil {
				class, err = s.label(labels, u)
			}
			if err != nil {
				return kv.Value{}, err
			}
			if class != kv.NoClass {
				labelled++
			}
			if class == wanted {
				same++
			}
		}
		return ratio(same, labelled), nil
	}
}

// ownLabel is the label of a node.
func (s *surroundings) ownLabel(v kv.NodeID) (kv.Class, error) {
	labels, err := s.allLabels()
	if err != nil {
		return kv.NoClass, err
	}
	return s.label(labels, v)
}

// readAllShare is the share of the nodes, as a divisor, from which on all labels are read, rather than one by one.
const readAllShare = 64

// allLabels are the labels of all nodes, nil while few were asked for, or if memory does not hold them.
func (s *surroundings) allLabels() ([]kv.Class, error) {
	n := int64(s.tx.NumNodes())
	if s.asked.Load() <= n/readAllShare || n*4 > s.memory/4 {
		return nil, nil
	}
	return s.labels()
}

// label is the label of a node. Labels are allLabels.
func (s *surroundings) label(labels []kv.Class, v kv.NodeID) (kv.Class, error) {
	if labels != nil {
		return labels[v], nil
	}
	s.asked.Add(1)
	return s.tx.Label(v)
}

// A walker visits the nodes around one node after another, on one goroutine at a time.
type walker struct {
	near []kv.NodeID // the nodes around, the nearest first
	seen kv.NodeSet  // the same

	block  kv.Adjacency // the last one that was decoded
	last   kv.Range     // the block that lists were read of one by one
	singly int          // how many
}

// manySingly is how many lists of a block are read one by one, before the block is decoded: then the next lists cost
// little.
const manySingly = 4

// neighbors yields the neighbours of a node.
func (w *walker) neighbors(s *surroundings, v kv.NodeID) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		if v < w.block.First || v >= w.block.End {
			blocks, err := s.blocks()
			if err != nil {
				yield(0, err)
				return
			}
			block := blocks[sort.Search(len(blocks), func(i int) bool { return blocks[i].End > v })]
			if block != w.last {
				w.last, w.singly = block, 0
			}
			if w.singly++; w.singly <= manySingly || block.Len() == 1 {
				s.tx.Neighbors(v)(yield)
				return
			}
			if err := s.tx.ReadAdjacency(block, &w.block); err != nil {
				yield(0, err)
				return
			}
		}
		for _, u := range w.block.Of(v) {
			if !yield(u, nil) {
				return
			}
		}
	}
}

// stepsTogether is how many steps a walk takes between two looks at its context.
const stepsTogether = 256

// around yields the nodes within some hops of a node, the nearest first. More than memory holds are an error, unless
// they are neighbours.
func (s *surroundings) around(v kv.NodeID, hops int) iter.Seq2[kv.NodeID, error] {
	return func(yield func(kv.NodeID, error) bool) {
		w := s.walkers.Get().(*walker)
		defer s.walkers.Put(w)
		defer func() { w.seen.RemoveAll(w.near) }()
		w.near = append(w.near[:0], v)
		w.seen.Add(v)
		most, begin, steps := max(1, s.memory/4/bytesPerNeighbor), 0, 0
		for range hops {
			level := w.near[begin:]
			begin = len(w.near)
			slices.Sort(level)
			for _, u := range level {
				for x, err := range w.neighbors(s, u) {
					if steps++; err == nil && steps%stepsTogether == 0 {
						err = s.ctx.Err()
					}
					if err == nil && w.seen.Has(x) {
						continue
					}
					if err == nil && hops > 1 {
						w.seen.Add(x)
						if w.near = append(w.near, x); int64(len(w.near)-1) > most {
							var id string
							if id, err = s.tx.ID(v); err == nil {
								err = fmt.Errorf("node %s: %w", id, tooMany(most, hops))
							}
						}
					}
					if !yield(x, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// around resolves a share of labels to a property that is computed.
func (q *query) around(n name) (ColumnInfo, error) {
	column := ColumnInfo{Name: n.text, Kind: kv.KindFloat}
	if _, done := q.computed[n.text]; done {
		return column, nil
	}
	if q.alone {
		return column, faultAt(n.pos, "share is of nodes, and these rows are none")
	}
	hops, err := q.hops(n.share.hops, 1)
	if err != nil {
		return column, err
	}
	of, err := q.shared(n.share)
	if err != nil {
		return column, err
	}
	if slices.Contains(propertyNames(q.tx), n.text) {
		return column, faultAt(n.pos, "the store has a property of this name: ask for it as %s", QuoteName(n.text))
	}
	q.computed[n.text] = index.Computed{Kind: column.Kind, At: q.surroundings.shareOf(of, hops)}
	return column, nil
}

// shared resolves the label whose share is asked for: a function of the node.
func (q *query) shared(s *share) (func(v kv.NodeID) (kv.Class, error), error) {
	if s.class != nil {
		value, err := q.value(*s.class)
		if err != nil {
			return nil, err
		}
		if value = q.class(value, *s.class); value.Kind() != kv.KindString {
			return nil, faultAt(s.class.pos, "got %s, want label, suggested or a class in single quotes", describe(value))
		}
		class := q.classNumbers()(value)
		return func(kv.NodeID) (kv.Class, error) { return class, nil }, nil
	}
	columns := q.columns // of the rows, which nodes do not have
	q.columns = nil
	column, err := q.property(*s.of)
	q.columns = columns
	switch {
	case err != nil:
		return nil, err
	case column.Kind != kv.KindClass:
		return nil, faultAt(s.of.pos, "%s is no class: want label, suggested or a class in single quotes", s.of)
	case column.Name == kv.LabelColumn:
		return q.surroundings.ownLabel, nil
	}
	reader, err := q.tx.Reader(column.Name)
	if err != nil {
		return nil, err
	}
	var alone sync.Mutex // a reader is for one goroutine at a time
	classOf := q.classNumbers()
	return func(v kv.NodeID) (kv.Class, error) {
		alone.Lock()
		defer alone.Unlock()
		value, err := reader.At(v)
		return classOf(value), err
	}, nil
}

// classNumbers returns the number of a class by its name, one that no node has if the store does not have the class.
func (q *query) classNumbers() func(name kv.Value) kv.Class {
	numbers := map[string]kv.Class{}
	for k, name := range q.tx.Classes() {
		numbers[name] = kv.Class(k)
	}
	return func(name kv.Value) kv.Class {
		class, known := numbers[name.Str()]
		switch {
		case name.IsNull():
			return kv.NoClass
		case !known:
			return kv.Class(len(numbers))
		}
		return class
	}
}
