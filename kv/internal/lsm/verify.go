package lsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/crc32c"
	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A record that is damaged is found when it is read, since its checksum is over its key and its body. But it may be the
// version or the mark beside them that is damaged, or the key, so that the record is not found at all; only the checksum
// of the block it lies in tells. Badger, when it merges tables, would write a new block without it, and a right checksum.
// So the blocks of a table are compared with their checksums before the table is merged. That reads what the merge would
// read.
//
// A table never changes once it is written. So the store keeps a list of its tables, with the size, the times and the number
// that the file system gave their files, and a table whose file still has these is not compared again once it was. Without
// the list a store with as many tables of level 0 as make a merge due would be read as a whole whenever it is opened. What
// changes a byte of a file changes these, but for the medium itself.
//
// The list also has what is to be known of a table to read a store without Badger, so that a question looks only into the
// tables which it needs.

// verifiedName is the file of a store that lists its tables: a line with listForm and the checksum of the rest, CRC-32C in hexadecimal, and
// the text of appendListed for each. It may be deleted: the tables are compared again then.
const verifiedName = "verified"

// listForm is of the text of the list. A list in another form is read as one without tables.
const listForm = "tables-1"

// A listedTable is what the list says of a table.
type listedTable struct {
	pack.Listed      // no first key if the index was not looked at
	Fresh       bool // its blocks were not compared since they were written
}

// appendListed appends what the list says of a table: varints, as whoever asks one question reads the list of all tables, and the first key
// behind its length.
func appendListed(text []byte, id uint64, t listedTable) []byte {
	var fresh uint64
	if t.Fresh {
		fresh = 1
	}
	for _, n := range []uint64{
		id, uint64(t.Size), uint64(t.Modified), uint64(t.Changed), t.Number, fresh, uint64(t.Index), t.Newest, uint64(len(t.First)),
	} {
		text = binary.AppendUvarint(text, n)
	}
	return append(text, t.First...)
}

// parseListed reads what appendListed has appended, false if it is not that.
func parseListed(text []byte) (listed map[uint64]listedTable, ok bool) {
	listed, ok = map[uint64]listedTable{}, true
	next := func() uint64 {
		n, size := binary.Uvarint(text)
		ok = ok && size > 0
		text = text[max(size, 0):]
		return n
	}
	for ok && len(text) > 0 {
		id := next()
		mark := storedir.Mark{Size: int64(next()), Modified: int64(next()), Changed: int64(next()), Number: next()}
		fresh := next()
		t := listedTable{pack.Listed{Mark: mark, Index: int64(next()), Newest: next()}, fresh == 1}
		first := next()
		if ok = ok && fresh <= 1 && first <= uint64(len(text)); ok {
			t.First, text = text[:first], text[first:]
			listed[id] = t
		}
	}
	return listed, ok
}

// verifiedTables are those of a store that need no more comparing.
type verifiedTables struct {
	dir string

	mu sync.Mutex

	// newest is the number of the last table there was when the store was opened: later ones have come out of this
	// process.
	newest uint64
	listed map[uint64]listedTable
	all    bool             // those up to newest are known
	sizes  map[uint64]int64 // of the files of tables, in bytes, as they were first seen

	counted tableCount // what verifyChangedTables found last; of the writer's lock
}

// A tableCount tells one set of tables from another.
type tableCount struct {
	tables int
	bytes  int64
}

// readVerified reads the list of a store. If it is damaged or in another form, no table is listed.
func readVerified(dir string) *verifiedTables {
	v := &verifiedTables{dir: dir, sizes: map[uint64]int64{}, listed: map[uint64]listedTable{}}
	text, err := os.ReadFile(filepath.Join(dir, verifiedName))
	head, body, _ := bytes.Cut(text, []byte("\n"))
	if err == nil && string(head) == listHead(body) {
		if listed, ok := parseListed(body); ok {
			v.listed = listed
		}
	}
	return v
}

// listHead is the first line of the list.
func listHead(body []byte) string { return fmt.Sprintf("%s %08x", listForm, crc32c.Of(body)) }

// opened takes note of the tables that Badger has opened.
func (v *verifiedTables) opened(db *badger.DB) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, info := range db.Tables() {
		v.newest = max(v.newest, info.ID)
	}
	return v.checkSizes()
}

