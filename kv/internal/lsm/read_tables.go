package lsm

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A database that is opened to be read, and that was closed, is its tables: there is no log, and nothing changes. Badger would read the
// index of every table, twice with the check that keeps it from a panic, begin goroutines, and wait for them at the end. For a process
// that asks one question, this is most of its time. So such a database is read without Badger.
//
// A table that the file "verified" lists, and whose file has not changed since, is not touched before a read needs it. Of every other
// table the index and the last block are compared with their checksums at once, as Badger does.

// readTables are the tables of a database that is only read.
type readTables struct {
	// runs are tables in the order of their keys, none of which overlap: a table of level 0 by itself, or all of another level. Of two
	// runs that hold the same version of a key, the first counts.
	runs   [][]*readTable
	newest uint64 // version
}

// A readTable is one of them.
type readTable struct {
	*tableReader // nil before the table is open
	id           uint64
	disk         storedir.Disk // has its file
	path         string
	listed       listedTable
	opening      sync.Mutex
	isOpen       atomic.Bool

	seen      []uint64     // a bit for each block that was asked for lately
	forgotten atomic.Int64 // the second since 1970 when the bits were last cleared
	tells     bool         // see tellsCached
	cached    atomic.Int32 // how many blocks in a row were in memory before they were asked for, or taken to be
}

// openReadOnly opens a database to read it.
func openReadOnly(dir string) (d *DB, err error) {
	d = &DB{dir: dir, readOnly: true, failure: new(writeFailure), tables: new(readTables), verified: readVerified(dir)}
	crashed, err := LeftByCrash(dir)
	if err != nil {
		return nil, err
	}
	if crashed {
		return nil, CrashedError(dir)
	}
	err = guardFaults(func() error {
		manifest, _, err := checkNames(dir, false)
		if err != nil {
			return err
		}
		if d.disk, err = storedir.OpenDisk(dir); err != nil {
			return err
		}
		return d.openTables(manifest)
	})
	if err != nil {
		return nil, errors.Join(err, d.closeTables())
	}
	return d, nil
}

// openTables opens the tables that a manifest names.
func (d *DB) openTables(manifest badger.Manifest) error {
	levels := map[uint8][]*readTable{}
	for id, entry := range manifest.Tables {
		path := table.NewFilename(id, d.dir)
		mark, err := storedir.MarkOf(path)
		if errors.Is(err, os.ErrNotExist) {
			return record.CorruptFile(path, "it is missing")
		}
		if err != nil {
			return err
		}
		if mark.Size == 0 {
			return record.CorruptFile(path, "it is empty")
		}
		if entry.Compression != badgeroptions.None {
			return record.CorruptFile(path, "%s says that it is compressed", badger.ManifestFilename)
		}
		listed := d.verified.listed[id]
		known := listed.Mark == mark && len(listed.First) > 0
		if !known {
			if listed, err = lookAtTable(path); err != nil {
				return err
			}
		}
		t := &readTable{id: id, disk: d.disk, path: path, listed: listed}
		d.tables.newest = max(d.tables.newest, listed.Newest)
		d.verified.sizes[id] = mark.Size
		if entry.Level == 0 {
			d.tables.runs = append(d.tables.runs, []*readTable{t})
		} else {
			levels[entry.Level] = append(levels[entry.Level], t)
		}
	}
	slices.SortFunc(d.tables.runs, func(a, b []*readTable) int { return cmp.Compare(b[0].id, a[0].id) })
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		run := levels[level]
		slices.SortFunc(run, func(a, b *readTable) int { return y.CompareKeys(a.listed.First, b.listed.First) })
		d.tables.runs = append(d.tables.runs, run)
	}
	return nil
}

// open opens the table if it is not. What fails is tried again by the next read.
func (t *readTable) open() error {
	if t.isOpen.Load() {
		return nil
	}
	t.opening.Lock()
	defer t.opening.Unlock()
	if t.isOpen.Load() {
		return nil
	}
	f, err := t.disk.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return record.CorruptFile(t.path, "it is missing")
	}
	if err != nil {
		return err
	}
	r, err := mapOpened(t.path, f)
	if err != nil {
		return err
	}
	if r.mark.SameContent(t.listed.Mark) {
		err = r.parseAtRandom(int(t.listed.Index))
	} else {
		err = record.CorruptFile(t.path, "it is not the table that was there when the store was opened, of %d bytes", t.listed.Size)
	}
	if err != nil {
		return errors.Join(err, r.close())
	}
	t.tableReader, t.seen, t.tells = r, make([]uint64, (r.count+63)/64), tellsCached(t.path)
	t.isOpen.Store(true)
	return nil
}

// readAtRandom tells the system that little of a mapped file is read: it would else read megabytes around each page that is touched.
func readAtRandom(data []byte) { z.Madvise(data, false) } //nolint:errcheck // it saves time only

