package kv

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A nodeMemory is what was last asked for: a number of every node.
type nodeMemory[T any] struct {
	mu     sync.Mutex
	commit uint64 // that the values are of
	values []T    // lent, so they never change; nil: nothing was asked for
}

const (
	// nodeValuesShare is the share of the memory budget that the values of one kind may take, as a divisor.
	nodeValuesShare = 32

	// readAllShare is the share of the nodes, as a divisor, from which on it costs less to read all than to read them
	// one by one.
	readAllShare    = 64
	leastReadSingly = 1 << 10
)

// AllDegrees returns the degrees of all nodes, for a caller that needs about asked of them, far apart. Nobody may change
// them. The store keeps them in memory, and reads for later snapshots only those of nodes that changed. It returns nil
// in an Update, if they would take more than a 32nd of the memory budget, and if it would have to read all for a caller
// who asks for few. Use Degree or ReadDegrees then.
func (tx *Tx) AllDegrees(asked int) (degrees []uint32, err error) {
	read := func(v NodeID) (uint32, error) {
		degree, err := tx.graph().Degree(v)
		return uint32(degree), err
	}
	return recall(tx, &tx.s.degrees, asked, (*Changes).Edges, read, tx.ReadDegrees)
}

// AllLabels is AllDegrees of the labels of all nodes, NoClass of those without. If it returns nil, use Label or
// ReadClasses.
func (tx *Tx) AllLabels(asked int) (labels []Class, err error) {
	touched := func(c *Changes) *Touched { return c.Column(LabelColumn) }
	readAll := func(r Range, dst []Class) error { return tx.ReadClasses(LabelColumn, r, dst) }
	return recall(tx, &tx.s.labels, asked, touched, tx.labelOf, readAll)
}

// recall returns the values that are kept, with those of nodes that changed since, or reads all.
func recall[T any](
	tx *Tx, m *nodeMemory[T], asked int, touched func(*Changes) *Touched, read func(v NodeID) (T, error),
	readAll func(r Range, dst []T) error,
) ([]T, error) {
	n := tx.cat.Nodes
	last, err := tx.LastCommit()
	if err != nil || tx.write || int64(n)*4 > tx.s.opt.MemoryBudget/nodeValuesShare {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values != nil && m.commit == last {
		return m.values, nil
	}
	later := m.values == nil || m.commit < last
	if m.values != nil && later {
		changes, err := tx.ChangesSince(m.commit)
		if err != nil && !errors.Is(err, ErrNotTracked) {
			return nil, err
		}
		if err == nil {
			changed := touched(changes)
			for v := len(m.values); v < n; v++ {
				changed.nodes.Add(uint32(v))
			}
			if !changed.All && changed.Count() <= max(leastReadSingly, n/readAllShare) {
				err := m.bring(n, changed, read)
				m.commit = last
				return m.values, err
			}
		}
	}
	if asked <= n/readAllShare {
		return nil, nil
	}
	values := make([]T, n)
	if err := readAll(Range{End: NodeID(n)}, values); err != nil {
		return nil, fmt.Errorf("values of all nodes: %w", err)
	}
	if later {
		m.commit, m.values = last, values
	}
	return values, nil
}

// bring reads the values of nodes that changed again. There are n nodes now.
func (m *nodeMemory[T]) bring(n int, changed *Touched, read func(v NodeID) (T, error)) error {
	if changed.Count() == 0 {
		return nil
	}
	values := append(slices.Clone(m.values), make([]T, n-len(m.values))...)
	for v := range changed.Nodes() {
		var err error
		if values[v], err = read(v); err != nil {
			m.values = nil
			return err
		}
	}
	m.values = values
	return nil
}
