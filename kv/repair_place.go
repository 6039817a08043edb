package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// BeforeRepair ends the name of the directory beside a repaired store in which the store is as it was.
const BeforeRepair = ".before-repair"

// repairingMark ends the name of the directory in which a repair makes the repaired store.
const repairingMark = ".repairing"

// A repairPlace is where a repair works: beside the store, on its file system. The repair ends with two renames:
// store becomes former, then made becomes store. If it is killed between them there is nothing at store, and undoSwap
// takes back the first. The repair holds the lock on the old directory, which goes along with it.
type repairPlace struct {
	store, made, former string
}

func placeOf(store string) repairPlace {
	return repairPlace{store, store + repairingMark, store + BeforeRepair}
}

// newRepairPlace makes the directory in which a repair works, and removes that of a repair which was killed. It
// returns an error if the two renames could not follow. The caller has locked the store.
func newRepairPlace(store string) (p repairPlace, err error) {
	p = placeOf(store)
	switch _, err := os.Lstat(p.former); {
	case err == nil:
		return p, fmt.Errorf("%s is what an earlier repair kept: %w: move it elsewhere or delete it, and repair again",
			p.former, ErrExists)
	case !errors.Is(err, fs.ErrNotExist):
		return p, err
	}
	if err := storedir.Writable(filepath.Dir(store)); err != nil {
		return p, fmt.Errorf("%s cannot be repaired where it is, as a repair writes beside it: %w: repair a copy of it elsewhere", store, err)
	}
	if err := os.RemoveAll(p.made); err != nil {
		return p, err
	}
	probe := filepath.Join(p.made, "probe")
	if err := errors.Join(os.Mkdir(p.made, storedir.Mode), os.Mkdir(probe, storedir.Mode)); err != nil {
		return p, err
	}
	// No directory takes the place of one that has something in it. One on which a file system is mounted is refused
	// for that. os.Rename would not ask the system.
	if err := syscall.Rename(store, p.made); errors.Is(err, syscall.EBUSY) {
		err = fmt.Errorf("%s cannot be repaired where it is, as a file system is mounted on it: %w: repair a copy of it elsewhere",
			store, syscall.EBUSY)
		return p, errors.Join(err, p.discard())
	}
	return p, os.Remove(probe)
}

// discard removes what was made.
func (p repairPlace) discard() error { return os.RemoveAll(p.made) }

// swap makes durable what was made, and puts it in the place of the store. After an error the store is as it was.
func (p repairPlace) swap() error {
	info, err := os.Stat(p.store)
	if err == nil {
		err = errors.Join(syncFiles(p.made), os.Chmod(p.made, info.Mode().Perm()), storedir.AlignModes(p.made))
	}
	if err == nil {
		err = durable.SyncDirectory(filepath.Dir(p.store))
	}
	if err != nil {
		return errors.Join(err, p.discard())
	}
	if err := os.Rename(p.store, p.former); err != nil {
		return errors.Join(err, p.discard())
	}
	if err := os.Rename(p.made, p.store); err != nil {
		return errors.Join(err, os.Rename(p.former, p.store), p.discard())
	}
	return durable.SyncDirectory(filepath.Dir(p.store))
}

// syncFiles makes the files in a directory durable, and the directory.
func syncFiles(dir string) error {
	err := storedir.Walk(dir, func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(dir, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return durable.SyncDirectory(path)
		case !entry.Type().IsRegular():
			return nil
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs no file that is open to read alone
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	return errors.Join(err, durable.SyncDirectory(dir))
}

// undoSwap takes back the first rename of a repair that was killed before the second. It returns a *LockedError if
// the repair is still running.
func undoSwap(dir string) error {
	path, err := realpath.Of(dir)
	if err != nil {
		return err
	}
	p := placeOf(path)
	for _, is := range []struct {
		path  string
		there bool
	}{{p.store, false}, {p.made, true}, {p.former, true}} {
		if _, err := os.Lstat(is.path); errors.Is(err, fs.ErrNotExist) == is.there {
			return nil
		}
	}
	_, unlock, err := storedir.Lock(p.former, false)
	if err != nil {
		return err
	}
	if _, err = os.Lstat(p.store); errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(os.Rename(p.former, p.store), durable.SyncDirectory(filepath.Dir(p.store)))
	}
	return errors.Join(err, unlock())
}
