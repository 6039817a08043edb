package lsm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A closed database is one that Badger alone can read: packs have names of tables, and the manifest names them. While
// it is open for writing, Badger knows nothing of packs. It deletes every table that its manifest lacks, and fails
// where one is gone that the manifest names. So every pack that has the name of a table is in the manifest at all
// times:
//
//   - Close has Badger close, replaces the manifest by one that names Badger's own tables and all packs, and then renames the packs.
//   - Open for writing renames the packs back, replaces the manifest by one without packs, and then has Badger open.
//
// A crash between two steps is mended by the steps of the next Open. Each manifest that is written here has one
// record. So if there are more, while packs are named, another program has written to the database.

// packLevel is the level of packs in the manifest of a closed database.
const packLevel = 6

// hidePacks has Badger know nothing of packs, before it opens a database for writing that checkNames has looked at.
func hidePacks(dir string) error {
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is being created
	}
	if err != nil {
		return err
	}
	f, err := list(dir)
	if err != nil || len(f.closed) == 0 && len(m.packs()) == 0 {
		return err
	}
	listed, err := readCatalogFile(dir)
	if err != nil {
		return err
	}
	for _, id := range f.closed {
		if err := listed.hide(dir, id); err != nil {
			return err
		}
	}
	if err := durable.SyncDirectory(dir); err != nil {
		return err
	}
	return m.write(dir, nil)
}

// hide gives a pack that has the name of a table one of its own.
func (c *catalogFile) hide(dir string, id uint64) error {
	path := table.NewFilename(id, dir)
	l, err := c.look(id-packNumber, path)
	if err != nil {
		return err
	}
	g := generationOf(l)
	if g == 0 {
		return record.CorruptFile(filepath.Join(dir, ManifestName), "%s: restore a backup", foreign)
	}
	return os.Rename(path, packID{id - packNumber, g}.openPath(dir))
}

// showPacks has Badger know the packs in the directory of a database that it has closed. There may be some that it
// knows. A table that the manifest does not name is an ErrCorrupt, and nothing is done.
func showPacks(dir string) error {
	f, err := list(dir)
	if err != nil {
		return err
	}
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) && len(f.open) == 0 {
		return nil // it was being created
	}
	if err := cmp.Or(err, m.cut); err != nil {
		return err
	}
	for _, id := range m.lacks(f.tables) {
		return record.CorruptFile(table.NewFilename(id, dir), "%s does not name it", ManifestName)
	}
	ids := f.closed
	for _, id := range f.open {
		ids = append(ids, packNumber+id.number)
	}
	if err := m.write(dir, ids); err != nil {
		return err
	}
	for _, id := range f.open {
		if err := os.Rename(id.openPath(dir), id.closedPath(dir)); err != nil {
			return err
		}
	}
	return durable.SyncDirectory(dir)
}
