package kv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// migrations bring a store to the next format version, the first from 1 to 2. Each reads what it changes by the form it
// then had, and ends with a commit of the transaction, which holds the header already: it happens as a whole or not at
// all, and one that was killed is run again.
var migrations = []func(tx *Tx) error{
	splitCatalog,
	func(tx *Tx) error { return tx.commit() }, // which the journal, and a number, are for
}

// Migrate brings the store in a directory to the format version that this package writes, one version after the other, and
// returns the versions it had and has. Nobody may have the store open. Each step is one transaction. If Migrate is
// interrupted, the store is whole and has the version of the last complete step. Run Migrate again. For a store of a newer
// format it returns a *VersionError; a store of this format is left as it is.
func Migrate(ctx context.Context, dir string, opt Options) (from, to int, err error) {
	if opt.ReadOnly {
		return 0, 0, fmt.Errorf("%s: %w: a migration writes", dir, ErrReadOnly)
	}
	began := time.Now()
	s, err := openDirectory(dir, opt)
	if err != nil {
		return 0, 0, err
	}
	s.observe(Event{Kind: EventOpen}, began)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.readHeader(); err != nil {
		return 0, 0, err
	}
	from = s.header.Version
	if err := s.migrateAll(ctx); err != nil {
		return from, s.header.Version, err
	}
	return from, s.header.Version, s.start()
}

// migrateAll takes the steps there are to take.
func (s *Store) migrateAll(ctx context.Context) error {
	for s.header.Version < formatVersion {
		if s.journal == nil {
			if err := s.createJournal(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.migrate(); err != nil {
			return fmt.Errorf("%s: from format version %d to %d: %w", s.name, s.header.Version, s.header.Version+1, err)
		}
	}
	return nil
}

// migrate takes one step.
func (s *Store) migrate() error {
	next := s.header
	next.Version++
	body, err := msgpack.Marshal(next)
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	tx := s.beginBare(true, nil)
	defer tx.end()
	if tx.err != nil {
		return tx.err
	}
	if err := tx.put(headerKey(), body); err != nil {
		return err
	}
	if err := migrations[s.header.Version-1](tx); err != nil {
		return err
	}
	s.header = next
	return nil
}

// splitCatalog makes format version 2: the counts, which were entries of the catalogue, become a record.
func splitCatalog(tx *Tx) error {
	err := snapshot.Chain(tx.records(), catalogKey(), func(body []byte) error {
		c, err := decodeCatalog(body)
		if err != nil {
			return err
		}
		tx.cat, err = c.withCounts(body)
		return err
	})
	if err != nil {
		return err
	}
	tx.changed = true
	return tx.commit()
}
