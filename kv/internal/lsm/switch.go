package lsm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// Plain Badger can read a closed database: packs have names of tables, and the manifest names them. While it is open
// for writing, Badger knows nothing of packs. It deletes every table that its manifest lacks, and fails where one is
// gone that the manifest names. So every pack that has the name of a table is in the manifest at all times:
//
//   - Close has Badger close, replaces the manifest by one that names Badger's own tables and all packs, and then
//     renames the packs.
//   - Open for writing renames the packs back, replaces the manifest by one without packs, and then has Badger open.
//
// A crash between two steps is mended by the steps of the next Open. Each manifest that is written here has one
// record. So if there are more, while packs are named, another program has written to the database.

// packLevel is the level of packs in the manifest of a closed database.
const packLevel = 6

// settle makes the directory one that Badger can open, so that it knows nothing of packs.
func (f found) settle(dir string) error {
	for _, s := range f.strays {
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	if len(f.closed) == 0 && len(f.packs()) == 0 {
		return nil
	}
	for _, id := range f.closed {
		if err := os.Rename(table.NewFilename(id, dir), openPath(dir, id)); err != nil {
			return err
		}
	}
	if err := durable.SyncDirectory(dir); err != nil {
		return err
	}
	return f.write(dir, nil)
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
	if err := m.write(dir, append(f.closed, f.open...)); err != nil {
		return err
	}
	for _, id := range f.open {
		if err := os.Rename(openPath(dir, id), table.NewFilename(id, dir)); err != nil {
			return err
		}
	}
	return durable.SyncDirectory(dir)
}
