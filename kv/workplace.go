package kv

import (
	"cmp"
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

// A workplace is a directory beside that of a store, in which a load, a Restore or a Repair makes the store. So renames
// on one file system put it into place:
//
//	DIR.loading/store        the store
//	DIR.loading/sort         temporary files
//	DIR.loading/LOCK         who works in it
//
// Of a Restore it is DIR.restoring, of a Repair DIR.repairing.
//
// Who works in it holds a lock on it, which the system gives back when the process ends, however it does. So one whose
// lock can be taken is left over, whichever process, container or host made it.
type workplace struct {
	target string
	path   string
	unlock func() error
}

// The ends of the names of workplaces.
const (
	loadMark    = ".loading"
	restoreMark = ".restoring"
	repairMark  = ".repairing"
)

// newWorkplace makes the workplace of a load or a Restore into target. The target must not be there, or be empty
// (ErrExists) and no mount point, nor lie in another store (ErrInStore), while there is no other load (a ErrLocked).
func newWorkplace(target, mark string) (_ *workplace, err error) {
	target, err = realpath.Of(target) // the store goes where a link leads
	if err != nil {
		return nil, err
	}
	if err := errors.Join(undoSwap(target), checkTarget(target)); err != nil {
		return nil, err
	}
	around, err := StoreAround(target)
	if err != nil {
		return nil, err
	}
	if around != "" {
		return nil, fmt.Errorf("%s: %w %s", target, ErrInStore, around)
	}
	w, err := openWorkplace(target, mark)
	if err != nil {
		return nil, fmt.Errorf("no room to make %s: %w", target, err)
	}
	return w, w.checkMovable("want a path at which nothing is, such as " + filepath.Join(target, "graph"))
}

// newRepairPlace makes the workplace of a Repair of a store, which is locked. It returns an error if the store could
// not be moved.
func newRepairPlace(store string) (*workplace, error) {
	former := store + BeforeRepair
	if _, err := os.Lstat(former); err == nil {
		return nil, fmt.Errorf("%s is what an earlier repair kept: %w: move it elsewhere or delete it, and repair again",
			former, ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	const advice = "repair a copy of it elsewhere"
	if err := storedir.Writable(filepath.Dir(store)); err != nil {
		return nil, fmt.Errorf("%s cannot be repaired where it is, as a repair writes beside it: %w: %s", store, err, advice)
	}
	w, err := openWorkplace(store, repairMark)
	if err != nil {
		return nil, err
	}
	return w, w.checkMovable(advice)
}

// checkMovable finds out, before the work, whether what is at the target can make room for the store: a directory on
// which a file system is mounted cannot. If it cannot, the workplace is removed. No directory takes the place of one
// that has something in it, so to ask for that moves nothing. os.Rename would not ask the system.
func (w *workplace) checkMovable(advice string) error {
	err := syscall.Rename(w.target, w.path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err = fmt.Errorf("%s cannot be moved (is a file system mounted on it?): %w: %s", w.target, err, advice)
	return errors.Join(err, w.remove())
}

// openWorkplace makes the directory if it is not there, takes its lock, and removes what a dead process left in it.
func openWorkplace(target, mark string) (*workplace, error) {
	w := &workplace{target: target, path: target + mark}
	for w.unlock == nil {
		if err := os.Mkdir(w.path, storedir.Mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Lstat(w.path); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: %w: it is no directory", w.path, ErrExists)
		}
		_, unlock, err := storedir.Lock(w.path, false)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else its load has just ended
			return nil, err
		}
		w.unlock = unlock
	}
	err := errors.Join(storedir.MarkWriter(w.path), os.RemoveAll(w.store()), os.RemoveAll(w.sort()))
	if err == nil {
		err = os.Mkdir(w.sort(), storedir.Mode)
	}
	if err != nil {
		return nil, errors.Join(err, w.remove())
	}
	return w, nil
}

func checkTarget(target string) error {
	entries, err := os.ReadDir(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: %w: it is a file", target, ErrExists)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w", target, ErrExists)
	}
	return nil
}

func (w *workplace) store() string { return filepath.Join(w.path, "store") }

func (w *workplace) sort() string { return filepath.Join(w.path, "sort") }

// place renames the finished store to the target, durably. All else goes before: of a process that is killed after the
// rename an empty directory stays.
func (w *workplace) place() error {
	if err := w.clear(); err != nil {
		return err
	}
	// If the target is an empty directory, it makes room. One that has been filled meanwhile cannot be removed.
	if err := os.Remove(w.target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(checkTarget(w.target), err)
	}
	if err := os.Rename(w.store(), w.target); err != nil {
		return err
	}
	if err := durable.SyncDirectory(filepath.Dir(w.target)); err != nil {
		return errors.Join(err, os.Rename(w.target, w.store()))
	}
	return nil
}

// swap puts the repaired store in the place of the store, by two renames. After an error the store is as it was. If the
// process is killed between them there is nothing at the target, and undoSwap takes back the first.
func (w *workplace) swap() error {
	parent, former := filepath.Dir(w.target), w.target+BeforeRepair
	err := errors.Join(w.clear(), durable.SyncDirectory(w.path), durable.SyncDirectory(parent))
	if err == nil {
		err = os.Rename(w.target, former)
	}
	if err != nil {
		return err
	}
	if err = durable.SyncDirectory(parent); err == nil { // else a power cut could leave the second rename alone
		err = w.place()
	}
	if err != nil {
		return errors.Join(err, os.Rename(former, w.target))
	}
	return nil
}

// clear removes all but the store. Who may read the directory at the target may read the store.
func (w *workplace) clear() error {
	err := errors.Join(os.RemoveAll(w.sort()), storedir.UnmarkWriter(w.path))
	info, there := os.Stat(w.target)
	if err != nil || there != nil {
		return err
	}
	return errors.Join(os.Chmod(w.store(), info.Mode().Perm()), storedir.AlignModes(w.store()))
}

// leaveBehind is remove once the store is in its place, which no error takes back. What cannot be removed, the next
// one beside the same target removes.
func (w *workplace) leaveBehind() {
	w.remove() //nolint:errcheck // see above
}

// remove deletes all that is left, and gives the lock back.
func (w *workplace) remove() error { return errors.Join(os.RemoveAll(w.path), w.unlock()) }

// undoSwap takes back the first rename of a repair that was killed before the second. It returns ErrLocked if
// the repair is still running, which has the lock of the store.
func undoSwap(dir string) error {
	store, err := realpath.Of(dir)
	if err != nil {
		return err
	}
	former := store + BeforeRepair
	isStopped := func() bool {
		_, is := os.Lstat(store)
		_, made := os.Lstat((&workplace{path: store + repairMark}).store())
		_, was := os.Lstat(former)
		return errors.Is(is, fs.ErrNotExist) && made == nil && was == nil
	}
	if !isStopped() {
		return nil
	}
	_, unlock, err := storedir.Lock(former, false)
	if err != nil {
		return err
	}
	if isStopped() {
		err = errors.Join(os.Rename(former, store), durable.SyncDirectory(filepath.Dir(store)))
	}
	return errors.Join(err, unlock())
}
