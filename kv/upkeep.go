package kv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graphcleaner/graphcleaner/kv/internal/archive"
	"github.com/graphcleaner/graphcleaner/kv/internal/lsm"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A BackupInfo describes a backup. Its fields are
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

	// Dir, if not empty, is the directory of the file that the backup is written to. If its disk may have too little
	// room, Backup writes nothing and returns ErrNoSpace.
	Dir string

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
	defer func() { s.log("backup", began, err, "records", info.Changed, "bytes", info.Stored) }()
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
	if err == nil && opt.Dir != "" {
		err = storedir.CheckRoom(opt.Dir, most)
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
		if count++; count%record.ContextEvery == 0 && opt.Progress != nil {
			opt.Progress("backup", done, size)
		}
		return s.damaged(err)
	})
	if err == nil {
		info, err = out.End(ctx)
	}
	return info, storedir.WrapFull(err)
}

// eachLive calls use at the records of the snapshot, ascending, except for those of generations that its catalogue does
// not name: a Bulk that is open has written them, or a fold is to leave them out.
func (tx *Tx) eachLive(ctx context.Context, use func(it *lsm.Iterator) error) error {
	live := tx.cat.live()
	return tx.eachEntry(ctx, nil, func(it *lsm.Iterator) error {
		key := it.Key()
		k := record.Kind(key[0])
		if k >= record.FirstGenerational && k < record.EndGenerational && len(key) >= 5 && !live[record.GenerationOf(key)] {
			return nil
		}
		return use(it)
	})
}

// Restore makes a store in dir from a full backup and the backups that follow it, in order. dir must not be there, or
// be empty (ErrExists). The store is made beside dir and renamed when it is complete and durable. After an error or a
// kill there is nothing at dir, and the next Restore removes the files beside it. Only one Restore into dir can run;
// another returns ErrLocked. If Restore is killed after its last step, the store is complete, and the same
// Restore again returns ErrExists. The store has the ID, the records and the commits of the original. Restore returns
// the BackupInfo of the last backup. progress counts bytes of records.
//
// It returns ErrBackup for a file that is damaged or cut short, ErrBackupOrder for a backup that does not follow the
// one before it, ErrVersion for another format, and ErrNoSpace if the disk has too little room. All files are
// read at once, in step.
func Restore(
	ctx context.Context, dir string, files []io.Reader, opt Options, progress Progress,
) (info BackupInfo, err error) {
	if opt.ReadOnly {
		return info, fmt.Errorf("%s: %w: a store is not restored read-only", dir, ErrReadOnly)
	}
	chain, err := openBackup(files)
	if err != nil {
		return info, err
	}
	defer chain.Close()
	head := chain.Info()
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
	if info, err = restoreFiles(ctx, path, chain, progress); err != nil {
		return info, errors.Join(err, unlock())
	}
	s, err := openBadger(path, opt, false, unlock)
	if err != nil {
		return info, err
	}
	for _, step := range []func() error{s.readHeader, s.openPacks, s.sweep, s.Close} { // it can be opened
		if err := step(); err != nil {
			return info, errors.Join(err, s.abandon())
		}
	}
	return info, d.place()
}

// restoreFiles makes the files of a closed store.
func restoreFiles(
	ctx context.Context, dir string, chain *archive.Reader, progress Progress,
) (info BackupInfo, err error) {
	r := lsm.NewRestorer(dir, chain.Info().Snapshot) // so the commits of the store count on from the snapshot
	defer func() { err = errors.Join(err, r.Cancel()) }()
	if info, err = chain.Read(ctx, progress, r.Add); err != nil {
		return info, err
	}
	return info, r.Finish()
}

// openBackup opens a full backup and those that follow it. The store was in the format of this program.
func openBackup(files []io.Reader) (*archive.Reader, error) {
	chain, err := archive.Open(files)
	if err != nil {
		return nil, err
	}
	if format := chain.Info().Format; format != formatVersion {
		chain.Close()
		return nil, versionError(fmt.Sprintf("the store of backup %d", len(files)), format)
	}
	return chain, nil
}

// CheckBackup reads a full backup and those that follow it as Restore does, and makes no store.
func CheckBackup(ctx context.Context, files []io.Reader, progress Progress) (BackupInfo, error) {
	chain, err := openBackup(files)
	if err != nil {
		return BackupInfo{}, err
	}
	defer chain.Close()
	return chain.Read(ctx, progress, func(_, _ []byte, _ uint64) error { return nil })
}

