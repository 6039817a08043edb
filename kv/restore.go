package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// RestoreOptions tunes a restore. The zero value is ready to use.
type RestoreOptions struct {
	// MemoryBudget bounds the bytes of the store that is made, which needs little. Zero means DefaultMemoryBudget.
	MemoryBudget int64

	Progress Progress // counts bytes of records
}

// restoreMark ends the name of the directory beside the target in which a store is restored.
const restoreMark = ".restoring"

// Restore makes a store in dir of a full backup and those that follow it, in order. dir must not be there, or be empty
// (ErrExists). The store is made beside it and renamed into place when it is complete and durable: after an error, or
// when the process is killed, nothing is at dir, and what is beside it is removed by the next Restore; one at a time,
// others are a *LockedError. A Restore that is killed behind its last step has made the store: the same Restore then returns
// what it would have, and clears up. The store has the ID, the records and the commits that the one which was backed up had; one
// of an older format is migrated. It returns what the last backup says of itself.
//
// A file that is damaged or cut short is an ErrBackup, one that does not follow the one before an ErrBackupOrder, one of a
// newer format a *VersionError, and a disk without room an ErrNoSpace. All files are read at once, in step.
func Restore(ctx context.Context, dir string, files []io.Reader, opt RestoreOptions) (info BackupInfo, err error) {
	chain, err := newBackupChain(files)
	if err != nil {
		return info, err
	}
	defer chain.close()
	if got := chain.head().Format; got > formatVersion {
		return info, &VersionError{Dir: fmt.Sprintf("the store of backup %d", len(files)), Got: got, Want: formatVersion}
	}
	d, err := newDirectoryBeside(dir, restoreMark, nil)
	if errors.Is(err, ErrExists) {
		placed, taking := takePlacement(dir, restoreMark)
		if head := chain.head(); placed != nil && placed.Store == head.Store && placed.Backup.Snapshot == head.Snapshot {
			return placed.Backup, taking
		}
		if placed != nil {
			err = fmt.Errorf("%w: it was complete when its restore was killed", err)
		}
		err = errors.Join(err, taking)
	}
	if err != nil {
		return info, err
	}
	defer func() {
		if err == nil {
			d.leaveBehind()
			return
		}
		err = errors.Join(err, d.remove())
	}()
	head := chain.head()
	// What is in the tables beside keys and records.
	if err := storedir.CheckRoom(d.path, head.Bytes+lsm.EntryOverhead*head.Records+lsm.SpareRoom); err != nil {
		return info, err
	}
	if err := os.Mkdir(d.store(), storedir.Mode); err != nil {
		return info, err
	}
	unlock, err := storedir.Lock(d.store(), false)
	if err != nil {
		return info, err
	}
	s, err := openBadger(d.store(), Options{MemoryBudget: opt.MemoryBudget}, false, unlock, nil)
	if err != nil {
		return info, err
	}
	if info, err = s.restore(ctx, chain, opt.Progress); err != nil {
		return info, errors.Join(err, s.abandon())
	}
	if err := s.Close(); err != nil {
		return info, errors.Join(err, s.abandon())
	}
	return info, d.place(Placement{Store: info.Store, Backup: info})
}

// restore fills a store that is empty, and makes sure that it can be opened.
func (s *Store) restore(ctx context.Context, chain *backupChain, progress Progress) (info BackupInfo, err error) {
	tables := s.db.NewTables()
	defer func() { err = errors.Join(err, tables.Cancel()) }()
	// So the commits of the store count on from the snapshot.
	tables.Newest = chain.head().Snapshot
	info, err = chain.read(ctx, progress, func(e backupEntry) error {
		return tables.AddInOrder(e.key, e.record, e.version)
	})
	if err != nil {
		return info, err
	}
	if err := tables.Flush(); err != nil {
		return info, err
	}
	if err := s.attach(tables); err != nil {
		return info, err
	}
	if err := s.readHeader(); err != nil {
		return info, err
	}
	if s.commits, err = s.storedCommit(); err != nil {
		return info, err
	}
	if head := chain.head(); s.header.ID != head.Store || s.header.Version != head.Format {
		return info, chain.last().fail(-1, "it is of the store %s in format version %d, and its records of %s in %d",
			head.Store, head.Format, s.header.ID, s.header.Version)
	}
	for s.header.Version < formatVersion {
		if err := s.migrate(); err != nil {
			return info, err
		}
	}
	return info, s.keepDecisionsTwice()
}

