package kv

import (
	"sync"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// madeShare is the share of the memory budget that what was made of one space may take, as a divisor.
const madeShare = 32

// A madeOf is what was made of a space.
type madeOf struct {
	generation record.Generation
	value      any
	put        bool // single entries were written: a generation has more than one content
}

// madeValues are what was made of spaces, by name.
type madeValues struct {
	mu sync.Mutex
	of map[string]madeOf
}

// get returns what was made of a generation of a space.
func (m *madeValues) get(name string, g record.Generation) (value any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of, ok := m.of[name]
	return of.value, ok && !of.put && of.generation == g
}

// keep keeps what was made of a generation, unless there is something of a later one.
func (m *madeValues) keep(name string, g record.Generation, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if of := m.of[name]; !of.put && of.generation <= g {
		m.of[name] = madeOf{generation: g, value: value}
	}
}

// end ends the keeping for a space into which an Update writes.
func (m *madeValues) end(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[name] = madeOf{put: true}
}

// Made returns what build makes of the whole space, and keeps it in memory for all who ask, until a Bulk writes the
// space again. Nobody may change it. build also returns how many bytes it takes: if they are more than a small part
// of the memory budget, or an Update has written into the space, nothing is kept.
func (s *Space) Made(build func() (value any, size int64, err error)) (any, error) {
	if err := s.tx.Err(); err != nil {
		return nil, err
	}
	// if the Update is given up, another may use the number of its generation
	g, own := s.tx.cat.Spaces[s.name], s.tx.changed
	if value, ok := s.tx.s.made.get(s.name, g); ok && !own {
		return value, nil
	}
	value, size, err := build()
	if err == nil && !own && size <= s.tx.s.opt.MemoryBudget/madeShare {
		s.tx.s.made.keep(s.name, g, value)
	}
	return value, err
}
