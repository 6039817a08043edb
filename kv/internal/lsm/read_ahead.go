package lsm

import (
	"sync/atomic"
	"time"
)

// A readAhead asks the system for the bytes of a table that are read next: the more, the longer the reads go on in one direction, once one
// of the blocks was not there. Who says what it will read, as WillRead is told, does not read in one direction.
type readAhead struct {
	from, to int // what was asked for
	stride   int
}

// How much is asked for at once.
const (
	leastAhead = 64 << 10
	mostAhead  = 2 << 20
)

// begin is told of a block that is read after one elsewhere.
func (a *readAhead) begin(t *readTable, block, from, to int) {
	*a = readAhead{from, to, 0}
	if t.mustAsk(block, from, to) {
		willRead(t.data, from, to)
	}
}

// askAgain is after how many seconds the system is asked for a block again: by then its pages may have gone from memory.
const askAgain = 60

// mustAsk says whether to ask the system for a block: if it was not asked lately, and the block is not in memory.
func (t *readTable) mustAsk(block, from, to int) bool {
	now, last := time.Now().Unix(), t.forgotten.Load()
	if now-last >= askAgain && t.forgotten.CompareAndSwap(last, now) {
		for i := range t.seen {
			atomic.StoreUint64(&t.seen[i], 0)
		}
	}
	bit := uint64(1) << (block % 64)
	return atomic.OrUint64(&t.seen[block/64], bit)&bit == 0 && !t.isCached(from, to)
}

// wasAsked says whether the system was asked for a block.
func (t *readTable) wasAsked(block int) bool {
	return atomic.LoadUint64(&t.seen[block/64])>>(block%64)&1 != 0
}

// isCached says whether a block is in memory, or is taken to be.
func (t *readTable) isCached(from, to int) bool {
	if t.seemsCached() || t.tells && isCached(t.data, from, to) {
		t.cached.Add(1)
		return true
	}
	t.cached.Store(0)
	return false
}

// Asking takes longer than reading what is in memory. So where all blocks of a sample are there, those of the stretch behind it are taken to be.
const (
	cachedSample  = 8
	cachedStretch = 64 // with the sample
)

// seemsCached says whether the next block that is asked for is taken to be in memory.
func (t *readTable) seemsCached() bool { return t.cached.Load()%cachedStretch >= cachedSample }

// start is told of a block beside the last, while nothing is asked for ahead.
func (a *readAhead) start(t *readTable, block, from, to int) {
	if !t.wasAsked(block) && !t.isCached(from, to) {
		willRead(t.data, from, to)
		a.from, a.to, a.stride = min(a.from, from), max(a.to, to), leastAhead
	}
}

// up is told of a block behind the last.
func (a *readAhead) up(t *readTable, block, from, to int) {
	if a.stride == 0 {
		a.start(t, block, from, to)
		return
	}
	if to+a.stride/2 > a.to && a.to < len(t.data) {
		next := min(to+a.stride, len(t.data))
		willRead(t.data, max(from, a.to), next)
		a.to, a.stride = next, min(2*a.stride+leastAhead, mostAhead)
	}
}

// down is told of a block before the last.
func (a *readAhead) down(t *readTable, block, from, to int) {
	if a.stride == 0 {
		a.start(t, block, from, to)
		return
	}
	if from-a.stride/2 < a.from && a.from > 0 {
		next := max(from-a.stride, 0)
		willRead(t.data, next, min(to, a.from))
		a.from, a.stride = next, min(2*a.stride+leastAhead, mostAhead)
	}
}