// Compact folds edge, node, column and matrix deltas into blocks and drops what is no longer referenced. NodeIDs stay.
// The new blocks are written beside the live data and replace it in one transaction. Readers see the old state or the
// new one; after a crash, so does the next Open. Writers wait. It needs room on disk for a second copy of what changes.
func (s *Store) Compact(ctx context.Context, progress Progress) (err error) {
	began := time.Now()
	defer func() { s.log("compact", began, err) }()
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	bulk, err := s.beginBulk(ctx)
	if err != nil {
		return err
	}
	defer bulk.Abort()
	bulk.rewrites = true
	tx := bulk.Tx()
	w := &rewriter{tx: tx, bulk: bulk, progress: progress}
	if cat := tx.cat; cat.LoadedNodes < cat.Nodes || cat.EdgeDeltas > 0 || cat.Unnamed < cat.Removed {
		from, err := w.source()
		if err == nil {
			err = w.graph(ctx, from, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range tx.properties() {
		if !p.deltas && int(p.rows) == tx.NumNodes() {
			continue
		}
		if err := p.rewrite(w, ctx); err != nil {
			return err
		}
	}
	if err := bulk.Commit(nil); err != nil {
		return err
	}
	if err := s.lockWriter(ctx); err != nil {
		return fmt.Errorf("%w, but folding tables: %w", ErrCommitted, err)
	}
	defer s.writer.Unlock()
	s.stopFold()
	err = s.checkOpen()
	if err == nil {
		err = s.fold(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w, but folding tables: %w", ErrCommitted, err)
	}
	return nil
}

// Badger makes a table of each memtable, and each Close makes one. Once there are some, the store folds them into few,
// beside readers and writers (lsm/fold.go). The fold ends once there is no snapshot.

// A folding is a fold that goes on beside writers.
type folding struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once it has ended
}

// foldWait is between two looks at whether a fold can end. Each holds up who begins a snapshot for a moment.
const foldWait = time.Second

// foldIfDue begins a fold if one is due and none goes on. The caller holds the writer's lock.
func (s *Store) foldIfDue() {
	if s.folding != nil || !s.db.FoldDue() {
		return
	}
	f, err := s.beginFold()
	if err != nil {
		s.log("tables could not be folded", time.Time{}, err)
		return
	}
	s.foldBeside(f, f.Merge)
}

// foldBeside merges, and ends the fold, beside others. The caller holds the writer's lock.
func (s *Store) foldBeside(f *lsm.Fold, merge func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.folding = &folding{cancel, done}
	go func() {
		defer close(done)
		err := merge(ctx)
		s.writer.Lock()
		defer s.writer.Unlock()
		for s.commitGroup(); err == nil; s.commitGroup() {
			var ended bool
			if ended, err = f.End(); ended || err != nil {
				break
			}
			s.writer.Unlock()
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(foldWait):
			}
			s.writer.Lock()
		}
		s.folding = nil
		if err = errors.Join(err, f.Cancel()); err != nil && ctx.Err() == nil {
			s.log("tables could not be folded", time.Time{}, err)
		} else if err == nil {
			s.foldIfDue() // others came meanwhile
		}
	}()
}

// stopFold ends the fold that goes on, and says whether one did. The caller holds the writer's lock, which others have
// meanwhile.
func (s *Store) stopFold() (stopped bool) {
	for s.folding != nil {
		stopped = true
		done := s.folding.done
		s.folding.cancel()
		s.writer.Unlock()
		<-done
		s.writer.Lock()
		s.commitGroup()
	}
	return stopped
}

// fold folds at once, but ends beside others if there are snapshots. No fold goes on. The caller holds the writer's
// lock.
func (s *Store) fold(ctx context.Context) error {
	f, err := s.beginFold()
	if err != nil {
		return err
	}
	ended := false
	if err = f.Merge(ctx); err == nil {
		ended, err = f.End()
	}
	if err != nil || ended {
		return errors.Join(err, f.Cancel())
	}
	s.foldBeside(f, func(context.Context) error { return nil })
	return nil
}

// beginFold begins a fold that leaves out the records of generations that the catalogue does not name, and of old
// changes.
func (s *Store) beginFold() (f *lsm.Fold, err error) {
	err = s.lastView(func(tx *Tx) error {
		isDead, kept := tx.cat.dead(), tx.cat.changesFrom(tx.last)
		f, err = s.db.BeginFold(func(key []byte) bool { return isDead(key) || isOld(key, kept) })
		return err
	})
	return f, err
}
