package kv

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv/internal/quarantine"
)

// ErrNoRepair is returned by UndoRepair if the store keeps no repair, or all of them are undone.
var ErrNoRepair = quarantine.ErrNoRepair

// ErrWrittenSince is returned by UndoRepair for a store with commits after its repair, unless the caller agrees.
var ErrWrittenSince = errors.New("kv: the store was written to since it was repaired")

// A RepairToUndo is the last repair of a store that is not undone. Its fields are
//
//	Number int   // of its directory in the quarantine
//	Files  int   // that the store had before
//	Bytes  int64 // of these
type RepairToUndo = quarantine.RepairToUndo

// LastRepair returns the repair that UndoRepair would undo, ErrNoRepair if there is none.
func LastRepair(dir string) (RepairToUndo, error) {
	path, err := realpath.Of(dir)
	if err != nil {
		return RepairToUndo{}, err
	}
	last, err := quarantine.Last(path)
	return last, renamed(err, path, dir)
}

// UndoRepair puts back the files that a store had before its last Repair that is not undone, byte for byte. The present
// files are moved into the quarantine of that repair.
//
// Before UndoRepair changes anything it calls agree with the number of commits after the repair. If agree returns an error,
// UndoRepair returns that error and undoes nothing. Afterwards only the quarantine has these commits: the directory repaired
// of that repair is a store with them. Without agree, UndoRepair refuses a store with such commits (ErrWrittenSince).
//
// UndoRepair refuses changed files in the quarantine (ErrCorrupt). Merely opening the store does no harm. After a kill, run
// UndoRepair again: it continues. The store must not be open.
func UndoRepair(ctx context.Context, dir string, opt Options, agree func(commits uint64) error) (err error) {
	if agree == nil {
		agree = func(commits uint64) error {
			if commits == 0 {
				return nil
			}
			return fmt.Errorf("%s: %w: undoing would set aside its last %d commits; nothing was undone", dir, ErrWrittenSince, commits)
		}
	}
	path, unlock, err := lockToRepair(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(renamed(err, path, dir), unlock()) }()
	return quarantine.Undo(path, func(version uint64, changed bool) (err error) {
		commits := uint64(0)
		if changed {
			if commits, err = commitsSince(path, opt, version); err != nil {
				return fmt.Errorf("%s: what was written since it was repaired is not known, nothing was undone: %w", dir, err)
			}
		}
		return errors.Join(agree(commits), ctx.Err())
	})
}

// commitsSince opens a store, whose directory the caller has locked, and counts its commits since one.
func commitsSince(dir string, opt Options, version uint64) (commits uint64, err error) {
	opt.ReadOnly = false
	s, err := openLocked(dir, opt, func() error { return nil })
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return max(s.db.MaxVersion(), version) - version, s.start()
}
