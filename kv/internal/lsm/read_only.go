package lsm

import (
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A database that is opened to be read, and that was closed, is its tables: there is no log, and nothing changes. Badger would read the
// index of every table, twice with the check that keeps it from a panic, begin goroutines, and wait for them at the end. For a process
// that asks one question, this is most of its time. So such a database is read without Badger.
//
// Of a pack that the file "catalog" lists, and whose file has not changed since, nothing is read before it is needed. Of
// every other table the index and the last block are compared with their checksums at once, as Badger does.

// readTables are the tables of a database that is only read.
type readTables struct {
	pack.Tables
	ids    []uint64 // their numbers
	newest uint64   // version
}

// openReadOnly opens a database to read it.
func openReadOnly(dir string) (d *DB, err error) {
	d = &DB{dir: dir, readOnly: true, failure: new(writeFailure), tables: new(readTables)}
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
		if d.catalog, err = readCatalogFile(dir); err != nil {
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
	levels := map[uint8][]*pack.Table{}
	var first []uint64 // numbers of tables of level 0
	zero := map[uint64]*pack.Table{}
	var packs []*pack.Table
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
		if isPack(id) {
			listed, err := d.catalog.look(id-packNumber, path)
			if err != nil {
				return err
			}
			packs = append(packs, pack.NewTable(d.disk, path, listed))
			d.tables.ids = append(d.tables.ids, id)
			continue
		}
		listed, err := pack.Look(path)
		if err != nil {
			return err
		}
		t := pack.NewTable(d.disk, path, listed)
		d.tables.ids = append(d.tables.ids, id)
		d.tables.newest = max(d.tables.newest, listed.Newest)
		if entry.Level == 0 {
			first, zero[id] = append(first, id), t
		} else {
			levels[entry.Level] = append(levels[entry.Level], t)
		}
	}
	slices.Sort(first)
	for _, id := range slices.Backward(first) {
		d.tables.Tables = append(d.tables.Tables, []*pack.Table{zero[id]})
	}
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		run := levels[level]
		slices.SortFunc(run, func(a, b *pack.Table) int { return y.CompareKeys(a.First, b.First) })
		d.tables.Tables = append(d.tables.Tables, run)
	}
	if len(packs) > 0 {
		slices.SortFunc(packs, func(a, b *pack.Table) int { return y.CompareKeys(a.First, b.First) })
		d.tables.Tables = append(d.tables.Tables, packs)
	}
	return nil
}

// closeTables closes a database that is read without Badger.
func (d *DB) closeTables() error {
	err := d.disk.Close()
	for _, run := range d.tables.Tables {
		for _, t := range run {
			err = errors.Join(err, t.Close())
		}
	}
	d.tables.Tables = nil
	return err
}
