package lsm

import (
	"errors"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A database that is opened to be read, and that was closed, is its tables: there is no log, and nothing changes.
// Badger would read the index of every table, twice with the check that keeps it from a panic, begin goroutines, and
// wait for them at the end. For a process that asks one question, this is most of its time. So such a database is
// read without Badger.
//
// Of a pack that the file "catalog" lists, and whose file has not changed since, nothing is read before it is needed.
// Of every other table the index and the last block are compared with their checksums at once, as Badger does.

// readTables are the tables of a database that is only read.
type readTables struct {
	pack.Tables
	ids    []uint64 // their numbers
	newest uint64   // version
}

// openReadOnly opens a database to read it.
func openReadOnly(dir string) (d *DB, err error) {
	d = &DB{dir: dir, readOnly: true, failure: new(writeFailure), tables: new(readTables)}
	crashed, err := leftByCrash(dir)
	if err != nil {
		return nil, err
	}
	if crashed {
		return nil, CrashedError(dir)
	}
	err = guardFaults(func() error {
		m, _, err := checkNames(dir, false)
		if err != nil {
			return err
		}
		if d.disk, err = storedir.OpenDisk(dir); err != nil {
			return err
		}
		if d.catalog, err = readCatalogFile(dir); err != nil {
			return err
		}
		return d.tables.open(dir, d.disk, d.catalog, m)
	})
	if err != nil {
		return nil, errors.Join(err, d.closeTables())
	}
	return d, nil
}

// open opens the tables that a manifest names. Each of Badger's tables of level 0 is a run of its own, the last one
// first. The run of a fold follows, and that of all packs.
func (r *readTables) open(dir string, disk storedir.Disk, catalog catalogFile, m manifest) error {
	r.ids = slices.Sorted(maps.Keys(m.levels))
	runs := map[uint8][]*pack.Table{}
	for _, id := range slices.Backward(r.ids) {
		path := table.NewFilename(id, dir)
		var listed pack.Listed
		var err error
		if isPack(id) {
			listed, err = catalog.look(id-packNumber, path)
		} else {
			listed, err = lookAtTable(dir, id)
			r.newest = max(r.newest, listed.Newest)
		}
		if err != nil {
			return err
		}
		t := pack.NewTable(disk, path, listed)
		if level := m.levels[id]; level == 0 {
			r.Tables = append(r.Tables, []*pack.Table{t})
		} else {
			runs[level] = append(runs[level], t)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(runs)) {
		slices.SortFunc(runs[level], func(a, b *pack.Table) int { return y.CompareKeys(a.First, b.First) })
		r.Tables = append(r.Tables, runs[level])
	}
	return nil
}

func (r *readTables) close() (err error) {
	for _, run := range r.Tables {
		for _, t := range run {
			err = errors.Join(err, t.Close())
		}
	}
	r.Tables = nil
	return err
}

// closeTables closes a database that is read without Badger.
func (d *DB) closeTables() error { return errors.Join(d.disk.Close(), d.tables.close()) }
