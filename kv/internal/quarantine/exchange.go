package quarantine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// An exchange takes the files of a store out of it and puts others in their place. The directories in the quarantine say how
// far it has come, so that one that was stopped at any moment is finished later. Until then the store does not open.
//
//   - While there are outTo and inFrom, the files of the store move to outTo.
//   - inFrom is then renamed to incoming, and the files in it move into the store. Then incoming is removed.
type exchange struct {
	path          string // of the Directory of the repair
	number        int    // of the repair
	undoes        bool   // it undoes the repair
	outTo, inFrom string // names of directories in path
}

// newExchange is the exchange that ends a repair, or one that undoes it.
func newExchange(store string, number int, undoes bool) *exchange {
	e := &exchange{path: pathOf(store, number), number: number, outTo: beforeName, inFrom: afterName}
	if undoes {
		e.undoes, e.outTo, e.inFrom = true, repairedName, beforeName
	}
	return e
}

// findExchange returns the exchange that was stopped; nil if there is none.
func findExchange(store string) (*exchange, error) {
	numbers, err := repairs(store)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		for _, undoes := range []bool{true, false} {
			if e := newExchange(store, n, undoes); e.has(e.outTo) && (e.has(e.inFrom) || e.has(incomingName)) {
				return e, nil
			}
		}
	}
	return nil, nil
}

// has reports whether the Directory has a directory, not a link to one: the store may come from anybody.
func (e *exchange) has(name string) bool {
	info, err := os.Lstat(filepath.Join(e.path, name))
	return err == nil && info.IsDir()
}

// begin begins the exchange, and carries it out. The directory for the files of the store is made in the store: if it cannot
// move to the quarantine, nothing else is moved.
func (e *exchange) begin(store string) error {
	made := filepath.Join(store, "spill-switch.tmp") // which the next open removes
	if err := os.MkdirAll(made, storedir.Mode); err != nil {
		return err
	}
	if err := os.Rename(made, filepath.Join(e.path, e.outTo)); err != nil {
		err = fmt.Errorf("%s: files do not move between it and its directory %s: %w", store, storedir.QuarantineName, err)
		return errors.Join(err, os.Remove(made))
	}
	return e.finish(store)
}

// finish carries out what is left to do.
func (e *exchange) finish(store string) error {
	outTo, incoming := filepath.Join(e.path, e.outTo), filepath.Join(e.path, incomingName)
	if !e.has(incomingName) {
		if err := durable.SyncDirectory(e.path); err != nil {
			return err
		}
		if err := moveFiles(store, outTo); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(e.path, e.inFrom), incoming); err != nil {
			return err
		}
		if err := durable.SyncDirectory(e.path); err != nil {
			return err
		}
	}
	if err := moveFiles(incoming, store); err != nil {
		return err
	}
	if e.undoes {
		if err := e.restoreModes(store); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(incoming); err != nil {
		return err
	}
	return durable.SyncDirectory(e.path)
}

// moveFiles moves the files of a store, and the directories with such, durably. It overwrites none.
func moveFiles(from, to string) error {
	names, err := storedir.Files(from)
	if err != nil {
		return err
	}
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "/")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		path := filepath.Join(to, name)
		if _, err := os.Lstat(path); err == nil {
			return record.CorruptFile(path, "it is in %s too, and a repair was stopped while files changed places", from)
		}
		if err := os.Rename(filepath.Join(from, name), path); err != nil {
			return err
		}
	}
	return errors.Join(durable.SyncDirectory(to), durable.SyncDirectory(from))
}

// restoreModes gives the files that are back the modes that they had.
func (e *exchange) restoreModes(store string) error {
	repair, err := readInventory(store, e.number)
	for _, f := range repair.Before {
		err = errors.Join(err, os.Chmod(filepath.Join(store, f.Name), f.Mode))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return record.CorruptFile(e.path, "a repair was being undone, and %v; what the store had since is in %s", err, e.outTo)
	}
	return err
}

// finishExchange finishes the exchange that was stopped, and returns it; nil if there is none.
func finishExchange(store string) (*exchange, error) {
	e, err := findExchange(store)
	if e == nil || err != nil {
		return nil, err
	}
	return e, e.finish(store)
}

// Finish finishes the exchange of a repair, or of an Undo, that was killed. It returns the report of the repair; nil if it was
// an Undo, or if no exchange was under way.
func Finish[Line any](store string) (report []Line, err error) {
	e, err := finishExchange(store)
	if err != nil || e == nil || e.undoes {
		return nil, err
	}
	return readReport[Line](store, e.number)
}

// Check returns record.ErrCorrupt if an exchange was stopped.
func Check(store string) error {
	e, err := findExchange(store)
	if e == nil || err != nil {
		return err
	}
	return record.CorruptFile(store, "a repair of it, or the undoing of one, was stopped while files changed places; repair it again, which goes on")
}
