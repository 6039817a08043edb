package pack

import (
	"sync/atomic"
	"time"
)

// A readAhead asks the system for the bytes of a table that are read next: the more, the longer the reads go on in
// one direction, once one of the blocks was not there. Who says what it will read, as WillRead is told, does not read
// in one direction.
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
func (a *readAhead) begin(t *Table, block, from, to int) {
	*a = readAhead{from, to, 0}
	if t.mustAsk(block, from, to) {
		willRead(t.reader.Data, from, to)
	}
}

// askAgain is after how many seconds the system is asked for a block again: by then its pages may have gone from
// memory.
const askAgain = 60

// mustAsk says whether to ask the system for a block: if it was not asked lately, and the block is not in memory.
func (t *Table) mustAsk(block, from, to int) bool {
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
func (t *Table) wasAsked(block int) bool {
	return atomic.LoadUint64(&t.seen[block/64])>>(block%64)&1 != 0
}

// isCached says whether a block is in memory, or is taken to be.
func (t *Table) isCached(from, to int) bool {
	if t.seemsCached() || t.tells && isCached(t.reader.Data, from, to) {
		t.cached.Add(1)
		return true
	}
	t.cached.Store(0)
	return false
}

// Asking takes longer than reading what is in memory. So where all blocks of a sample are there, those of the stretch
// behind it are taken to be.
const (
	cachedSample  = 8
	cachedStretch = 64 // with the sample
)

// seemsCached says whether the next block that is asked for is taken to be in memory.
func (t *Table) seemsCached() bool { return t.cached.Load()%cachedStretch >= cachedSample }

// start is told of a block beside the last, while nothing is asked for ahead.
func (a *readAhead) start(t *Table, block, from, to int) {
	if !t.wasAsked(block) && !t.isCached(from, to) {
		willRead(t.reader.Data, from, to)
		a.from, a.to, a.stride = min(a.from, from), max(a.to, to), leastAhead
	}
}

// up is told of a block behind the last.
func (a *readAhead) up(t *Table, block, from, to int) {
	if a.stride == 0 {
		a.start(t, block, from, to)
		return
	}
	if to+a.stride/2 > a.to && a.to < len(t.reader.Data) {
		next := min(to+a.stride, len(t.reader.Data))
		willRead(t.reader.Data, max(from, a.to), next)
		a.to, a.stride = next, min(2*a.stride+leastAhead, mostAhead)
	}
}

// down is told of a block before the last.
func (a *readAhead) down(t *Table, block, from, to int) {
	if a.stride == 0 {
		a.start(t, block, from, to)
		return
	}
	if from-a.stride/2 < a.from && a.from > 0 {
		next := max(from-a.stride, 0)
		willRead(t.reader.Data, next, min(to, a.from))
		a.from, a.stride = next, min(2*a.stride+leastAhead, mostAhead)
	}
}

// mostBetween is how many bytes between two blocks are read with them: one read of a disk costs more than so many
// bytes.
const mostBetween = 64 << 10

// ask has a block be among those that the system is asked for.
func (c *Cursor) ask(t *Table, block, from, to int) {
	if !t.mustAsk(block, from, to) {
		return
	}
	if c.askIn == t && from >= c.askFrom && from <= c.askTo+mostBetween {
		c.askTo = max(c.askTo, to)
		return
	}
	c.askNow()
	c.askIn, c.askFrom, c.askTo = t, from, to
}

// askNow asks the system for what was to be asked for.
func (c *Cursor) askNow() {
	if c.askIn != nil {
		willRead(c.askIn.reader.Data, c.askFrom, c.askTo)
	}
	c.askIn = nil
}
