package lsm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// openManifest opens the manifest of an open database, for eachTable. Where an open file cannot be replaced it is errors.ErrUnsupported:
// Badger's own list of tables is to be used.
func openManifest(dir string) (*os.File, error) {
	if !storedir.HasLocks {
		return nil, errors.ErrUnsupported
	}
	return os.Open(filepath.Join(dir, badger.ManifestFilename))
}

// eachTable calls use with the tables that a manifest names, but for new ones that were merged since, and with the indexes of those that
// are new. Badger's own list reads in the index of every table, which is slow if they do not stay in memory.
func eachTable(manifest *os.File, isNew func(id uint64) bool, use func(id uint64, level uint8, index *fb.TableIndex)) error {
	named, cut, err := replayManifest(manifest)
	if err := cmp.Or(err, cut); err != nil {
		return err
	}
	for id, entry := range named.Tables {
		if !isNew(id) {
			use(id, entry.Level, nil)
			continue
		}
		path := table.NewFilename(id, filepath.Dir(manifest.Name()))
		err := useIndex(path, func(index *fb.TableIndex) { use(id, entry.Level, index) })
		if err != nil && !isBeingRemoved(path) {
			return err
		}
	}
	return nil
}

// isBeingRemoved says whether a table is gone, or empty: Badger makes a table empty before it removes it.
func isBeingRemoved(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// useIndex calls use with the index of a table.
func useIndex(path string, use func(index *fb.TableIndex)) (err error) {
	t, err := pack.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return pack.GuardFile(path, func() error {
		use(t.Index())
		return nil
	})
}
