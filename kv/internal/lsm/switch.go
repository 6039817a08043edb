package lsm

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A closed database is one that Badger alone can read: packs have names of tables, and the manifest names them. While it is open for
// writing, Badger knows nothing of packs. It deletes every table that its manifest lacks, and fails where one is gone that the manifest
// names. So every pack that has the name of a table is in the manifest at all times:
//
//   - Close has Badger close, replaces the manifest by one that names Badger's own tables and all packs, and then renames the packs.
//   - Open for writing renames the packs back, replaces the manifest by one without packs, and then has Badger open.
//
// A crash between two steps is mended by the steps of the next Open. Each manifest that is written here has one record. So if there are
// more, while packs are named, another program has written to the database.

// packLevel is the level of packs in the manifest of a closed database.
const packLevel = 6

// checkPacks returns an ErrCorrupt if a pack is missing that the manifest names, or another program has written to a closed database.
func checkPacks(dir string) error {
	manifest, _, err := readManifest(dir) //nolint:errcheck // where it is cut off is for others
	if err != nil {
		return nil //nolint:nilerr // it is being created, or looked at next
	}
	named := packsOf(manifest)
	closed, err := closedPacks(dir)
	if err != nil || len(named) == 0 && len(closed) == 0 {
		return err
	}
	sets, err := readManifestChanges(dir)
	if err != nil {
		return err
	}
	isForeign := func(id uint64) bool { return !slices.Contains(named, id) }
	if len(sets) > 1 || slices.ContainsFunc(closed, isForeign) {
		return record.CorruptFile(filepath.Join(dir, badger.ManifestFilename), "another program has written to the store with Badger")
	}
	open, err := openPacksIn(dir)
	if err != nil {
		return err
	}
	for _, id := range named {
		isIt := func(p packID) bool { return p.number == id-packNumber }
		if !slices.Contains(closed, id) && !slices.ContainsFunc(open, isIt) {
			return record.CorruptFile(table.NewFilename(id, dir), "it is missing")
		}
	}
	return nil
}

// packsOf are the packs that a manifest names.
func packsOf(manifest badger.Manifest) []uint64 {
	return slices.DeleteFunc(slices.Collect(maps.Keys(manifest.Tables)), func(id uint64) bool { return !isPack(id) })
}

// hidePacks has Badger know nothing of packs, before it opens a database for writing that checkPacks has looked at.
func hidePacks(dir string) error {
	manifest, _, err := readManifest(dir) //nolint:errcheck // where a crash has cut it off it is written again
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is being created
	}
	if err != nil {
		return err
	}
	closed, err := closedPacks(dir)
	if err != nil || len(closed) == 0 && len(packsOf(manifest)) == 0 {
		return err
	}
	listed, err := readCatalogFile(dir)
	if err != nil {
		return err
	}
	var ids []packID
	for _, id := range closed {
		l, err := listed.look(id-packNumber, table.NewFilename(id, dir))
		if err != nil {
			return err
		}
		ids = append(ids, packID{id - packNumber, generationOf(l)})
	}
	for _, id := range ids {
		if err := os.Rename(id.closedPath(dir), id.openPath(dir)); err != nil {
			return err
		}
	}
	if err := durable.SyncDirectory(dir); err != nil {
		return err
	}
	return writeTables(dir, manifest, nil)
}

// closedPacks are the numbers of the packs in a directory that have names of tables.
func closedPacks(dir string) (ids []uint64, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if id, ok := table.ParseFileID(entry.Name()); ok && isPack(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// showPacks has Badger know packs, once it has closed a database that it had open for writing.
func showPacks(dir string, ids []packID) error {
	manifest, cut, err := readManifest(dir)
	if err := cmp.Or(err, cut); err != nil {
		return err
	}
	if err := writeTables(dir, manifest, ids); err != nil {
		return err
	}
	return renamePacks(dir, ids)
}

// renamePacks gives packs, which the manifest names, names of tables.
func renamePacks(dir string, ids []packID) error {
	for _, id := range ids {
		if err := os.Rename(id.openPath(dir), id.closedPath(dir)); err != nil {
			return err
		}
	}
	return durable.SyncDirectory(dir)
}

// showAllPacks is showPacks of a database that was closed before and could not be opened. Some of its packs may not have been renamed.
func showAllPacks(dir string) error {
	open, err := openPacksIn(dir)
	if err != nil || len(open) == 0 {
		return err
	}
	closed, err := closedPacks(dir)
	if err != nil {
		return err
	}
	manifest, cut, err := readManifest(dir)
	if err := cmp.Or(err, cut); err != nil {
		return err
	}
	ids := slices.Clone(open)
	for _, id := range closed {
		ids = append(ids, packID{number: id - packNumber})
	}
	if err := writeTables(dir, manifest, ids); err != nil {
		return err
	}
	return renamePacks(dir, open)
}

// writeTables replaces a manifest by one of a single record, which names Badger's own tables and some packs.
func writeTables(dir string, manifest badger.Manifest, ids []packID) error {
	var changes pb.ManifestChangeSet
	for _, id := range slices.Sorted(maps.Keys(manifest.Tables)) {
		if entry := manifest.Tables[id]; !isPack(id) {
			changes.Changes = append(changes.Changes, &pb.ManifestChange{
				Id: id, Op: pb.ManifestChange_CREATE, Level: uint32(entry.Level), KeyId: entry.KeyID, Compression: uint32(entry.Compression),
			})
		}
	}
	slices.SortFunc(ids, func(a, b packID) int { return cmp.Compare(a.number, b.number) })
	for _, id := range ids {
		changes.Changes = append(changes.Changes, &pb.ManifestChange{Id: packNumber + id.number, Op: pb.ManifestChange_CREATE, Level: packLevel})
	}
	return writeManifest(dir, &changes)
}