// compare compares the blocks of tables with their checksums, if they were not compared before. All tables that there are
// must be among them, up to some number.
func (v *verifiedTables) compare(ids []uint64) (err error) {
	compared := map[uint64]listedTable{}
	changed := false
	defer func() {
		v.listed = compared
		if changed {
			v.save()
		}
	}()
	for _, id := range ids {
		path := table.NewFilename(id, v.dir)
		mark, err := storedir.MarkOf(path)
		if err != nil {
			return err
		}
		listed := v.listed[id]
		if listed.Mark != mark {
			listed = listedTable{pack.Listed{Mark: mark}, true}
		}
		if listed.Fresh {
			if err := verifyTable(path); err != nil {
				return err
			}
			listed.Fresh, changed = false, true
		}
		compared[id] = listed
	}
	return nil
}

// list brings the list up to date once the store is closed. It saves time only, so an error leaves it as it is.
func (v *verifiedTables) list() {
	manifest, cut, err := readManifest(v.dir)
	if err != nil || cut != nil {
		return
	}
	maps.DeleteFunc(manifest.Tables, func(id uint64, _ badger.TableManifest) bool { return isPack(id) })
	listed, changed := map[uint64]listedTable{}, len(manifest.Tables) != len(v.listed)
	for id := range manifest.Tables {
		path := table.NewFilename(id, v.dir)
		mark, err := storedir.MarkOf(path)
		if err != nil {
			return
		}
		was := v.listed[id]
		if was.Mark != mark || len(was.First) == 0 {
			fresh := was.Mark != mark || was.Fresh
			if was.Listed, err = pack.Look(path); err != nil {
				return
			}
			was.Fresh, changed = fresh, true
		}
		listed[id] = was
	}
	if v.listed = listed; changed {
		v.save()
	}
}

// save writes the list. It saves time only: if it cannot be written, the tables are compared again.
func (v *verifiedTables) save() {
	var body []byte
	for _, id := range slices.Sorted(maps.Keys(v.listed)) {
		body = appendListed(body, id, v.listed[id])
	}
	text := append([]byte(listHead(body)+"\n"), body...)
	draft := filepath.Join(v.dir, "spill-verified.tmp") // which the next open removes
	if os.WriteFile(draft, text, storedir.FileMode(storedir.Mode)) != nil || os.Rename(draft, filepath.Join(v.dir, verifiedName)) != nil {
		os.Remove(draft) //nolint:errcheck // the next open does
	}
}

// checkSizes returns an ErrCorrupt for a table whose file has become shorter since it was first seen: Badger has it mapped,
// and would touch pages that are no more. The caller holds v.mu.
func (v *verifiedTables) checkSizes() error {
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	sizes := map[uint64]int64{}
	for _, entry := range entries {
		id, ok := table.ParseFileID(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // Badger has just removed it
		}
		if err != nil {
			return err
		}
		if size := v.sizes[id]; info.Size() < size {
			if named, err := v.isNamed(id); err != nil {
				return err
			} else if !named {
				continue // Badger cuts a table to no bytes before it removes it
			}
			return record.CorruptFile(table.NewFilename(id, v.dir), "it has %d bytes, and had %d", info.Size(), size)
		}
		sizes[id] = info.Size()
	}
	v.sizes = sizes
	return nil
}

// isNamed says whether the manifest names a table.
func (v *verifiedTables) isNamed(id uint64) (bool, error) {
	manifest, _, err := readManifest(v.dir) //nolint:errcheck // a change that Badger is writing is cut off
	_, named := manifest.Tables[id]
	return named, err
}

// verifyTables compares the checksums of all tables that were there when the store was opened, and makes sure that no table
// was cut short since. It is to be called before tables may be merged.
func (d *DB) verifyTables() error {
	v := d.verified
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.checkSizes(); err != nil || v.all {
		return err
	}
	err := d.holdTables(func(tables []uint64) error {
		return v.compare(slices.DeleteFunc(tables, func(id uint64) bool { return id > v.newest }))
	})
	v.all = err == nil
	return err
}

// verifyChangedTables does so if tables have come or gone since it was last done: commits between two of these list no
// directory. The caller holds the writer's lock.
func (d *DB) verifyChangedTables(levels []badger.LevelInfo) error {
	var now tableCount
	for _, level := range levels {
		now.tables += level.NumTables
		now.bytes += level.Size
	}
	if now == d.verified.counted {
		return nil
	}
	err := d.verifyTables()
	if err == nil {
		d.verified.counted = now
	}
	return err
}

