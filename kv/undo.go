package kv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// ErrNoRepair is returned by UndoRepair if the store keeps no repair, or all of them are undone.
var ErrNoRepair = errors.New("kv: no repair to undo")

// ErrWrittenSince is returned by UndoRepair for a store with commits after its repair, unless the caller agrees.
var ErrWrittenSince = errors.New("kv: the store was written to since it was repaired")

// A RepairToUndo is the last repair of a store that is not undone.
type RepairToUndo struct {
	Number int   // of its directory in the quarantine
	Files  int   // that the store had before
	Bytes  int64 // of these
}

// LastRepair returns the repair that UndoRepair would undo, ErrNoRepair if there is none.
func LastRepair(dir string) (last RepairToUndo, err error) {
	number, kept, err := lastRepair(dir)
	if err != nil {
		return last, err
	}
	last = RepairToUndo{Number: number, Files: len(kept.Before)}
	for _, f := range kept.Before {
		last.Bytes += f.Size
	}
	return last, nil
}

func lastRepair(dir string) (number int, kept keptRepair, err error) {
	stopped, err := findSwitch(dir)
	if err != nil {
		return 0, kept, err
	}
	if stopped != nil {
		kept, err := readKeptRepair(dir, stopped.number)
		return stopped.number, kept, err
	}
	numbers, err := quarantines(dir)
	if err != nil {
		return 0, kept, err
	}
	for _, n := range slices.Backward(numbers) {
		if !newSwitch(dir, n, true).has(beforeName) {
			continue // it is undone, was not completed, or is of an earlier version of this program
		}
		kept, err := readKeptRepair(dir, n)
		return n, kept, err
	}
	return 0, kept, fmt.Errorf("%s: %w: none is kept in its directory %s", dir, ErrNoRepair, quarantineName)
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
	unlock, err := lockToRepair(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if stopped, err := finishSwitch(dir); err != nil || stopped != nil && stopped.undoes {
		return err
	}
	if err := removeAbandoned(dir); err != nil {
		return err
	}
	number, kept, err := lastRepair(dir)
	if err != nil {
		return err
	}
	before, err := describeFiles(filepath.Join(quarantinePath(dir, number), beforeName), false)
	if err != nil {
		return err
	}
	there := byName(before)
	for name, f := range byName(kept.Before) {
		if there[name] != f {
			path := filepath.Join(quarantinePath(dir, number), beforeName, name)
			return record.CorruptFile(path, "it is missing or changed; nothing was undone")
		}
	}
	now, err := describeFiles(dir, false)
	if err != nil {
		return err
	}
	commits := uint64(0)
	if !sameFiles(now, kept.After) {
		if commits, err = commitsSince(dir, opt, kept.Version); err != nil {
			return fmt.Errorf("%s: what was written since it was repaired is not known, nothing was undone: %w", dir, err)
		}
	}
	if err := errors.Join(agree(commits), ctx.Err()); err != nil {
		return err
	}
	return newSwitch(dir, number, true).begin(dir)
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
