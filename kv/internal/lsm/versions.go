package lsm

import "sync"

// versions are those that transactions see. The version of what a commit writes is its number.
type versions struct {
	mu   sync.Mutex
	last uint64 // of the last commit
	seen int    // how many transactions there are
}

// begin is the version that a new transaction sees, until end.
func (v *versions) begin() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen++
	return v.last
}

func (v *versions) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen--
}

// inUse reports whether there are transactions.
func (v *versions) inUse() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen > 0
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
