package kv

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A catalogCopy is the header, and the catalogue as the last commit left it that changed it. It is kept in the file
// "catalog" beside Badger.
type catalogCopy struct {
	Header  header   `msgpack:"header"`
	Version uint64   `msgpack:"version"` // of the record of the catalogue
	Catalog *catalog `msgpack:"catalog"`
	Counts  counts   `msgpack:"counts"`
}

// parseCatalogCopy returns an empty copy for a nil text.
func (s *Store) parseCatalogCopy(text []byte) (c catalogCopy, err error) {
	if text == nil {
		return c, nil
	}
	if err := msgpack.Unmarshal(text, &c); err != nil {
		return c, record.CorruptFile(s.catalogPath(), "%v", err)
	}
	return c, nil
}

func (s *Store) catalogPath() string { return filepath.Join(s.dir, lsm.CatalogName) }

// catalogVersion is the version of the record of the catalogue.
func (tx *Tx) catalogVersion() (uint64, error) {
	return tx.txn.Version(record.PartKey(catalogKey(), 0))
}

// openPacks opens the packs of a store that was opened for writing, once it is what it was before a crash. It returns
// an ErrCorrupt if the copy of the catalogue is later than the catalogue: packs may be gone that this names.
func (s *Store) openPacks() error {
	copied, err := s.parseCatalogCopy(s.db.CatalogCopy())
	if err != nil {
		return err
	}
	tx := s.beginBare(false, nil)
	defer tx.end()
	cat, err := tx.uncountedCatalog() // the counts may be damaged
	if err != nil {
		return err
	}
	live := cat.live()
	version, err := tx.catalogVersion()
	if err != nil {
		return err
	}
	if s.copied = copied.Version; s.copied > version {
		return record.CorruptFile(s.catalogPath(),
			"it has the catalogue of commit %d, and the store has that of commit %d: a later catalogue is lost", s.copied, version)
	}
	return s.db.OpenPacks(func(g record.Generation) bool { return live[g] })
}

// sweep keeps a copy of the catalogue if that has changed, and then removes the packs of generations that it does not
// name: what a crash or an abort left of a bulk write, and what a commit replaced. Open snapshots go on reading them.
// Small records of such generations stay until the next fold. The caller holds the writer's lock.
func (s *Store) sweep() error {
	began, dropped := time.Now(), int64(0)
	err := s.lastView(func(tx *Tx) error {
		version, err := tx.catalogVersion()
		if err != nil {
			return err
		}
		live := tx.cat.live()
		isLive := func(g record.Generation) bool { return live[g] }
		dropped, err = s.db.KeepPacks(isLive, version != s.copied, func() ([]byte, error) {
			return msgpack.Marshal(catalogCopy{s.header, version, tx.cat, tx.cat.counts})
		})
		if err == nil {
			s.copied = version
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	if dropped > 0 || err != nil {
		s.observe(Event{Kind: EventSweep, Bytes: dropped, Err: err}, began)
	}
	return err
}