// FindDamage makes sure that no table was cut short, and compares the checksums of all blocks of all tables. Each that
// does not match is passed to report, as an ErrCorrupt, with the name of its file. look is called before each table, and its
// error ends the search.
func (d *DB) FindDamage(
	ctx context.Context, look func(done, total int) error, report func(file string, damage error),
) error {
	d.verified.mu.Lock()
	err := d.verified.checkSizes()
	d.verified.mu.Unlock()
	if err != nil {
		return err
	}
	return d.holdTables(func(tables []uint64) error {
		var paths []string
		for _, id := range tables {
			paths = append(paths, table.NewFilename(id, d.dir))
		}
		if d.tables == nil {
			held := d.packs.acquire(func() {})
			defer d.packs.release(held) //nolint:errcheck // the next open removes what stays behind
			for _, h := range held.packs {
				paths = append(paths, h.id.openPath(d.dir))
			}
		}
		for i, path := range paths {
			if err := look(i, len(paths)); err != nil {
				return err
			}
			err := findDamage(ctx, path, func(damage error) bool {
				report(filepath.Base(path), damage)
				return true
			})
			if errors.Is(err, fs.ErrNotExist) && d.wasFolded(path) {
				continue // the fold has compared its blocks
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wasFolded reports whether a fold has removed a table of an open database.
func (d *DB) wasFolded(path string) bool {
	id, isTable := table.ParseFileID(filepath.Base(path))
	if !isTable || d.tables != nil {
		return false
	}
	ids, err := d.tableIDs()
	return err == nil && !slices.Contains(ids, id)
}

// holdTables calls use with the numbers of the tables there are, which Badger, when it has merged them, leaves until use
// returns. Those that it makes at this moment are not among them. The caller holds the writer's lock, or has acquired a
// snapshot.
func (d *DB) holdTables(use func(tables []uint64) error) error {
	if d.tables != nil {
		return use(d.tables.ids)
	}
	return d.View(func(txn *Txn) error {
		before, err := d.tableIDs()
		if err != nil {
			return err
		}
		it := txn.read(badger.IteratorOptions{}) // which keeps its tables
		defer it.Close()
		ids, err := d.tableIDs()
		if err != nil {
			return err
		}
		return use(slices.DeleteFunc(ids, func(id uint64) bool { return !slices.Contains(before, id) }))
	})
}

// tableIDs are the numbers of the tables there are, by the manifest: Badger's own list touches each table.
func (d *DB) tableIDs() (ids []uint64, err error) {
	manifest, err := openManifest(d.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		for _, info := range d.db.Tables() {
			ids = append(ids, info.ID)
		}
		return ids, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, manifest.Close()) }()
	named, _, err := replayManifest(manifest) //nolint:errcheck // a table that is being entered is none yet
	return slices.Collect(maps.Keys(named.Tables)), err
}

// verifyToOpen compares the checksums of tables if Badger, once it is opened, would begin to merge them: there are enough
// tables of level 0, with those that it makes of so many logs, or tables of a level above the last.
func verifyToOpen(dir string, tables []tableFile, logs int, opt badger.Options) error {
	first, due := logs, false
	var ids []uint64
	for _, t := range tables {
		if t.level == 0 {
			first++
		}
		due = due || t.level > 0 && t.level < opt.MaxLevels-1
		if id, ok := table.ParseFileID(filepath.Base(t.path)); ok {
			ids = append(ids, id)
		}
	}
	if !due && first < opt.NumLevelZeroTables {
		return nil
	}
	return readVerified(dir).compare(ids)
}

// verifyTable returns the first damage to a table as an ErrCorrupt.
func verifyTable(path string) error {
	var damage error
	err := findDamage(context.Background(), path, func(first error) bool {
		damage = first
		return false
	})
	return errors.Join(damage, err)
}

// findDamage compares the checksums of a table's index and blocks. Each that does not match is passed to report, as an
// ErrCorrupt, which says whether to go on. The table must stay while it runs.
func findDamage(ctx context.Context, path string, report func(damage error) bool) (err error) {
	t, err := pack.Open(path)
	if errors.Is(err, record.ErrCorrupt) {
		report(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for i := range t.Blocks() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		damage := t.Verify(i)
		if damage != nil && !errors.Is(damage, record.ErrCorrupt) {
			return damage
		}
		if damage != nil && !report(damage) {
			return nil
		}
	}
	return nil
}
