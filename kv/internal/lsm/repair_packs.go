package lsm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// packs repairs the packs, and leaves them with the names of a database that is open for writing. The file of the catalogue goes: it is
// written again once the packs are open.
func (r *fileRepair) packs(ctx context.Context) error {
	listed, err := r.catalogFile()
	if err != nil {
		return err
	}
	r.copied = listed.body
	there, err := r.openNamedPacks(ctx, listed)
	if err != nil {
		return err
	}
	if err := r.closedNamedPacks(ctx, listed, there); err != nil {
		return err
	}
	wanted := map[uint64]string{} // by number, the name
	for number, l := range listed.packs {
		wanted[number] = filepath.Base(packID{number, generationOf(l)}.openPath(r.dir))
	}
	sets, _, _, err := r.readChanges() //nolint:errcheck // what is damaged is told by tables
	if err != nil {
		return err
	}
	for id := range r.levelsOf(sets) {
		if isPack(id) {
			wanted[id-packNumber] = filepath.Base(table.NewFilename(id, r.dir))
		}
	}
	for number, name := range wanted {
		if !there[number] {
			r.copied = nil // it may be of another time
			if err := r.lose(Loss{Kind: "table of records", Count: 1}, name, "it is missing", "taken out"); err != nil {
				return err
			}
		}
	}
	if err := durable.SyncDirectory(r.dir); err != nil {
		return err
	}
	manifest, cut, err := readManifest(r.dir)
	if err == nil && cut == nil {
		err = writeTables(r.dir, manifest, nil)
	}
	if err != nil && !errors.Is(err, record.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// catalogFile reads the file of the catalogue, and removes it.
func (r *fileRepair) catalogFile() (catalogFile, error) {
	listed, err := readCatalogFile(r.dir)
	if errors.Is(err, record.ErrCorrupt) {
		err = r.done(CatalogName, err.Error(), "written again")
	}
	if err != nil {
		return listed, err
	}
	if err := os.Remove(filepath.Join(r.dir, CatalogName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return listed, err
	}
	return listed, nil
}

// openNamedPacks repairs the packs that a crash left with the names of a database that is open for writing. One that is not listed, and
// not whole, is of a write that the crash has ended.
func (r *fileRepair) openNamedPacks(ctx context.Context, listed catalogFile) (there map[uint64]bool, err error) {
	there = map[uint64]bool{}
	ids, err := openPacksIn(r.dir)
	for _, id := range ids {
		path := id.openPath(r.dir)
		if _, is := listed.packs[id.number]; !is && listed.body != nil {
			if _, err := listed.look(id.number, path); errors.Is(err, record.ErrCorrupt) {
				if err := os.Remove(path); err != nil {
					return nil, err
				}
				continue
			}
		}
		there[id.number] = true
		if _, _, err := r.repairTable(ctx, path); err != nil {
			return nil, err
		}
	}
	return there, err
}

// closedNamedPacks repairs the packs with names of tables.
func (r *fileRepair) closedNamedPacks(ctx context.Context, listed catalogFile, there map[uint64]bool) error {
	ids, err := closedPacks(r.dir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		path := table.NewFilename(id, r.dir)
		there[id-packNumber] = true
		usable, _, err := r.repairTable(ctx, path)
		if err != nil {
			return err
		}
		if !usable {
			continue
		}
		l, err := listed.look(id-packNumber, path)
		if err != nil {
			return err
		}
		g := generationOf(l)
		if g == 0 {
			return record.CorruptFile(filepath.Join(r.dir, badger.ManifestFilename), "another program has written to the store with Badger: "+
				"restore a backup")
		}
		if err := os.Rename(path, packID{id - packNumber, g}.openPath(r.dir)); err != nil {
			return err
		}
	}
	return nil
}
