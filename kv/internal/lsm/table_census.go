package lsm

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"slices"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A census finds the records that only unnamed tables hold.
//
// Badger's records have versions, ascending with the commits, and of a key the greatest version is what it holds. A merge
// of tables makes new ones, with greater numbers, and drops what is superseded; if it reaches the last level, it drops
// a deletion, too, with all that it deleted. So a table that was merged, and is still there, may hold records that were
// deleted. It is known by the records that it shares, of the same version, with a table of a greater number: that one was
// made of it. What a merge makes is ascending and without gaps; so a record that lies between the first and the last key
// of the table that was made, and is not in it, was dropped.
type census struct {
	tables []*censusTable

	// made says of two tables that the second was made of the first.
	made map[[2]int]bool
}

// A censusTable is a table in a census.
type censusTable struct {
	id     uint64
	named  bool // by the manifest: it is looked up, not read through
	whole  bool // no record of it is lost
	reader *pack.Reader
	span   tableSpan

	only int64 // records that no named table has, nor a log

	block   int          // the block that entries are of; −1 for none
	entries []pack.Entry // of a block
	at      int          // the entry that is next
}

// A tableSpan is from the least to the greatest key of a table.
type tableSpan struct{ first, last []byte }

func (s tableSpan) covers(key []byte) bool {
	return bytes.Compare(s.first, key) <= 0 && bytes.Compare(key, s.last) <= 0
}

func (s tableSpan) overlaps(other tableSpan) bool {
	return bytes.Compare(s.first, other.last) <= 0 && bytes.Compare(other.first, s.last) <= 0
}

// openCensusTable opens a table of which all blocks are sound. An ErrCorrupt is of the index, or the last block.
func openCensusTable(path string, id uint64) (t *censusTable, err error) {
	reader, err := pack.Open(path)
	if err != nil {
		return nil, err
	}
	t = &censusTable{id: id, whole: true, reader: reader, block: -1}
	first, err := reader.First(0)
	if err == nil {
		t.span.first = bytes.Clone(first)
		err = t.load(reader.Blocks() - 1)
	}
	if err == nil && len(t.entries) == 0 {
		err = record.CorruptFile(path, "its last block is empty")
	}
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	t.span.last = y.ParseKey(t.entries[len(t.entries)-1].Key)
	return t, nil
}

// load reads a block.
func (t *censusTable) load(block int) error {
	if t.block == block {
		return nil
	}
	if err := t.reader.Verify(block); err != nil {
		return err
	}
	from, to, err := t.reader.Place(block)
	if err != nil {
		return err
	}
	t.entries, _ = pack.Entries(t.reader.Data[from:to])
	t.block, t.at = block, 0
	return nil
}

// begin goes to the first entry.
func (t *censusTable) begin() error {
	t.block, t.at = -1, 0
	if err := t.load(0); err != nil {
		return err
	}
	return t.settle()
}

// next goes to the next entry. Behind the last, at is that of none.
func (t *censusTable) next() error {
	t.at++
	return t.settle()
}

func (t *censusTable) settle() error {
	for t.at >= len(t.entries) && t.block+1 < t.reader.Blocks() {
		if err := t.load(t.block + 1); err != nil {
			return err
		}
	}
	return nil
}

func (t *censusTable) ended() bool { return t.at >= len(t.entries) }

// versions are those of a key in a table that is looked up. If a block is damaged in which they would be, the table
// is whole no more, and they are not found.
func (t *censusTable) versions(key []byte) (versions []uint64, err error) {
	records, err := t.records(key)
	if err != nil {
		return t.lacks(err)
	}
	for _, e := range records {
		versions = append(versions, y.ParseTs(e.Key))
	}
	return versions, nil
}

