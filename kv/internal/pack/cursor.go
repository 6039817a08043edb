package pack

import (
	"cmp"
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A Cursor stands on an entry of a run, or on none.
type Cursor struct {
	run   []*Table
	at    int // the table
	block int
	entry int
	on    bool // it stands on an entry

	found bool // the run had the last key that was looked up

	ahead  readAhead
	of     *Table // that the block is of
	data   []byte // of the block: its entries
	starts []byte // where they begin
	base   []byte // the key of the first
	key    []byte // with its version
	value  []byte // mapped
}

// Valid says whether it stands on an entry.
func (c *Cursor) Valid() bool { return c.on }

// Key is the key of the entry, with its version, borrowed until the next step.
func (c *Cursor) Key() []byte { return c.key }

// Holds is the record under the key, mapped.
func (c *Cursor) Holds() []byte {
	var value y.ValueStruct
	value.Decode(c.value)
	return value.Value
}

// Close does nothing: a cursor holds nothing.
func (c *Cursor) Close() {}

// mayHave says whether the run may have a version of a key of some hash; seek is the key as it is searched for.
func (c *Cursor) mayHave(key, seek []byte, hash uint32) (bool, error) {
	at := c.tableOf(seek)
	if at < 0 {
		return false, nil
	}
	if at+1 < len(c.run) && c.run[at+1].beginsWith(key) { // that one is as good as found
		return true, nil
	}
	lacks, err := c.run[at].lacks(hash)
	return !lacks, err
}

// tableOf is the last table that begins at a key or before it; −1 for none. A table that begins with a version of the
// key counts too, if the table before it cannot have a newer one.
func (c *Cursor) tableOf(key []byte) int {
	next, found := slices.BinarySearchFunc(c.run, key,
		func(t *Table, key []byte) int { return y.CompareKeys(t.First, key) })
	if found || next < len(c.run) && c.run[next].beginsWith(y.ParseKey(key)) &&
		(next == 0 || c.run[next-1].Newest <= y.ParseTs(c.run[next].First)) {
		return next
	}
	return next - 1
}

// load goes to a block of a table.
func (c *Cursor) load(at, block int) error {
	t := c.run[at]
	if c.of == t && c.at == at && c.block == block {
		return nil
	}
	before := c.block
	if c.of != t {
		before = -2 // of no block beside this one
	}
	c.on, c.of = false, nil
	if err := t.open(); err != nil {
		return err
	}
	from, to, err := t.reader.Place(block)
	if err != nil {
		return err
	}
	if block == before+1 || block == before-1 {
		c.ahead.goOn(t, block, from, to, block > before)
	} else {
		c.ahead.begin(t, block, from, to)
	}
	entries, starts, ok := cutBlock(t.reader.Data[from:to])
	if !ok || len(starts) == 0 {
		return record.CorruptFile(t.path, "block %d, %d bytes from byte %d, has no entries", block, to-from, from)
	}
	_, rest := entryLengths(entries)
	c.base = entries[entryHeader : entryHeader+rest]
	c.of, c.at, c.block, c.data, c.starts = t, at, block, entries, starts
	return nil
}

func (c *Cursor) entries() int { return len(c.starts) / 4 }

// set goes to an entry of the block.
func (c *Cursor) set(i int) {
	from, to := bounds(c.data, c.starts, i)
	e := c.data[from:to]
	overlap, rest := entryLengths(e)
	c.key = append(append(c.key[:0], c.base[:overlap]...), e[entryHeader:entryHeader+rest]...)
	c.value = e[entryHeader+rest:]
	c.entry, c.on = i, true
}

// locate finds the table and the block in which a key lies, or would.
func (c *Cursor) locate(key []byte) (at, block int, err error) {
	at = max(c.tableOf(key), 0)
	t := c.run[at]
	if err := t.open(); err != nil {
		return 0, 0, err
	}
	// so that a block which begins with the newest version is found, not the block before
	if newest := t.Newest; y.ParseTs(key) > newest {
		key = y.KeyWithTs(y.ParseKey(key), newest)
	}
	behind := func(block int) bool {
		first, failed := t.reader.firstMapped(block)
		err = cmp.Or(err, failed)
		return failed != nil || y.CompareKeys(first, key) > 0
	}
	block = sort.Search(t.reader.count, behind) - 1
	return at, max(block, 0), err
}

// find finds the block in which a key lies, or would, and the first entry of that block that is not before the key,
// or is after it.
func (c *Cursor) find(key []byte, behind bool) (i int, err error) {
	at, block, err := c.locate(key)
	if err != nil {
		return 0, err
	}
	if err := c.load(at, block); err != nil {
		return 0, err
	}
	i = sort.Search(c.entries(), func(i int) bool {
		c.set(i)
		order := y.CompareKeys(c.key, key)
		return order > 0 || order == 0 && !behind
	})
	return i, nil
}

// Seek goes to the first entry that is not before a key.
func (c *Cursor) Seek(key []byte) error {
	i, err := c.find(key, false)
	if err != nil {
		return err
	}
	if i < c.entries() {
		c.set(i)
		return nil
	}
	c.entry = i - 1
	return c.Next()
}

// SeekBack goes to the last entry that is not after a key.
func (c *Cursor) SeekBack(key []byte) error {
	i, err := c.find(key, true)
	if err != nil {
		return err
	}
	if i > 0 {
		c.set(i - 1)
		return nil
	}
	c.entry = 0
	return c.Previous()
}

// Next goes to the next entry.
func (c *Cursor) Next() error {
	if c.entry+1 < c.entries() {
		c.set(c.entry + 1)
		return nil
	}
	at, block := c.at, c.block+1
	if block == c.of.reader.count {
		at, block = at+1, 0
	}
	if c.on = false; at == len(c.run) {
		return nil
	}
	if err := c.load(at, block); err != nil {
		return err
	}
	c.set(0)
	return nil
}

// Previous goes to the entry before.
func (c *Cursor) Previous() error {
	if c.entry > 0 {
		c.set(c.entry - 1)
		return nil
	}
	at, block := c.at, c.block-1
	if block < 0 && at > 0 {
		at--
		if err := c.run[at].open(); err != nil {
			return err
		}
		block = c.run[at].reader.count - 1
	}
	if c.on = false; block < 0 {
		return nil
	}
	if err := c.load(at, block); err != nil {
		return err
	}
	c.set(c.entries() - 1)
	return nil
}
