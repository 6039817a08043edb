package lsm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	badgeroptions "github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// tables repairs the tables, and then the manifest. If only tables that the manifest does not name hold some records,
// the manifest is what is lost: it is cut short or an old one. Then it is rebuilt for all tables.
func (r *fileRepair) tables(ctx context.Context) (err error) {
	crashed, err := LeftByCrash(r.dir)
	if err != nil && !errors.Is(err, record.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sets, cut, damage, err := r.readChanges()
	if err != nil {
		return err
	}
	levels := r.levelsOf(sets)
	maps.DeleteFunc(levels, func(id uint64, _ uint8) bool { return isPack(id) }) // of a manifest that is to be rebuilt
	c := &census{}
	defer func() { err = errors.Join(err, c.close()) }()
	gone, ofUnnamed, err := r.openTables(ctx, c, levels)
	if err != nil {
		return err
	}
	var strays, only []*censusTable
	for _, t := range c.tables {
		if !t.named {
			strays = append(strays, t)
		}
	}
	if len(strays) > 0 {
		logged, err := readLogs(r.dir)
		if err != nil {
			return err
		}
		if err := c.countOnly(ctx, logged); err != nil {
			return err
		}
	}
	for _, t := range strays {
		if t.only > 0 {
			only = append(only, t)
		}
	}
	if cut && crashed && len(only)+len(gone) == 0 {
		damage = nil // what the crash cut off is about tables that Badger does without
	}
	if damage != nil || len(only) > 0 {
		for _, m := range ofUnnamed {
			if err := r.tell(m); err != nil {
				return err
			}
		}
	}
	if len(only) > 0 {
		return r.rebuild(ctx, c, only, gone, damage)
	}
	for _, t := range strays {
		if err := os.Remove(t.reader.Path); err != nil { // as Badger would
			return err
		}
	}
	if err := r.loseTables(gone); err != nil {
		return err
	}
	present := map[uint64]uint8{}
	for _, t := range c.tables {
		if t.named {
			present[t.id] = levels[t.id]
		}
	}
	if damage == nil && len(present) == len(levels) {
		return nil
	}
	if err := r.writeLevels(present); err != nil || damage == nil {
		return err
	}
	return r.done(badger.ManifestFilename, damage.Error(), "rebuilt for %d tables", len(present))
}

// openTables repairs every table and opens what is left of it. It returns the numbers of those that are named and missing,
// and what was done to those that are not named: if the manifest is right they count for nothing.
func (r *fileRepair) openTables(ctx context.Context, c *census, levels map[uint64]uint8) (gone []uint64, ofUnnamed []Correction, err error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { r.delayed = nil }()
	there := map[uint64]bool{}
	for i, entry := range entries {
		id, ok := table.ParseFileID(entry.Name())
		if !ok {
			continue
		}
		there[id] = true
		r.progress("tables", int64(i), int64(len(entries)))
		path := filepath.Join(r.dir, entry.Name())
		_, named := levels[id]
		if r.delayed = nil; !named {
			r.delayed = &ofUnnamed
		}
		usable, whole, err := r.repairTable(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		if !usable {
			continue
		}
		t, err := openCensusTable(path, id)
		if err != nil {
			return nil, nil, err
		}
		t.named, t.whole = named, whole
		c.tables = append(c.tables, t)
	}
	for _, id := range slices.Sorted(maps.Keys(levels)) {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	return gone, ofUnnamed, nil
}

func (r *fileRepair) loseTables(gone []uint64) error {
	for _, id := range gone {
		if err := r.lose(Loss{Kind: "table of records", Count: 1}, table.IDToFilename(id), "it is missing", "lost"); err != nil {
			return err
		}
	}
	return nil
}

// rebuild makes the manifest again for all tables. Those that overlap are merged into tables of the last level, so that of
// each key only the last record is left.
func (r *fileRepair) rebuild(ctx context.Context, c *census, only []*censusTable, gone []uint64, damage error) error {
	newest := slices.MaxFunc(only, func(a, b *censusTable) int { return cmp.Compare(a.id, b.id) }).id
	losses := slices.DeleteFunc(slices.Clone(gone), func(id uint64) bool { return id < newest }) // not merged into that one
	if err := r.loseTables(losses); err != nil {
		return err
	}
	next := uint64(1)
	for _, t := range c.tables {
		next = max(next, t.id+1)
		t.named = false
	}
	for _, id := range gone {
		next = max(next, id+1)
	}
	last := uint8(r.opt.MaxLevels - 1)
	levels := map[uint64]uint8{}
	for _, tables := range overlapping(c.tables) {
		if len(tables) == 1 {
			levels[tables[0].id] = last
			continue
		}
		ids, err := r.mergeTables(ctx, &census{tables: tables}, next)
		if err != nil {
			return err
		}
		for _, id := range ids {
			levels[id] = last
			next = id + 1
		}
	}
	if damage == nil {
		damage = fmt.Errorf("it is older than the tables: %d that it names are not there, and %d that it does not name hold records that no other has",
			len(gone), len(only))
	}
	if err := r.writeLevels(levels); err != nil {
		return err
	}
	return r.done(badger.ManifestFilename, damage.Error(), "rebuilt for %d tables", len(levels))
}

// overlapping are the tables in groups: each overlaps another of its group, and none of another group.
func overlapping(tables []*censusTable) (groups [][]*censusTable) {
	tables = slices.SortedFunc(slices.Values(tables), func(a, b *censusTable) int { return bytes.Compare(a.span.first, b.span.first) })
	var end []byte
	for _, t := range tables {
		if len(groups) == 0 || bytes.Compare(t.span.first, end) > 0 {
			groups, end = append(groups, nil), nil
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], t)
		if bytes.Compare(t.span.last, end) > 0 {
			end = t.span.last
		}
	}
	return groups
}

// mergeTables writes tables with the last record of each key, which may be a deletion, from a number on, in the place of
// those that it reads.
func (r *fileRepair) mergeTables(ctx context.Context, c *census, next uint64) (ids []uint64, err error) {
	room := int64(SpareRoom)
	for _, t := range c.tables {
		room += int64(len(t.reader.Data))
	}
	if err := storedir.CheckRoom(r.dir, room); err != nil {
		return nil, err
	}
	if err := c.trace(ctx); err != nil {
		return nil, err
	}
	var b *table.Builder
	write := func() error {
		if b == nil {
			return nil
		}
		defer b.Close()
		text := b.Finish()
		b = nil
		ids = append(ids, next)
		next++
		return storedir.ReplaceFile(table.NewFilename(ids[len(ids)-1], r.dir), text)
	}
	err = c.each(ctx, func(key []byte, copies []heldRecord) error {
		if c.dropped(key, copies) {
			return nil
		}
		if b != nil && b.ReachedCapacity() {
			if err := write(); err != nil {
				return err
			}
		}
		if b == nil {
			b = table.NewTableBuilder(r.tableOptions(uint64(r.opt.BaseTableSize)))
		}
		b.Add(copies[0].entry.Key, copies[0].entry.Value, 0)
		return nil
	})
	if err := errors.Join(err, write()); err != nil {
		return nil, err
	}
	for _, t := range c.tables {
		if err := os.Remove(t.reader.Path); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// tableOptions are those of a table of about so many bytes.
func (r *fileRepair) tableOptions(size uint64) table.Options {
	return table.Options{
		TableSize: size, BlockSize: r.opt.BlockSize, BloomFalsePositive: r.opt.BloomFalsePositive,
		Compression: badgeroptions.None, ChkMode: badgeroptions.NoVerification,
	}
}

// readChanges reads the changes of the manifest, as far as it can be read. damage says what is wrong with it, cut that it is
// no more than that its last change is cut off.
func (r *fileRepair) readChanges() (sets []*pb.ManifestChangeSet, cut bool, damage, err error) {
	path := filepath.Join(r.dir, badger.ManifestFilename)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, record.CorruptFile(path, "it is missing"), nil
	}
	if err != nil {
		return nil, false, nil, err
	}
	_, tail, damage := readManifest(r.dir)
	switch {
	case damage != nil && !errors.Is(damage, record.ErrCorrupt):
		return nil, false, nil, damage
	case damage == nil:
		damage, cut = tail, tail != nil
	}
	if len(text) < len(manifestMagic) {
		return nil, cut, damage, nil
	}
	sets, _ = changesIn(text[len(manifestMagic):]) //nolint:errcheck // damage says it
	return sets, cut, damage, nil
}

// levelsOf are the levels of the tables that a manifest of these changes names.
func (r *fileRepair) levelsOf(sets []*pb.ManifestChangeSet) map[uint64]uint8 {
	levels := map[uint64]uint8{}
	for _, set := range sets {
		for _, change := range set.Changes {
			switch change.Op {
			case pb.ManifestChange_CREATE:
				levels[change.Id] = uint8(min(change.Level, uint32(r.opt.MaxLevels-1)))
			case pb.ManifestChange_DELETE:
				delete(levels, change.Id)
			}
		}
	}
	return levels
}

// writeLevels makes the manifest again, for tables with their levels.
func (r *fileRepair) writeLevels(levels map[uint64]uint8) error {
	manifest := badger.Manifest{Tables: map[uint64]badger.TableManifest{}}
	for id, level := range levels {
		manifest.Tables[id] = badger.TableManifest{Level: level}
	}
	return writeTables(r.dir, manifest, nil)
}