// records are those of a key in a table, with their versions.
func (t *censusTable) records(key []byte) (entries []pack.Entry, err error) {
	if !t.span.covers(key) {
		return nil, nil
	}
	// The newest version of a key comes first, and may be at the end of the block before that which begins with the key.
	low, high := 0, t.reader.Blocks() // the first block that does not begin below the key
	for low < high {
		middle := (low + high) / 2
		first, err := t.reader.First(middle)
		if err != nil {
			return nil, err
		}
		if bytes.Compare(first, key) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for block := max(low-1, 0); block < t.reader.Blocks(); block++ {
		first, err := t.reader.First(block)
		if err == nil && bytes.Compare(first, key) > 0 {
			break
		}
		if err == nil {
			err = t.load(block)
		}
		if err != nil {
			return nil, err
		}
		for _, e := range t.entries {
			if bytes.Equal(y.ParseKey(e.Key), key) {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

// lacks is for a block that cannot be read.
func (t *censusTable) lacks(err error) ([]uint64, error) {
	if !errors.Is(err, record.ErrCorrupt) {
		return nil, err
	}
	t.whole = false
	return nil, nil
}

// holds says whether a table that is looked up has a record of a key, given with its version, or a later one.
func (c *census) holds(key []byte) (bool, error) {
	for _, t := range c.tables {
		versions, err := t.versions(y.ParseKey(key))
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(versions, func(v uint64) bool { return v >= y.ParseTs(key) }) {
			return true, nil
		}
	}
	return false, nil
}

// A heldRecord is a record of one key in a table.
type heldRecord struct {
	table   int // of the census
	version uint64
	entry   pack.Entry // of a table that is read through, borrowed until the next key
}

func (c *census) close() (err error) {
	for _, t := range c.tables {
		err = errors.Join(err, t.reader.Close())
	}
	return err
}

// censusHeap has the tables that are read through, by their next entries.
type censusHeap struct {
	tables []*censusTable
	order  []int
}

func (h *censusHeap) Len() int { return len(h.order) }
func (h *censusHeap) Less(i, j int) bool {
	a, b := h.tables[h.order[i]], h.tables[h.order[j]]
	if c := y.CompareKeys(a.entries[a.at].Key, b.entries[b.at].Key); c != 0 {
		return c < 0
	}
	return a.id > b.id
}
func (h *censusHeap) Swap(i, j int) { h.order[i], h.order[j] = h.order[j], h.order[i] }
func (h *censusHeap) Push(x any)    { h.order = append(h.order, x.(int)) }
func (h *censusHeap) Pop() any {
	last := h.order[len(h.order)-1]
	h.order = h.order[:len(h.order)-1]
	return last
}

// each calls use with every key of the tables that are read through, ascending, and with its records in all tables: the
// greatest version first, and of one version those that are read through first, of the greatest number first.
func (c *census) each(ctx context.Context, use func(key []byte, copies []heldRecord) error) error {
	h := &censusHeap{tables: c.tables}
	for i, t := range c.tables {
		if t.named {
			continue
		}
		if err := t.begin(); err != nil {
			return err
		}
		if !t.ended() {
			h.order = append(h.order, i)
		}
	}
	heap.Init(h)
	var key []byte
	var copies []heldRecord
	for count := 0; h.Len() > 0; count++ {
		if count%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t := c.tables[h.order[0]]
		key = append(key[:0], y.ParseKey(t.entries[t.at].Key)...)
		copies = copies[:0]
		for h.Len() > 0 {
			i := h.order[0]
			t := c.tables[i]
			e := t.entries[t.at]
			if !bytes.Equal(y.ParseKey(e.Key), key) {
				break
			}
			copies = append(copies, heldRecord{i, y.ParseTs(e.Key), e})
			if err := t.next(); err != nil {
				return err
			}
			if t.ended() {
				heap.Pop(h)
			} else {
				heap.Fix(h, 0)
			}
		}
		for i, t := range c.tables {
			if !t.named {
				continue
			}
			versions, err := t.versions(key)
			if err != nil {
				return err
			}
			for _, v := range versions {
				copies = append(copies, heldRecord{table: i, version: v})
			}
		}
		slices.SortStableFunc(copies, func(a, b heldRecord) int { return cmp.Compare(b.version, a.version) })
		if err := use(key, copies); err != nil {
			return err
		}
	}
	return nil
}

// trace finds out which tables were made of which.
func (c *census) trace(ctx context.Context) error {
	c.made = map[[2]int]bool{}
	return c.each(ctx, func(_ []byte, copies []heldRecord) error {
		for i, a := range copies {
			for _, b := range copies[i+1:] {
				if b.version != a.version {
					break
				}
				from, to := a.table, b.table
				if c.tables[from].id > c.tables[to].id {
					from, to = to, from
				}
				c.made[[2]int{from, to}] = true
			}
		}
		return nil
	})
}

// dropped says whether the last record of a key was dropped by merges: in each table that has it.
func (c *census) dropped(key []byte, copies []heldRecord) bool {
	for _, r := range copies {
		if r.version != copies[0].version {
			break
		}
		if !c.droppedFrom(r.table, key, copies) {
			return false
		}
	}
	return true
}

func (c *census) droppedFrom(table int, key []byte, copies []heldRecord) bool {
	for pair := range c.made {
		to := c.tables[pair[1]]
		holds := func(r heldRecord) bool { return r.table == pair[1] }
		if pair[0] == table && to.whole && to.span.covers(key) && !slices.ContainsFunc(copies, holds) {
			return true
		}
	}
	return false
}

// countOnly counts, of each table that is read through, the records that are the last of their keys, were not dropped, and
// are in no named table. Versions in logged are not counted: a log has all of their records.
func (c *census) countOnly(ctx context.Context, logged map[uint64]bool) error {
	if err := c.trace(ctx); err != nil {
		return err
	}
	return c.each(ctx, func(key []byte, copies []heldRecord) error {
		last := copies[0].version
		inNamed := slices.ContainsFunc(copies, func(r heldRecord) bool { return r.version == last && c.tables[r.table].named })
		if inNamed || logged[last] || c.dropped(key, copies) {
			return nil
		}
		for _, r := range copies {
			if r.version == last {
				c.tables[r.table].only++
			}
		}
		return nil
	})
}
