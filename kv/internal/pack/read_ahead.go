package pack

import (
	"iter"
	"math"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/internal/mapped"
)

// A readAhead asks the system for the bytes of a table that are read next: the more, the longer the reads go on in
// one direction. Who says what it will read, as WillRead is told, does not read in one direction.
type readAhead struct {
	from, to int // the bytes asked for
	stride   int // 0 while nothing is asked for ahead
}

const (
	// How much is asked for at once.
	leastAhead = 64 << 10
	mostAhead  = 2 << 20

	// mostBetween is how many bytes between two blocks are read with them: one read of a disk costs more than so many
	// bytes.
	mostBetween = 64 << 10
)

// mustAsk says whether to ask the system for a block, which is done once.
func (t *Table) mustAsk(block int) bool {
	word, bit := &t.asked[block/64], uint64(1)<<(block%64)
	return atomic.LoadUint64(word)&bit == 0 && atomic.OrUint64(word, bit)&bit == 0
}

// begin is told of a block that is read after one elsewhere.
func (a *readAhead) begin(t *Table, block, from, to int) {
	*a = readAhead{from, to, 0}
	if t.mustAsk(block) {
		mapped.WillRead(t.reader.Data, from, to)
	}
}

// goOn is told of a block beside the last, after it or before it.
func (a *readAhead) goOn(t *Table, block, from, to int, up bool) {
	data := t.reader.Data
	switch {
	case a.stride == 0:
		if t.mustAsk(block) {
			mapped.WillRead(data, from, to)
			a.from, a.to, a.stride = min(a.from, from), max(a.to, to), leastAhead
		}
		return
	case up && to+a.stride/2 > a.to && a.to < len(data):
		next := min(to+a.stride, len(data))
		mapped.WillRead(data, max(from, a.to), next)
		a.to = next
	case !up && from-a.stride/2 < a.from && a.from > 0:
		next := max(from-a.stride, 0)
		mapped.WillRead(data, next, min(to, a.from))
		a.from = next
	default:
		return
	}
	a.stride = min(2*a.stride+leastAhead, mostAhead)
}

// WillRead says under which keys records of a run are read soon. The system is asked for all of them at once, so that
// the disk finds them side by side. What goes wrong is told by the reads themselves.
func (c *Cursor) WillRead(keys iter.Seq[[]byte]) {
	var in *Table
	var from, to int
	ask := func() {
		if in != nil {
			mapped.WillRead(in.reader.Data, from, to)
		}
	}
	for key := range keys {
		at, block, err := c.locate(y.KeyWithTs(key, math.MaxUint64))
		if err != nil {
			break
		}
		t := c.run[at]
		if !t.mustAsk(block) {
			continue
		}
		first, end, err := t.reader.Place(block)
		if err != nil {
			break
		}
		if t == in && first >= from && first <= to+mostBetween {
			to = max(to, end)
			continue
		}
		ask()
		in, from, to = t, first, end
	}
	ask()
}
