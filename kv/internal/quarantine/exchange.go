package quarantine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// An exchange takes the files of a store out of it and puts the repaired ones in their place. The directories in the
// quarantine say how far it has come, so that one that was stopped at any moment is finished later. Until then the store does
// not open.
//
//   - While there are before and after, the files of the store move to before.
//   - after is then renamed to incoming, and the files in it move into the store. Then incoming is removed.
type exchange struct {
	path   string // of the Directory of the repair
	number int    // of the repair
}

// findExchange returns the exchange that was stopped; nil if there is none.
func findExchange(store string) (*exchange, error) {
	numbers, err := repairs(store)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		e := &exchange{pathOf(store, n), n}
		if e.has(beforeName) && (e.has(afterName) || e.has(incomingName)) {
			return e, nil
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
	if err := os.Rename(made, filepath.Join(e.path, beforeName)); err != nil {
		err = fmt.Errorf("%s: files do not move between it and its directory %s: %w", store, storedir.QuarantineName, err)
		return errors.Join(err, os.Remove(made))
	}
	return e.finish(store)
}

// finish carries out what is left to do.
func (e *exchange) finish(store string) error {
	incoming := filepath.Join(e.path, incomingName)
	if !e.has(incomingName) {
		if err := durable.SyncDirectory(e.path); err != nil {
			return err
		}
		if err := moveFiles(store, filepath.Join(e.path, beforeName)); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(e.path, afterName), incoming); err != nil {
			return err
		}
		if err := durable.SyncDirectory(e.path); err != nil {
			return err
		}
	}
	if err := moveFiles(incoming, store); err != nil {
		return err
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

// Finish finishes the exchange of a repair that was killed. It returns the report of that repair; nil if no exchange was
// under way.
func Finish[Line any](store string) (report []Line, err error) {
	e, err := findExchange(store)
	if e == nil || err != nil {
		return nil, err
	}
	if err := e.finish(store); err != nil {
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
	return record.CorruptFile(store, "a repair of it was stopped while files changed places; repair it again, which goes on")
}