// parseAtRandom is parse for who reads a few blocks. The byte at which the index begins is 0 if it is not known.
func (t *tableReader) parseAtRandom(index int) error {
	readAtRandom(t.data)
	known := index > 0 && index < len(t.data)
	if known {
		willRead(t.data, index, len(t.data))
	}
	return t.parse(!known)
}

// closeTables closes a database that is read without Badger.
func (d *DB) closeTables() error {
	err := d.disk.Close()
	for _, run := range d.tables.runs {
		for _, t := range run {
			if t.tableReader != nil {
				err = errors.Join(err, t.close())
			}
		}
	}
	d.tables.runs = nil
	return err
}

// ids are the numbers of the tables.
func (r *readTables) ids() (ids []uint64) {
	for _, run := range r.runs {
		for _, t := range run {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// get returns the value under a key, mapped; record.ErrNotFound if there is none.
func (r *readTables) get(key []byte) ([]byte, uint64, error) { return getFrom(r.cursors(), key) }

// getFrom is get by way of cursors, which may be used for many keys.
func getFrom(cursors []*runCursor, key []byte) ([]byte, uint64, error) {
	version, value, err := lastOf(cursors, key)
	if err == nil && (version == 0 || isDeleted(value)) {
		err = record.ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	body, err := valueIn(value)
	return body, version, err
}

// last returns the newest version of a key and what is under it then, mapped; version 0 if nothing is known of the key.
func (r *readTables) last(key []byte) (version uint64, value y.ValueStruct, err error) {
	return lastOf(r.cursors(), key)
}

// cursors are one for each run.
func (r *readTables) cursors() []*runCursor {
	all := make([]*runCursor, len(r.runs))
	for i, run := range r.runs {
		all[i] = &runCursor{run: run}
	}
	return all
}

// lastOf is last by way of cursors, which may be used for many keys.
func lastOf(cursors []*runCursor, key []byte) (version uint64, value y.ValueStruct, err error) {
	seek, hash := y.KeyWithTs(key, math.MaxUint64), y.Hash(key)
	for _, c := range cursors {
		if !c.found { // else it probably has this one too
			if may, err := c.mayHave(key, seek, hash); err != nil {
				return 0, value, err
			} else if !may {
				continue
			}
		}
		if err := c.seek(seek); err != nil {
			return 0, value, err
		}
		c.found = c.valid() && y.SameKey(seek, c.key)
		if c.found && y.ParseTs(c.key) > version {
			version = y.ParseTs(c.key)
			value.Decode(c.value)
		}
	}
	return version, value, nil
}

// askFor asks the system for the blocks in which a key lies, if it lies there.
func askFor(cursors []*runCursor, key []byte) error {
	seek, hash := y.KeyWithTs(key, math.MaxUint64), y.Hash(key)
	for _, c := range cursors {
		if at := c.tableOf(seek); at >= 0 && c.run[at].seemsCached() {
			c.run[at].cached.Add(1)
			continue
		}
		may, err := c.mayHave(key, seek, hash)
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		at, block, err := c.locate(seek)
		if err != nil {
			return err
		}
		from, to, err := c.run[at].place(block)
		if err != nil {
			return err
		}
		c.ask(c.run[at], block, from, to)
	}
	return nil
}

// mostBetween is how many bytes between two blocks are read with them: one read of a disk costs more than so many bytes.
const mostBetween = 64 << 10

// ask has a block be among those that the system is asked for.
func (c *runCursor) ask(t *readTable, block, from, to int) {
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
func (c *runCursor) askNow() {
	if c.askIn != nil {
		willRead(c.askIn.data, c.askFrom, c.askTo)
	}
	c.askIn = nil
}

// beginsWith says whether a table begins with a version of a key.
func (t *readTable) beginsWith(key []byte) bool { return bytes.Equal(y.ParseKey(t.listed.First), key) }

// lacks says that a table has no key of a hash.
func (t *readTable) lacks(hash uint32) (bool, error) {
	if err := t.open(); err != nil {
		return false, err
	}
	filter := t.index.BloomFilterBytes()
	return len(filter) > 0 && !y.Filter(filter).MayContain(hash), nil
}

// isDeleted says whether a value stands for a deletion. Nothing is written that expires.
func isDeleted(value y.ValueStruct) bool { return value.Meta&markDeleted != 0 }

// valueIn returns a value that is there, mapped.
func valueIn(value y.ValueStruct) ([]byte, error) {
	if value.Meta&markElsewhere != 0 {
		return nil, errors.New("its value is not in its table")
	}
	return value.Value, nil
}

// A runCursor stands on an entry of a run, or on none.
type runCursor struct {
	run   []*readTable
	at    int // the table
	block int
	entry int
	on    bool // it stands on an entry

	placedIn *readTable // in which place found the last block; nil before
	placed   int        // that block
	found    bool       // the run had the last key that was looked up

	askIn          *readTable // of what the system is to be asked for; nil if there is nothing
	askFrom, askTo int

	ahead  readAhead
	of     *readTable // that the block is of
	data   []byte     // of the block: its entries
	starts []byte     // where they begin
	base   []byte     // the key of the first
	key    []byte     // with its version
	value  []byte     // mapped
}

func (c *runCursor) valid() bool { return c.on }

// mayHave says whether the run may have a version of a key of some hash; seek is the key as it is searched for.
func (c *runCursor) mayHave(key, seek []byte, hash uint32) (bool, error) {
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

// tableOf is the last table that begins at a key or before it; −1 for none. A table that begins with a version of the key counts too, if
// the table before it cannot have a newer one.
func (c *runCursor) tableOf(key []byte) int {
	next, found := slices.BinarySearchFunc(c.run, key, func(t *readTable, key []byte) int { return y.CompareKeys(t.listed.First, key) })
	if found || next < len(c.run) && c.run[next].beginsWith(y.ParseKey(key)) &&
		(next == 0 || c.run[next-1].listed.Newest <= y.ParseTs(c.run[next].listed.First)) {
		return next
	}
	return next - 1
}

// load goes to a block of a table.
func (c *runCursor) load(at, block int) error {
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
	from, to, err := t.place(block)
	if err != nil {
		return err
	}
	switch block {
	case before + 1:
		c.ahead.up(t, block, from, to)
	case before - 1:
		c.ahead.down(t, block, from, to)
	default:
		c.ahead.begin(t, block, from, to)
	}
	entries, starts, ok := cutBlock(t.data[from:to])
	if !ok || len(starts) == 0 {
		return record.CorruptFile(t.path, "block %d, %d bytes from byte %d, has no entries", block, to-from, from)
	}
	_, rest := entryLengths(entries)
	c.base = entries[entryHeader : entryHeader+rest]
	c.of, c.at, c.block, c.data, c.starts = t, at, block, entries, starts
	return nil
}

func (c *runCursor) entries() int { return len(c.starts) / 4 }

// set goes to an entry of the block.
func (c *runCursor) set(i int) {
	from, to := startOf(c.starts, i), len(c.data)
	if i+1 < c.entries() {
		to = startOf(c.starts, i+1)
	}
	e := c.data[from:to]
	overlap, rest := entryLengths(e)
	c.key = append(append(c.key[:0], c.base[:overlap]...), e[entryHeader:entryHeader+rest]...)
	c.value = e[entryHeader+rest:]
	c.entry, c.on = i, true
}

// locate finds the table and the block in which a key lies, or would.
func (c *runCursor) locate(key []byte) (at, block int, err error) {
	at = max(c.tableOf(key), 0)
	t := c.run[at]
	if err := t.open(); err != nil {
		return 0, 0, err
	}
	if newest := t.listed.Newest; y.ParseTs(key) > newest { // so that a block which begins with the newest version is found, not the block before
		key = y.KeyWithTs(y.ParseKey(key), newest)
	}
	behind := func(block int) (bool, error) {
		first, err := t.firstMapped(block)
		return err == nil && y.CompareKeys(first, key) > 0, err
	}
	low, high := 0, t.count // the first that begins behind the key
	if c.placedIn == t {    // many are asked for in order: in the block of the last, or soon behind it
		for i, step := c.placed, 1; i < high; i, step = i+step, 2*step {
			if is, err := behind(i); err != nil {
				return 0, 0, err
			} else if is {
				high = i
			} else {
				low = i + 1
			}
		}
	}
	for low < high {
		middle := int(uint(low+high) >> 1)
		if is, err := behind(middle); err != nil {
			return 0, 0, err
		} else if is {
			high = middle
		} else {
			low = middle + 1
		}
	}
	c.placedIn, c.placed = t, max(low-1, 0)
	return at, c.placed, nil
}

// find finds the block in which a key lies, or would, and the first entry of that block that is not before the key, or is behind it.
func (c *runCursor) find(key []byte, behind bool) (i int, err error) {
	at, block, err := c.locate(key)
	if err != nil {
		return 0, err
	}
	if err := c.load(at, block); err != nil {
		return 0, err
	}
	low, high := 0, c.entries()
	for low < high {
		middle := int(uint(low+high) >> 1)
		c.set(middle)
		if order := y.CompareKeys(c.key, key); order > 0 || order == 0 && !behind {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

// seek goes to the first entry that is not before a key.
func (c *runCursor) seek(key []byte) error {
	i, err := c.find(key, false)
	if err != nil {
		return err
	}
	if i < c.entries() {
		c.set(i)
		return nil
	}
	c.entry = i - 1
	return c.next()
}

// seekBack goes to the last entry that is not behind a key.
func (c *runCursor) seekBack(key []byte) error {
	i, err := c.find(key, true)
	if err != nil {
		return err
	}
	if i > 0 {
		c.set(i - 1)
		return nil
	}
	c.entry = 0
	return c.previous()
}

// next goes to the next entry.
func (c *runCursor) next() error {
	if c.entry+1 < c.entries() {
		c.set(c.entry + 1)
		return nil
	}
	at, block := c.at, c.block+1
	if block == c.of.count {
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

// previous goes to the entry before.
func (c *runCursor) previous() error {
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
		block = c.run[at].count - 1
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
