package kv

import (
	"fmt"
	"path/filepath"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// A catalogCopy is the catalogue as a commit left it that changed the packs there are. It is kept in a file beside Badger.
type catalogCopy struct {
	Commit  uint64   `msgpack:"commit"`
	Catalog *catalog `msgpack:"catalog"`
	Counts  counts   `msgpack:"counts"`
}

// openPacks opens the packs of a store that was opened for writing, once it is what it was before a crash.
func (s *Store) openPacks() error {
	if s.opt.ReadOnly {
		return nil
	}
	if err := s.checkCatalogCopy(); err != nil {
		return err
	}
	tx := s.beginBare(false, nil)
	defer tx.end()
	var live map[record.Generation]bool
	err := snapshot.Chain(tx.records(), catalogKey(), func(body []byte) error { // the counts may be damaged
		c, err := decodeCatalog(body)
		if err == nil {
			live = c.live()
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.db.OpenPacks(func(g record.Generation) bool { return live[g] })
}

// checkCatalogCopy returns an ErrCorrupt if the copy of the catalogue is of a commit that the store has not come to: packs may be gone that
// its catalogue names.
func (s *Store) checkCatalogCopy() error {
	body := s.db.CatalogCopy()
	if body == nil {
		return nil
	}
	path := filepath.Join(s.dir, "catalog")
	var c catalogCopy
	if err := msgpack.Unmarshal(body, &c); err != nil {
		return record.CorruptFile(path, "%v", err)
	}
	if c.Commit > s.commits {
		return record.CorruptFile(path, "it is of commit %d, and the store has come to %d: %s missing", c.Commit, s.commits,
			commits(s.commits+1, c.Commit))
	}
	return nil
}

// keepPacks removes the packs that the catalogue does not name, and returns how many bytes these have. The caller holds the writer's lock.
func (s *Store) keepPacks() (dropped int64, err error) {
	var cat *catalog
	if err := s.lastView(func(tx *Tx) error {
		cat = tx.cat
		return nil
	}); err != nil {
		return 0, err
	}
	live := cat.live()
	dropped, err = s.db.KeepPacks(func(g record.Generation) bool { return live[g] }, func() ([]byte, error) {
		return msgpack.Marshal(catalogCopy{s.commits, cat, cat.counts})
	})
	if err != nil {
		return dropped, fmt.Errorf("%s: %w", s.name, err)
	}
	return dropped, nil
}
