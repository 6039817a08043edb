package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A BackupInfo says what is in a backup.
type BackupInfo struct {
	ID       string // its checksum: two backups with the same ID are the same bytes
	Store    string // ID of the store
	Snapshot uint64 // counts the commits of the store; a later one is greater
	Full     bool   // it needs no other backup
	Since    string // ID of the backup that it goes on from, where it is not full

	Records int64 // of the snapshot
	Bytes   int64 // of their keys and records
	Changed int64 // records that are in this file; the others are kept from the backup before
	Stored  int64 // bytes of the file
}

// BackupOptions tunes a backup. The zero value is ready to use.
type BackupOptions struct {
	// Since, where not nil, is the last backup of this store: what has not changed since it is left out. It is read, and
	// verified, to its end.
	Since io.Reader

	// Begin, where not nil, is asked before the first byte is written, with how many bytes the backup takes at most, or
	// little more. Its error ends the backup.
	Begin func(most int64) error

	Progress Progress // counts bytes of records
}

// Backup writes a snapshot of the store to w: everything that a Tx can read, but not the files that jobs keep (see
// Work). Others may read and write meanwhile. It holds a few megabytes. Every record of the
// snapshot is compared with its checksum, also one that is left out because it has not changed. A backup that is not
// complete says so when it is read; nothing else marks it as one.
//
// A damaged record is an ErrCorrupt, an earlier backup that cannot be read an ErrBackup, and one of another store, or
// of a snapshot that this store has not come to, an ErrBackupOrder.
func (s *Store) Backup(ctx context.Context, w io.Writer, opt BackupOptions) (info BackupInfo, err error) {
	began := time.Now()
	defer func() {
		s.observe(Event{Kind: EventBackup, Records: info.Changed, Bytes: info.Stored, Err: err}, began)
	}()
	if opt.Progress == nil {
		opt.Progress = func(string, int64, int64) {}
	}
	tx := s.Begin()
	defer tx.Close()
	if err := tx.acquire(); err != nil {
		return info, err
	}
	defer tx.release()
	b := backup{tx: tx, opt: opt}
	b.head = backupHead{
		Version: backupVersion, Format: s.header.Version, Store: s.header.ID, Snapshot: tx.txn.ReadVersion(), Full: opt.Since == nil,
	}
	if opt.Since != nil {
		if b.base, err = newBackupReader(opt.Since, 0); err != nil {
			return info, err
		}
		defer b.base.close()
		if err := b.follows(); err != nil {
			return info, err
		}
	}
	if err := b.measure(ctx); err != nil {
		return info, err
	}
	out, err := newBackupWriter(w, b.head)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, out.zstd.Close()) }()
	if err := b.write(ctx, out); err != nil {
		return info, err
	}
	info = b.head.info(out.end)
	info.Stored = out.bytes
	return info, nil
}

func (h backupHead) info(end backupEnd) BackupInfo {
	return BackupInfo{
		ID: fmt.Sprintf("%x", end.Digest), Store: h.Store, Snapshot: h.Snapshot, Full: h.Full, Since: fmt.Sprintf("%x", end.Base),
		Records: h.Records, Bytes: h.Bytes, Changed: end.Changed,
	}
}

// A backup is one run of Backup.
type backup struct {
	tx   *Tx
	opt  BackupOptions
	head backupHead
	base *backupReader // the backup before, nil of a full one
	more bool          // base.entry is one
	live map[record.Generation]bool
}

// follows checks that the store has come out of what the backup before is of.
func (b *backup) follows() error {
	base := b.base.head
	switch {
	case base.Store != b.head.Store:
		return outOfOrder(0, "it is of the store %s, and this one is %s", base.Store, b.head.Store)
	case base.Format != b.head.Format:
		return outOfOrder(0, "it is of format version %d, and the store has %d: make a full one", base.Format, b.head.Format)
	case base.Snapshot > b.head.Snapshot:
		return outOfOrder(0, "it is of commit %d, and the store has come to %d", base.Snapshot, b.head.Snapshot)
	}
	b.head.Since = base.Snapshot
	return nil
}

func outOfOrder(file int, format string, args ...any) error {
	return &BackupError{File: file, Offset: -1, Msg: fmt.Sprintf(format, args...), Err: ErrBackupOrder}
}

// entryBytes bounds what an entry takes beside its key and record.
const entryBytes = 24

// measure counts the records, without reading them, and asks for the room that they take.
func (b *backup) measure(ctx context.Context) error {
	changed := int64(0)
	err := b.records(ctx, func(it *lsm.Iterator) error {
		size := int64(len(it.Key())) + it.ValueSize()
		b.head.Records++
		b.head.Bytes += size
		if b.base == nil || it.Version() > b.base.head.Snapshot {
			changed += size
		}
		return nil
	})
	if err != nil || b.opt.Begin == nil {
		return err
	}
	return b.opt.Begin(changed + entryBytes*b.head.Records + lsm.SpareRoom)
}

// write writes every record, or that it is kept.
func (b *backup) write(ctx context.Context, out *backupWriter) (err error) {
	if b.base != nil {
		if b.more, err = b.base.next(); err != nil {
			return err
		}
	}
	done := int64(0)
	err = b.records(ctx, func(it *lsm.Iterator) error {
		done += int64(len(it.Key())) + it.ValueSize()
		if err := b.add(it, out); err != nil {
			return err
		}
		if out.end.Records%contextEvery == 0 {
			b.opt.Progress("backup", done, b.head.Bytes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if b.base == nil {
		return out.close(nil)
	}
	if err := b.base.drain(); err != nil {
		return err
	}
	return out.close(b.base.end.Digest)
}

func (b *backup) add(it *lsm.Iterator, out *backupWriter) error {
	e := backupEntry{key: it.Key(), version: it.Version()}
	value, err := it.Value()
	if err == nil {
		_, err = record.Decode(e.key, value)
	}
	if err != nil {
		return b.tx.s.damaged(err)
	}
	e.sum = recordSum(value)
	kept, err := b.isKept(e.key, e.version, e.sum)
	if err != nil {
		return err
	}
	if !kept {
		e.record = value
	}
	return out.add(e)
}

// isKept reports whether a record is that of the backup before. That its commit is the same would do, but for a store
// that was copied and went on twice: then the checksum tells.
func (b *backup) isKept(key []byte, version uint64, sum uint32) (kept bool, err error) {
	for b.more {
		switch e := b.base.entry; bytes.Compare(e.key, key) {
		case 0:
			return e.version == version && e.sum == sum, nil
		case 1:
			return false, nil
		}
		if b.more, err = b.base.next(); err != nil {
			return false, err
		}
	}
	return false, nil
}

// records calls use with the records of the snapshot, ascending, without those of generations that its catalogue does
// not name: a Bulk that is open has written them, or they are still to be swept.
func (b *backup) records(ctx context.Context, use func(it *lsm.Iterator) error) error {
	if b.live == nil {
		b.live = b.tx.cat.live()
	}
	it := b.tx.txn.Iterator(nil, false)
	defer it.Close()
	count := 0
	err := it.Seek(nil)
	for ; err == nil && it.Valid(); count++ {
		if count%contextEvery == 0 {
			// Who closes the store waits for this.
			if err := errors.Join(ctx.Err(), b.tx.Err()); err != nil {
				return err
			}
		}
		key := it.Key()
		if k := record.Kind(key[0]); k >= record.FirstGenerational && k < record.EndGenerational && len(key) >= 5 {
			if g := record.GenerationOf(key); !b.live[g] {
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
