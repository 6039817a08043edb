package lsm

import (
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
)

// A database that is opened to be read, and that was closed, is its tables: there is no log, and nothing changes.
// Badger would read the index of every table, twice with the check that keeps it from a panic, begin goroutines, and
// wait for them at the end. For a process that asks one question, this is most of its time. So such a database is
// read without Badger.
//
// Of a pack that the file "catalog" lists, and whose file has not changed since, nothing is read before it is needed.
// Of every other table the index and the last block are compared with their checksums at once, as Badger does.

// openTables opens the tables that the manifest names. Each of Badger's tables of level 0 is a run of its own, the last
// one first. The run of a fold follows, and that of all packs.
func (d *DB) openTables() error {
	m, _, err := checkNames(d.dir, false)
	if err != nil {
		return err
	}
	runs := map[uint8][]*pack.Table{}
	set := new(packSet)
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(m.levels))) {
		path := table.NewFilename(id, d.dir)
		listed, err := d.catalog.look(id, path)
		if err != nil {
			return err
		}
		if !isPack(id) {
			d.last.Store(max(d.last.Load(), listed.Newest))
		}
		t := pack.NewTable(d.disk, path, listed)
		set.tables = append(set.tables, &heldTable{Table: t, id: id, path: path})
		if level := m.levels[id]; level == 0 {
			set.all = append(set.all, []*pack.Table{t})
		} else {
			runs[level] = append(runs[level], t)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(runs)) {
		slices.SortFunc(runs[level], func(a, b *pack.Table) int { return y.CompareKeys(a.First, b.First) })
		set.all = append(set.all, runs[level])
	}
	slices.Reverse(set.tables)
	return d.packs.replace(set)
}
