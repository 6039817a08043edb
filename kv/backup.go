package kv

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/archive"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A BackupInfo says what is in a backup. Its fields are
//
//	Store    string // ID of the store
//	Format   int    // format version of the store
//	Snapshot uint64 // counts the commits of the store; a later one is greater
//	Next     uint32 // number of the first generation that is not in it
//	Full     bool   // it needs no other backup
//	After    uint64 // Snapshot of the backup that it goes on from, if it is not full
//	Records  int64  // of the snapshot
//	Bytes    int64  // of their keys and records
//	ID       string // its checksum: two backups with the same ID are the same bytes
//	Since    string // ID of the backup that it goes on from, if it is not full
//	Changed  int64  // records that are in this file; the others are kept from the backup before
//	Stored   int64  // bytes of the file
type BackupInfo = archive.Info

// BackupOptions tunes a backup. The zero value is ready to use.
type BackupOptions struct {
	// Since is the last backup of this store. If it is not nil, the new backup has only the changes after it. Since is
	// read to its end and checked.
	Since io.Reader

	// Begin, if not nil, is called before the first byte is written. most is about the largest possible size of the
	// backup. An error of Begin ends the backup.
	Begin func(most int64) error

	Progress Progress // counts bytes of records
}

// Backup writes a snapshot of the store to w: everything that a Tx can read, but not the files that jobs keep (see
// Work). Others may read and write meanwhile. It holds a few megabytes. Every record of the snapshot is compared with
// its checksum, also one that is left out because it has not changed. Only a reader, such as Restore, notices that a
// backup is incomplete.
//
// It returns ErrCorrupt for a damaged record, ErrBackup for an unreadable earlier backup, and ErrBackupOrder for an
// earlier backup of another store, or of a later moment than this snapshot.
func (s *Store) Backup(ctx context.Context, w io.Writer, opt BackupOptions) (info BackupInfo, err error) {
	began := time.Now()
	defer func() {
		s.observe(Event{Kind: EventBackup, Records: info.Changed, Bytes: info.Stored, Err: err}, began)
	}()
	tx := s.Begin()
	defer tx.Close()
	if err := tx.acquire(); err != nil {
		return info, err
	}
	defer tx.release()
	head, err := readHeader(tx.txn)
	if err != nil {
		return info, s.damaged(err)
	}
	out, err := archive.NewWriter(BackupInfo{
		Store: head.ID, Format: head.Version, Snapshot: tx.txn.ReadVersion(), Next: tx.cat.Next,
	}, opt.Since)
	if err != nil {
		return info, err
	}
	defer out.Close()
	records, size, most := int64(0), int64(0), int64(lsm.SpareRoom)
	err = tx.eachLive(ctx, func(it *lsm.Iterator) error {
		records++
		size += int64(len(it.Key())) + it.ValueSize()
		most += int64(len(it.Key())) + archive.EntryOverhead
		if out.Writes(it.Key(), it.Version()) {
			most += it.ValueSize()
		}
		return nil
	})
	if err == nil && opt.Begin != nil {
		err = opt.Begin(most)
	}
	if err != nil {
		return info, err
	}
	if err := out.Begin(w, records, size); err != nil {
		return info, storedir.WrapFull(err)
	}
	count, done := 0, int64(0)
	err = tx.eachLive(ctx, func(it *lsm.Iterator) error {
		value, err := it.Value()
		if err == nil {
			err = out.Add(ctx, it.Key(), value, it.Version())
		}
		done += int64(len(it.Key()) + len(value))
		if count++; count%contextEvery == 0 && opt.Progress != nil {
			opt.Progress("backup", done, size)
		}
		return s.damaged(err)
	})
	if err != nil {
		return info, err
	}
	info, err = out.End(ctx)
	return info, storedir.WrapFull(err)
}

// eachLive calls use with the records of the snapshot, ascending, without those of generations that its catalogue does
// not name: a Bulk that is open has written them, or a fold is to leave them out. Who closes the store waits for it.
func (tx *Tx) eachLive(ctx context.Context, use func(it *lsm.Iterator) error) error {
	live := tx.cat.live()
	it := tx.txn.Iterator(nil, false)
	defer it.Close()
	count := 0
	err := it.Seek(nil)
	for ; err == nil && it.Valid(); count++ {
		if count%contextEvery == 0 {
			if err := errors.Join(ctx.Err(), tx.Err()); err != nil {
				return err
			}
		}
		key := it.Key()
		if k := record.Kind(key[0]); k >= record.FirstGenerational && k < record.EndGenerational && len(key) >= 5 {
			if g := record.GenerationOf(key); !live[g] {
				err = it.Seek(record.Prefix(k, g+1))
				continue
			}
		}
		if err := use(it); err != nil {
			return err
		}
		err = it.Next()
	}
	return storedir.WrapFull(err)
}

// CheckRoom returns ErrNoSpace unless the file system of a directory has so many bytes free. A program calls it in
// BackupOptions.Begin if it writes the backup to a file.
func CheckRoom(dir string, bytes int64) error { return storedir.CheckRoom(dir, bytes) }