// VerifyBackup reads a full backup and those that follow it as Restore does, and makes no store.
func VerifyBackup(ctx context.Context, files []io.Reader, progress Progress) (BackupInfo, error) {
	chain, err := newBackupChain(files)
	if err != nil {
		return BackupInfo{}, err
	}
	defer chain.close()
	return chain.read(ctx, progress, func(backupEntry) error { return nil })
}

// A backupChain is a full backup with those that follow it.
type backupChain struct {
	readers []*backupReader
	more    []bool // of each reader that its entry is one
}

// newBackupChain reads what the files begin with.
func newBackupChain(files []io.Reader) (_ *backupChain, err error) {
	c := &backupChain{more: make([]bool, len(files))}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrBackupOrder)
	}
	for i, file := range files {
		r, err := newBackupReader(file, i)
		if err != nil {
			return nil, err
		}
		c.readers = append(c.readers, r)
		if i == 0 {
			if !r.head.Full {
				return nil, outOfOrder(i, "it goes on from another, and is the first")
			}
			continue
		}
		before := c.readers[i-1].head
		switch {
		case r.head.Full:
			return nil, outOfOrder(i, "it is a full backup: want it first, or alone")
		case r.head.Store != before.Store:
			return nil, outOfOrder(i, "it is of the store %s, and the one before of %s", r.head.Store, before.Store)
		case r.head.Format != before.Format || r.head.Since != before.Snapshot:
			return nil, outOfOrder(i, "it was made since commit %d, and the one before is of commit %d",
				r.head.Since, before.Snapshot)
		}
	}
	return c, nil
}

func (c *backupChain) close() {
	for _, r := range c.readers {
		r.close()
	}
}

func (c *backupChain) last() *backupReader { return c.readers[len(c.readers)-1] }

func (c *backupChain) head() backupHead { return c.last().head }

// read calls use with every record that the last backup has, ascending, whole and borrowed; then it makes sure that all
// files are whole and follow one another.
func (c *backupChain) read(ctx context.Context, progress Progress, use func(backupEntry) error) (BackupInfo, error) {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	last, head, done := len(c.readers)-1, c.head(), int64(0)
	for count := 0; ; count++ {
		if count%contextEvery == 0 {
			if err := ctx.Err(); err != nil {
				return BackupInfo{}, err
			}
			progress("restore", done, head.Bytes)
		}
		if err := c.next(last); err != nil {
			return BackupInfo{}, err
		}
		if !c.more[last] {
			break
		}
		e := c.readers[last].entry
		var err error
		if e.record, err = c.record(last); err != nil {
			return BackupInfo{}, err
		}
		if done += int64(len(e.key) + len(e.record)); done > head.Bytes {
			break // the disk was asked for less
		}
		if err := use(e); err != nil {
			return BackupInfo{}, err
		}
	}
	if done != head.Bytes {
		return BackupInfo{}, c.last().fail(-1, "its records have %d bytes or more, want %d", done, head.Bytes)
	}
	for i, r := range c.readers {
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return BackupInfo{}, err
			}
			for range contextEvery {
				var err error
				if more, err = r.next(); err != nil {
					return BackupInfo{}, err
				}
			}
		}
		if i > 0 && !bytes.Equal(r.end.Base, c.readers[i-1].end.Digest) {
			return BackupInfo{}, outOfOrder(i, "it was made since another backup than the one before")
		}
	}
	info := head.info(c.last().end)
	info.Stored = c.last().offset
	return info, nil
}

// next reads the next entry of a file.
func (c *backupChain) next(i int) (err error) {
	c.more[i], err = c.readers[i].next()
	return err
}

// record is that of the entry a file is at, from where it was kept.
func (c *backupChain) record(i int) ([]byte, error) {
	e := c.readers[i].entry
	for ; c.readers[i].entry.record == nil; i-- {
		before := c.readers[i-1]
		for c.more[i-1] || before.count.Records == 0 {
			if c.more[i-1] && bytes.Compare(before.entry.key, e.key) >= 0 {
				break
			}
			if err := c.next(i - 1); err != nil {
				return nil, err
			}
			if !c.more[i-1] {
				break
			}
		}
		if b := before.entry; !c.more[i-1] || !bytes.Equal(b.key, e.key) || b.version != e.version || b.sum != e.sum {
			return nil, outOfOrder(i, "%s is kept from the one before, which has another or none", record.Describe(e.key))
		}
	}
	return c.readers[i].entry.record, nil
}
