package lsm

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/pack"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A record that is damaged is found when it is read, since its checksum is over its key and its body. But it may be the
// version or the mark beside them that is damaged, or the key, so that the record is not found at all. Only the checksum of
// the block that it lies in tells.

// FindDamage compares the checksums of all blocks of all tables. Each that does not match is passed to report, as an
// ErrCorrupt, with the name of its file. look is called before each table, and its error ends the search.
func (d *DB) FindDamage(
	ctx context.Context, look func(done, total int) error, report func(file string, damage error),
) error {
	var paths []string
	if d.tables != nil {
		for _, id := range d.tables.ids {
			paths = append(paths, table.NewFilename(id, d.dir))
		}
	} else {
		held := d.packs.acquire(func() {})
		defer d.packs.release(held) //nolint:errcheck // the next open removes what stays behind
		for _, h := range held.packs {
			paths = append(paths, h.id.openPath(d.dir))
		}
	}
	own, damaged, err := d.mapOwn()
	defer func() {
		for _, t := range own {
			t.Close() //nolint:errcheck // it was only read
		}
	}()
	if err != nil {
		return err
	}
	for _, damage := range damaged {
		report(filepath.Base(damage.path), damage.err)
	}
	for i, t := range own {
		err := look(i, len(own)+len(paths))
		if err == nil {
			err = findDamage(ctx, t, reportAll(report, t.Path))
		}
		if err != nil {
			return err
		}
	}
	for i, path := range paths {
		err := look(len(own)+i, len(own)+len(paths))
		if err == nil {
			err = findDamageIn(ctx, path, reportAll(report, path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func reportAll(report func(file string, damage error), path string) func(damage error) bool {
	return func(damage error) bool {
		report(filepath.Base(path), damage)
		return true
	}
}

// A damagedTable cannot even be mapped.
type damagedTable struct {
	path string
	err  error
}

// mapOwn maps Badger's own tables while no fold removes them; none of a database that is read without Badger.
func (d *DB) mapOwn() (own []*pack.Reader, damaged []damagedTable, err error) {
	if d.tables != nil {
		return nil, nil, nil
	}
	d.opening.RLock()
	defer d.opening.RUnlock()
	manifest, _, err := readManifest(d.dir) //nolint:errcheck // a table that is being entered is none yet
	if err != nil {
		return nil, nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(manifest.Tables)) {
		path := table.NewFilename(id, d.dir)
		t, err := pack.Open(path)
		switch {
		case err == nil:
			own = append(own, t)
		case errors.Is(err, record.ErrCorrupt):
			damaged = append(damaged, damagedTable{path, err})
		default:
			return own, damaged, err
		}
	}
	return own, damaged, nil
}

// verifyTable returns the first damage to a table as an ErrCorrupt.
func verifyTable(path string) error {
	var damage error
	err := findDamageIn(context.Background(), path, func(first error) bool {
		damage = first
		return false
	})
	return errors.Join(damage, err)
}

// findDamageIn is findDamage of a file.
func findDamageIn(ctx context.Context, path string, report func(damage error) bool) (err error) {
	t, err := pack.Open(path)
	if errors.Is(err, record.ErrCorrupt) {
		report(err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	return findDamage(ctx, t, report)
}

// findDamage compares the checksums of a table's blocks. Each that does not match is passed to report, as an ErrCorrupt,
// which says whether to go on.
func findDamage(ctx context.Context, t *pack.Reader, report func(damage error) bool) error {
	for i := range t.Blocks() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		damage := t.Verify(i)
		if damage != nil && !errors.Is(damage, record.ErrCorrupt) {
			return damage
		}
		if damage != nil && !report(damage) {
			return nil
		}
	}
	return nil
}
