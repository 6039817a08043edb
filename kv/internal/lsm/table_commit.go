package lsm

import (
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"
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
