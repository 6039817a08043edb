package kv

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// NodeValues are a number of every node of a snapshot, in memory. They never change, and any number of goroutines may
// read them.
type NodeValues[T comparable] struct {
	pages []*valuePage[T]
	none  T // of a node beyond the pages
}

// A valuePage has the numbers of nodes that follow each other. Pages that hold the same are shared.
type valuePage[T comparable] [pageNodes]T

const pageNodes = 1 << 10

// Of is the number of a node.
func (n *NodeValues[T]) Of(v NodeID) T {
	if page := int(v / pageNodes); page < len(n.pages) {
		return n.pages[page][v%pageNodes]
	}
	return n.none
}

// newNodeValues takes over the values of all nodes.
func newNodeValues[T comparable](values []T, none T) *NodeValues[T] {
	n := &NodeValues[T]{none: none}
	for first := 0; first < len(values); first += pageNodes {
		page := n.emptyPage()
		copy(page[:], values[first:])
		n.pages = append(n.pages, page)
	}
	return n
}

func (n *NodeValues[T]) emptyPage() *valuePage[T] {
	page := new(valuePage[T])
	for i := range page {
		page[i] = n.none
	}
	return page
}

// with are the values with those of some ascending nodes as they are read.
func (n *NodeValues[T]) with(nodes []NodeID, read func(v NodeID) (T, error)) (*NodeValues[T], error) {
	if len(nodes) == 0 {
		return n, nil
	}
	changed := &NodeValues[T]{none: n.none, pages: slices.Clone(n.pages)}
	own := -1 // the page that is not shared
	for _, v := range nodes {
		page := int(v / pageNodes)
		for page >= len(changed.pages) {
			changed.pages = append(changed.pages, changed.emptyPage())
		}
		if page != own {
			copied := *changed.pages[page]
			changed.pages[page], own = &copied, page
		}
		x, err := read(v)
		if err != nil {
			return nil, err
		}
		changed.pages[page][v%pageNodes] = x
	}
	return changed, nil
}

// A nodeMemory is the values that were last asked for. What the store keeps of changes tells which of them differ in a
// later snapshot.
type nodeMemory[T comparable] struct {
	mu     sync.Mutex
	commit uint64         // that the values are of
	values *NodeValues[T] // nil: nothing was asked for
}

// A nodeQuantity says how the values are read from a transaction.
type nodeQuantity[T comparable] struct {
	none    T
	touched func(c *Changes) *Touched
	read    func(tx *Tx, v NodeID) (T, error)
	readAll func(tx *Tx, dst []T) error
}

var degreeQuantity = nodeQuantity[uint32]{
	touched: (*Changes).Edges,
	read: func(tx *Tx, v NodeID) (uint32, error) {
		degree, err := tx.graph().Degree(v)
		return uint32(degree), err
	},
	readAll: func(tx *Tx, dst []uint32) error { return tx.ReadDegrees(Range{First: 0, End: NodeID(len(dst))}, dst) },
}

var labelQuantity = nodeQuantity[Class]{
	none:    NoClass,
	touched: func(c *Changes) *Touched { return c.Column(LabelColumn) },
	read:    (*Tx).labelOf,
	readAll: func(tx *Tx, dst []Class) error {
		return tx.ReadClasses(LabelColumn, Range{End: NodeID(tx.NumNodes())}, dst)
	},
}

const (
	// nodeValuesShare is the share of the memory budget that the values of one quantity may take, as a divisor.
	nodeValuesShare = 32

	// readAllShare is the share of the nodes, as a divisor, from which on it costs less to read all than to read them
	// one by one.
	readAllShare    = 64
	leastReadSingly = 1 << 10
)

// AllDegrees returns the degrees of all nodes, for a caller that needs about asked of them, far apart. The store keeps
// them in memory. Later calls, in any snapshot, read only those of nodes that changed. ok is false in four cases; then
// use Degree or ReadDegrees:
//
//   - in an Update;
//   - more nodes changed than the caller asks for;
//   - the store does not keep the degrees yet, and the caller asks for few;
//   - they would take more than a 32nd of the memory budget.
func (tx *Tx) AllDegrees(asked int) (degrees *NodeValues[uint32], ok bool, err error) {
	return recall(tx, &tx.s.degrees, &tx.degrees, degreeQuantity, asked)
}

// AllLabels is AllDegrees of the labels of all nodes, NoClass of those without. If ok is false, use Label or
// ReadClasses.
func (tx *Tx) AllLabels(asked int) (labels *NodeValues[Class], ok bool, err error) {
	return recall(tx, &tx.s.labels, &tx.labels, labelQuantity, asked)
}

// recall returns the values of a transaction, which keeps them for those who ask again.
func recall[T comparable](
	tx *Tx, m *nodeMemory[T], own *atomic.Pointer[NodeValues[T]], q nodeQuantity[T], asked int,
) (values *NodeValues[T], ok bool, err error) {
	if err := tx.Err(); err != nil {
		return nil, false, err
	}
	if tx.write || int64(tx.cat.Nodes)*4 > tx.s.opt.MemoryBudget/nodeValuesShare {
		return nil, false, nil
	}
	if values = own.Load(); values == nil {
		if values, err = m.recall(tx, q, asked); err != nil {
			return nil, false, fmt.Errorf("values of all nodes: %w", err)
		}
		own.Store(values)
	}
	return values, values != nil, nil
}

// recall returns the values of a snapshot, and keeps them unless it has later ones; nil if it does not pay.
func (m *nodeMemory[T]) recall(tx *Tx, q nodeQuantity[T], asked int) (*NodeValues[T], error) {
	last, err := tx.LastCommit()
	if err != nil {
		return nil, err
	}
	few := tx.cat.Nodes / readAllShare
	many := asked > few // who asks for so many may as well have all of them read
	if many {
		asked = max(leastReadSingly, few)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	values, err := m.bring(tx, last, q, asked)
	if err != nil || values == nil && !many {
		return nil, err
	}
	if values == nil {
		all := make([]T, tx.cat.Nodes)
		if err := q.readAll(tx, all); err != nil {
			return nil, err
		}
		values = newNodeValues(all, q.none)
	}
	if m.values == nil || last >= m.commit {
		m.commit, m.values = last, values
	}
	return values, nil
}

// bring brings the values that are kept to another commit: those of nodes that changed in between, or maybe later, are
// read again. It returns nil if there are none, or more than most changed.
func (m *nodeMemory[T]) bring(tx *Tx, last uint64, q nodeQuantity[T], most int) (*NodeValues[T], error) {
	if m.values == nil {
		return nil, nil
	}
	later, mark := tx, m.commit
	if mark > last {
		later, mark = tx.s.Begin(), last
		defer later.Close()
	}
	changes, err := later.ChangesSince(mark)
	if errors.Is(err, ErrNotTracked) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	touched := q.touched(changes)
	if touched.All || touched.Count() > most {
		return nil, nil
	}
	return m.values.with(slices.Collect(touched.Nodes()), func(v NodeID) (T, error) { return q.read(tx, v) })
}
