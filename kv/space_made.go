package kv

import (
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// madeShare is the share of the memory budget that what was made of one space may take, as a divisor.
const madeShare = 32

// madeValues are what was made of spaces, by name.
type madeValues struct {
	mu sync.Mutex
	of map[string]madeOf
}

// A madeOf is what was made of a generation of a space.
type madeOf struct {
	generation record.Generation
	value      any
}

// Made returns what build makes of the whole space, and keeps it in memory for all who ask, until a Bulk writes the
// space again. Nobody may change it, and the space must be one that no Update writes into. build also returns how many
// bytes it takes: if they are more than a small part of the memory budget, nothing is kept.
func (s *Space) Made(build func() (value any, size int64, err error)) (any, error) {
	if err := s.tx.Err(); err != nil {
		return nil, err
	}
	g, m := s.tx.cat.Spaces[s.name], &s.tx.s.made
	m.mu.Lock()
	of, ok := m.of[s.name]
	m.mu.Unlock()
	if ok && of.generation == g {
		return of.value, nil
	}
	value, size, err := build()
	if err != nil || s.tx.write || size > s.tx.s.opt.MemoryBudget/madeShare {
		return value, err // if an Update is given up, another may use the number of its generation
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g >= m.of[s.name].generation {
		m.of[s.name] = madeOf{g, value}
	}
	return value, nil
}
