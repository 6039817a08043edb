package lsm

import (
	"maps"
	"slices"
	"sync"
)

// versions are those that transactions see. The version of what a commit writes is its number.
type versions struct {
	mu   sync.Mutex
	last uint64         // of the last commit
	seen map[uint64]int // by how many transactions
}

// begin is the version that a new transaction sees, until end.
func (v *versions) begin() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[uint64]int{}
	}
	v.seen[v.last]++
	return v.last
}

func (v *versions) end(version uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen[version]--; v.seen[version] == 0 {
		delete(v.seen, version)
	}
}

// all are the versions that transactions see, and that of the last commit, without repetition.
func (v *versions) all() []uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := map[uint64]bool{v.last: true}
	for version := range v.seen {
		all[version] = true
	}
	return slices.Collect(maps.Keys(all))
}

func (v *versions) newest() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// advance has transactions that begin from now on see a version.
func (v *versions) advance(to uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = max(v.last, to)
}
