package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/graphcleaner/graphcleaner/kv/internal/archive"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// RestoreOptions tunes a restore. The zero value is ready to use.
type RestoreOptions struct {
	// MemoryBudget bounds the bytes of the store that is made, which needs little. Zero means DefaultMemoryBudget.
	MemoryBudget int64

	Progress Progress // counts bytes of records
}

// Restore makes a store in dir from a full backup and the backups that follow it, in order. dir must not be there, or
// be empty (ErrExists). The store is made beside dir and renamed when it is complete and durable. After an error or a
// kill there is nothing at dir, and the next Restore removes the files beside it. Only one Restore into dir can run;
// another returns a *LockedError. If Restore is killed after its last step, the store is complete, and the same
// Restore again returns ErrExists. The store has the ID, the records and the commits of the original. Restore returns
// the BackupInfo of the last backup.
//
// It returns ErrBackup for a file that is damaged or cut short, ErrBackupOrder for a backup that does not follow the
// one before it, a *VersionError for another format, and ErrNoSpace if the disk has too little room. All files are
// read at once, in step.
func Restore(ctx context.Context, dir string, files []io.Reader, opt RestoreOptions) (info BackupInfo, err error) {
	chain, err := archive.Open(files)
	if err != nil {
		return info, err
	}
	defer chain.Close()
	head := chain.Info()
	if head.Format != formatVersion {
		return info, &VersionError{Dir: fmt.Sprintf("the store of backup %d", len(files)), Got: head.Format, Want: formatVersion}
	}
	d, err := newWorkplace(dir, restoreMark)
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
	// What is in the tables beside keys and records.
	if err := storedir.CheckRoom(d.path, head.Bytes+lsm.EntryOverhead*head.Records+lsm.SpareRoom); err != nil {
		return info, err
	}
	if err := os.Mkdir(d.store(), storedir.Mode); err != nil {
		return info, err
	}
	path, unlock, err := storedir.Lock(d.store(), false)
	if err != nil {
		return info, err
	}
	if info, err = restoreFiles(ctx, path, chain, opt.Progress); err != nil {
		return info, errors.Join(err, unlock())
	}
	s, err := openBadger(path, Options{MemoryBudget: opt.MemoryBudget}, false, unlock)
	if err != nil {
		return info, err
	}
	if err = s.checkRestored(chain); err == nil {
		err = s.Close()
	}
	if err != nil {
		return info, errors.Join(err, s.abandon())
	}
	return info, d.place()
}

// restoreFiles makes the files of a closed store.
func restoreFiles(ctx context.Context, dir string, chain *archive.Reader, progress Progress) (info BackupInfo, err error) {
	r := lsm.NewRestorer(dir, chain.Info().Snapshot) // so the commits of the store count on from the snapshot
	defer func() { err = errors.Join(err, r.Cancel()) }()
	if info, err = chain.Read(ctx, progress, r.Add); err != nil {
		return info, err
	}
	return info, r.Finish()
}

// checkRestored makes sure that a store can be opened.
func (s *Store) checkRestored(chain *archive.Reader) (err error) {
	if err := s.readHeader(); err != nil {
		return err
	}
	if want := chain.Info().Store; s.header.ID != want {
		return chain.Fail("it is of the store %s, and its records of %s", want, s.header.ID)
	}
	if err := s.openPacks(); err != nil {
		return err
	}
	return s.sweep()
}

// CheckBackup reads a full backup and those that follow it as Restore does, and makes no store.
func CheckBackup(ctx context.Context, files []io.Reader, progress Progress) (BackupInfo, error) {
	chain, err := archive.Open(files)
	if err != nil {
		return BackupInfo{}, err
	}
	defer chain.Close()
	return chain.Read(ctx, progress, func(_, _ []byte, _ uint64) error { return nil })
}
