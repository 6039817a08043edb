package quarantine

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// ErrNoRepair is returned if a quarantine has no repair, or all of them are undone. It stands at the door of kv, so that its
// text begins with its name.
var ErrNoRepair = errors.New("kv: no repair to undo")

// A RepairToUndo is the last repair of a store that is not undone.
type RepairToUndo struct {
	Number int   // of its directory in the quarantine
	Files  int   // that the store had before
	Bytes  int64 // of these
}

// Last returns the repair that Undo would undo, ErrNoRepair if there is none.
func Last(store string) (last RepairToUndo, err error) {
	number, repair, err := lastRepair(store)
	if err != nil {
		return last, err
	}
	last = RepairToUndo{Number: number, Files: len(repair.Before)}
	for _, f := range repair.Before {
		last.Bytes += f.Size
	}
	return last, nil
}

func lastRepair(store string) (number int, repair inventory, err error) {
	stopped, err := findExchange(store)
	if err != nil {
		return 0, repair, err
	}
	if stopped != nil {
		repair, err := readInventory(store, stopped.number)
		return stopped.number, repair, err
	}
	numbers, err := repairs(store)
	if err != nil {
		return 0, repair, err
	}
	for _, n := range slices.Backward(numbers) {
		if !newExchange(store, n, true).has(beforeName) {
			continue // it is undone, was not completed, or is of an earlier version of this program
		}
		repair, err := readInventory(store, n)
		return n, repair, err
	}
	return 0, repair, fmt.Errorf("%s: %w: none is kept in its directory %s", store, ErrNoRepair, storedir.QuarantineName)
}

// Undo puts back the files that a store had before its last repair that is not undone, byte for byte. The present files move
// into the Directory of that repair. Undo returns record.ErrCorrupt if a file there is missing or changed. If an Undo was
// killed while it exchanged files, the next one finishes it.
//
// Before Undo changes anything it calls agree with the version that Install was given, and whether the files of the store
// changed since the repair. If agree returns an error, Undo returns that error and undoes nothing.
func Undo(store string, agree func(version uint64, changed bool) error) error {
	if e, err := finishExchange(store); err != nil || e != nil && e.undoes {
		return err
	}
	if err := removeAbandoned(store); err != nil {
		return err
	}
	number, repair, err := lastRepair(store)
	if err != nil {
		return err
	}
	path := filepath.Join(pathOf(store, number), beforeName)
	before, err := describeFiles(path, false)
	if err != nil {
		return err
	}
	there := byName(before)
	for name, f := range byName(repair.Before) {
		if there[name] != f {
			return record.CorruptFile(filepath.Join(path, name), "it is missing or changed; nothing was undone")
		}
	}
	now, err := describeFiles(store, false)
	if err != nil {
		return err
	}
	if err := agree(repair.Version, !maps.Equal(byName(now), byName(repair.After))); err != nil {
		return err
	}
	return newExchange(store, number, true).begin(store)
}
