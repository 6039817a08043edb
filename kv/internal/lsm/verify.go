package lsm

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A record that is damaged is found when it is read, since its checksum is over its key and its body. But it may be
// the version or the mark beside them that is damaged, or the key, so that the record is not found at all. Only the
// checksum of the block that it lies in tells.

// FindDamage compares the checksums of all blocks of all tables. Each that does not match is passed to report, as an
// ErrCorrupt, with the name of its file. look is called before each table, and its error ends the search. The caller
// has a snapshot, so that no fold removes a table.
func (d *DB) FindDamage(
	ctx context.Context, look func(done, total int) error, report func(file string, damage error),
) error {
	var paths []string
	held := d.packs.acquire()
	defer d.packs.release(held) //nolint:errcheck // the next open removes what stays behind
	for _, h := range held.tables {
		paths = append(paths, h.path)
	}
	if d.db != nil {
		m, err := readManifest(d.dir) // a table that is being entered is none yet
		if err != nil {
			return err
		}
		for _, id := range m.own() {
			paths = append(paths, table.NewFilename(id, d.dir))
		}
	}
	for i, path := range paths {
		err := look(i, len(paths))
		if err == nil {
			err = findDamage(ctx, path, func(damage error) { report(filepath.Base(path), damage) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findDamage is FindDamage of a file.
func findDamage(ctx context.Context, path string, report func(damage error)) (err error) {
	t, err := pack.Open(path)
	if errors.Is(err, record.ErrCorrupt) {
		report(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	for i := range t.Blocks() {
		if i%record.ContextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch damage := t.Verify(i); {
		case errors.Is(damage, record.ErrCorrupt):
			report(damage)
		case damage != nil:
			return damage
		}
	}
	return nil
}
