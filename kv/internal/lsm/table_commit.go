package lsm

import (
	"errors"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
)

// LastCommit is the last commit that the tables hold which the manifest names; zero if there is none. The version of what a commit
// writes is its number.
func LastCommit(dir string) (last uint64, err error) {
	err = guardFaults(func() error {
		last, err = lastInTables(dir)
		return err
	})
	return last, err
}

func lastInTables(dir string) (last uint64, err error) {
	manifest, _, err := readManifest(dir) //nolint:errcheck // where it is cut off is for others
	if err != nil {
		return last, err
	}
	for id := range manifest.Tables {
		if isPack(id) {
			continue
		}
		err := useIndex(table.NewFilename(id, dir), func(index *fb.TableIndex) { last = max(last, index.MaxVersion()) })
		if err != nil {
			return 0, err
		}
	}
	return last, nil
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
