package lsm

import (
	"errors"
	"io/fs"
	"os"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// Badger writes its logs and tables through mapped files, which have no blocks on disk before they are touched. If
// the disk is full, touching one kills the process. So whatever makes Badger write asks for room first, for all that
// can follow from it:
//
//   - the log of what is written, and the table that the log becomes;
//   - the same for what was written before and is no table yet;
//   - decisions.log of the store, which may have all of it too.
const (
	// SpareRoom is for files and blocks begun, the manifest and rounding.
	SpareRoom = 1 << 20

	// closeRoom is the part of it that Close asks for.
	closeRoom = 64 << 10

	// EntryOverhead bounds what a log or table needs for an entry, beside key and value.
	EntryOverhead = 64
)

// entryRoom bounds the bytes an entry takes in a log, or in a table.
func entryRoom(key, value []byte) int64 { return int64(len(key) + len(value) + EntryOverhead) }

// makeRoom must be called before entries of n bytes, by entryRoom, are given to Badger. It returns ErrNoSpace if
// they, and what follows from them, might not fit on the disk.
func (d *DB) makeRoom(n int64) error {
	if err := d.awaitFlush(); err != nil {
		return err
	}
	written := d.output.Load()
	err := storedir.CheckRoom(d.dir, written+3*n+SpareRoom)
	if errors.Is(err, storedir.ErrNoSpace) { // the most of it may be in tables
		err = roomToFlush(d.dir, 3*n+SpareRoom)
	}
	if err != nil {
		return err
	}
	d.output.Add(n)
	return nil
}

// Closable returns ErrNoSpace if what Badger writes as it closes, and spare bytes beside it, might not fit.
func (d *DB) Closable(spare int64) error { return roomToFlush(d.dir, closeRoom+spare) }

// roomToFlush returns ErrNoSpace if the tables that Badger makes of the logs in a directory, and spare bytes beside
// them, might not fit.
func roomToFlush(dir string, spare int64) error {
	logs, err := memTableLogs(dir)
	if err != nil {
		return err
	}
	for _, name := range logs {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just become a table
		}
		if err != nil {
			return err
		}
		spare += storedir.AllocatedBytes(info)
	}
	return storedir.CheckRoom(dir, spare)
}
