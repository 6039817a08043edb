package lsm

import (
	"errors"
	"io/fs"
	"os"

	"github.com/dgraph-io/badger/v4"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger writes its logs and tables through mapped files, which have no blocks on disk before they are touched. If
// the disk is full, touching one kills the process. So whatever makes Badger write asks for room first, for all that
// can follow from it:
//
//   - the log of what is written, and the table that the log becomes;
//   - the same for what was written before and is no table yet;
//   - the tables that merging writes, before it deletes those it merged;
//   - decisions.log of the store, which may have all of it too.
const (
	// SpareRoom is for files and blocks begun, the manifest and rounding.
	SpareRoom = 1 << 20

	// closeRoom is the part of it that Close asks for.
	closeRoom = 64 << 10

	// EntryOverhead bounds what a log or table needs for an entry, beside key and value.
	EntryOverhead = 64

	// mergedAtOnce bounds how many tables one merge below the base level reads: one, and those of the next level that
	// overlap it.
	mergedAtOnce = 21
)

// entryRoom bounds the bytes an entry takes in a log, or in a table.
func entryRoom(key, value []byte) int64 { return int64(len(key) + len(value) + EntryOverhead) }

// makeRoom must be called before entries of n bytes, by entryRoom, are given to Badger. It returns ErrNoSpace if
// they, and what follows from them, might not fit on the disk.
func (d *DB) makeRoom(n int64) error {
	d.built.release()
	if err := d.awaitFlush(); err != nil {
		return err
	}
	logged := d.logs.bytes + d.output.Load() - d.logs.output
	// What was handed over lately may not be in the log: three transactions of a batch, each of 15% of a memtable.
	memTable := d.db.Opts().MemTableSize
	coming := n + min(d.output.Load(), memTable/2)
	levels := d.levels()
	merge := d.mergeRoom(levels, logged+coming, false)
	if merge > 0 {
		if err := d.verifyChangedTables(levels); err != nil {
			return err
		}
	}
	err := d.disk.CheckRoom(logged + 3*coming + SpareRoom + merge)
	if errors.Is(err, storedir.ErrNoSpace) { // logged may be more than there is
		if err := d.countLogs(); err != nil {
			return err
		}
		err = d.disk.CheckRoom(d.logs.bytes + 3*coming + SpareRoom + merge)
	}
	if err != nil {
		return err
	}
	d.output.Add(n)
	return nil
}

// Closable returns ErrNoSpace if what Badger writes as it closes, and spare bytes beside it, might not fit.
func (d *DB) Closable(spare int64) error {
	logged, err := loggedBytes(d.dir)
	if err != nil {
		return err
	}
	return storedir.CheckRoom(d.dir, logged+closeRoom+spare+d.mergeRoom(d.db.Levels(), logged, false))
}

// Mergeable returns ErrNoSpace if merging all levels might not fit, ErrCorrupt if a table is damaged, and the error of
// Failed.
func (d *DB) Mergeable() error {
	if err := d.failure.err(); err != nil {
		return err
	}
	logged, err := loggedBytes(d.dir)
	if err != nil {
		return err
	}
	if err := d.verifyTables(); err != nil {
		return err
	}
	return storedir.CheckRoom(d.dir, logged+SpareRoom+d.mergeRoom(d.db.Levels(), logged, true))
}

// mergeRoom bounds the bytes that merging tables of levels needs once unflushed bytes more are tables of level 0; none if
// no level is due, unless forced.
func (d *DB) mergeRoom(now []badger.LevelInfo, unflushed int64, forced bool) int64 {
	opt := d.db.Opts()
	var levels []levelSize
	due := forced
	for _, info := range now {
		level := levelSize{tables: info.NumTables, bytes: info.Size, largest: info.TargetFileSize}
		if info.Level == 0 {
			level.tables += 1 + int(unflushed/opt.MemTableSize)
			level.bytes += unflushed
			due = due || level.tables >= opt.NumLevelZeroTables
		}
		due = due || info.Score >= 1
		levels = append(levels, level)
	}
	if !due {
		return 0
	}
	return mergeRoom(levels)
}

// A levelSize is what a level of Badger's tree holds.
type levelSize struct {
	tables  int
	bytes   int64
	largest int64 // of its tables, in bytes
}

// mergeRoom bounds what Badger's two compactors write before they delete: one merges level 0 into the first level below
// that has tables, one some tables of two levels further down.
func mergeRoom(levels []levelSize) int64 {
	var room, deeper, largest int64
	base := 0
	for i, level := range levels {
		switch {
		case i == 0:
			room += level.bytes
		case base == 0 && level.tables > 0:
			base = i
			room += level.bytes
		}
		if i > 0 {
			deeper += level.bytes
			largest = max(largest, level.largest)
		}
	}
	if base == 0 || deeper == levels[base].bytes {
		return room
	}
	return room + min(deeper, mergedAtOnce*largest)
}

// roomToOpen returns ErrNoSpace if opening a store for writing, which makes new logs, turns logs that a crash left
// into tables, and may begin to merge, might not fit.
func roomToOpen(dir string, tables []tableFile, opt badger.Options) error {
	logged, err := loggedBytes(dir)
	if err != nil {
		return err
	}
	logs, err := memTableLogs(dir)
	if err != nil {
		return err
	}
	levels := make([]levelSize, opt.MaxLevels)
	levels[0] = levelSize{tables: len(logs), bytes: logged}
	below := map[int]bool{}
	for _, t := range tables {
		if t.level >= len(levels) {
			return record.CorruptFile(t.path, "its level is %d, want less than %d", t.level, len(levels))
		}
		level := &levels[t.level]
		level.tables++
		level.bytes += t.bytes
		level.largest = max(level.largest, t.bytes)
		if t.level > 0 {
			below[t.level] = true
		}
	}
	want := logged + SpareRoom
	if levels[0].tables >= opt.NumLevelZeroTables || len(below) > 1 {
		want += mergeRoom(levels)
	}
	return storedir.CheckRoom(dir, want)
}

// loggedBytes is what the logs of memtables take on the disk.
func loggedBytes(dir string) (int64, error) {
	_, bytes, err := logUse(dir)
	return bytes, err
}

// logUse is how many logs of memtables there are, and what they take on the disk.
func logUse(dir string) (count int, bytes int64, err error) {
	logs, err := memTableLogs(dir)
	for _, name := range logs {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just become a table
		}
		if err != nil {
			return 0, 0, err
		}
		count++
		bytes += storedir.AllocatedBytes(info)
	}
	return count, bytes, err
}
