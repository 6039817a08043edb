package snapshot

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Deltas are the nodes that may have deltas, which are records of what changed since a generation was written. So a lookup in the generation
// need not look for a delta of another node, which costs more than the rest. It has the nodes of all deltas that were written or removed
// since it was made, each before the commit that did so is visible, and those that a scan of the generation found. That is enough for every
// snapshot that began since it was made, whenever the scan was: a delta that the scan does not find was not there yet, or is removed.
//
// Each node is a bit at the place of its hash. With very many changes most lookups look for a delta. A nil Deltas knows nothing.
type Deltas struct {
	mu    sync.Mutex                                       // of who adds a generation
	scans atomic.Pointer[map[record.Generation]*deltaScan] // not changed, but replaced
	bits  [1 << deltasLog2 / 32]atomic.Uint32
}

// A deltaScan is what is known of a generation.
type deltaScan struct {
	misses atomic.Uint64
	done   atomic.Bool
}

const (
	deltasLog2 = 20
	deltaGroup = 1 << 12 // nodes that also share a bit

	// leastMisses is how many lookups of a generation must find no delta before it is scanned: a few cost less than the scan.
	leastMisses = 1 << 8
)

// NewDeltas makes a set of no nodes, which has scanned no generation.
func NewDeltas() *Deltas {
	d := new(Deltas)
	d.scans.Store(&map[record.Generation]*deltaScan{})
	return d
}

// Note adds the node of a key that is written or removed, if it is that of a delta.
func (d *Deltas) Note(key []byte) {
	switch record.Kind(key[0]) {
	case record.KindColumnDelta, record.KindEdgeDelta, record.KindDegreeDelta:
		if v, ok := record.NumberOf(key, 0); ok {
			g := record.GenerationOf(key)
			d.set(deltaName(g, record.NodeID(v)))
			d.set(groupName(g, record.NodeID(v)))
		}
	}
}

func deltaName(g record.Generation, v record.NodeID) Name {
	return Name{Generation: g, A: uint32(v)}
}

func groupName(g record.Generation, v record.NodeID) Name {
	return Name{Generation: g, A: uint32(v) / deltaGroup, B: 1}
}

// bit is the place of a name.
func (d *Deltas) bit(name Name) (word *atomic.Uint32, mask uint32) {
	bit := name.hash() >> (64 - deltasLog2)
	return &d.bits[bit/32], 1 << (bit % 32)
}

func (d *Deltas) set(name Name) {
	if word, mask := d.bit(name); word.Load()&mask == 0 {
		word.Or(mask)
	}
}

func (d *Deltas) has(name Name) bool {
	word, mask := d.bit(name)
	return word.Load()&mask != 0
}

// Lacks says that a node of a generation has no delta.
func (d *Deltas) Lacks(g record.Generation, v record.NodeID) bool {
	return d.scanned(g) && !d.has(deltaName(g, v))
}

// LacksAll says that no node of a range has a delta.
func (d *Deltas) LacksAll(g record.Generation, r record.Range) bool {
	if !d.scanned(g) {
		return false
	}
	for first := int(r.First) / deltaGroup * deltaGroup; first < int(r.End); first += deltaGroup {
		if d.has(groupName(g, record.NodeID(first))) {
			return false
		}
	}
	return true
}

func (d *Deltas) scanned(g record.Generation) bool {
	if d == nil {
		return false
	}
	scan := (*d.scans.Load())[g]
	return scan != nil && scan.done.Load()
}

// scan is that of a generation.
func (d *Deltas) scan(g record.Generation) *deltaScan {
	if scan := (*d.scans.Load())[g]; scan != nil {
		return scan
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	scans := *d.scans.Load()
	if scans[g] == nil {
		scans = maps.Clone(scans)
		scans[g] = new(deltaScan)
		d.scans.Store(&scans)
	}
	return scans[g]
}

// Missed notes that a lookup found no delta, and after as many as a scan is worth scans the deltas of a kind and generation. The catalogue
// of a commit must name the generation. It gives up if there are more deltas than lookups, until there are twice the lookups. A delta that
// cannot be read is the error of who asks for it.
func Missed(r Reader, k record.Kind, g record.Generation) {
	d := r.Deltas()
	if d == nil {
		return
	}
	scan := d.scan(g)
	if scan.done.Load() { // another node has the bit of this one
		return
	}
	misses := scan.misses.Add(1)
	if misses < leastMisses || misses > 1<<deltasLog2 || misses&(misses-1) != 0 {
		return
	}
	left := misses
	for delta, err := range r.Scan(record.Prefix(k, g), nil) {
		if err != nil || left == 0 {
			return
		}
		d.Note(delta.Key)
		left--
	}
	scan.done.Store(true)
}
