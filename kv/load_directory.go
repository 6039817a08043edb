package kv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A loadDirectory is where a load works, or a Restore, beside the directory the store will have, so that one rename on
// one file system puts it into place:
//
//	DIR.loading/store        the store
//	DIR.loading/sort         temporary files
//	DIR.loading/process      who works in it
//
// Of a Restore it is DIR.restoring.
//
// The load holds a lock on it, which the system gives back when the process ends, however it does. So one whose lock
// can be taken is left over, whichever process, container or host made it, and there is one load at a time. If
// directories have no locks each load has a directory of its own, whose name goes on at random, and none is taken to be
// left over.
type loadDirectory struct {
	target string
	path   string
	unlock func() error
}

const (
	loadMark        = ".loading"
	loadProcessName = "process"
)

// newDirectoryBeside makes the directory of a load into target, whose name ends in mark. The target must not be there,
// or be empty (ErrExists) and no mount point, nor lie in another store (ErrInStore), while there is no other load (a
// *LockedError). What a dead process left in the directory is removed.
func newDirectoryBeside(target, mark string) (_ *loadDirectory, err error) {
	target, err = realpath.Of(target) // the store goes where a link leads
	if err != nil {
		return nil, err
	}
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	around, err := StoreAround(target)
	if err != nil {
		return nil, err
	}
	if around != "" {
		return nil, fmt.Errorf("%s: %w %s", target, ErrInStore, around)
	}
	d := &loadDirectory{target: target, path: target + mark}
	if !storedir.HasLocks {
		d.path += "-" + rand.Text()
	}
	if err := d.acquire(); err != nil {
		return nil, fmt.Errorf("no room to make %s: %w", target, err)
	}
	if err := d.checkRoom(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	if err := d.clear(); err != nil {
		return nil, errors.Join(fmt.Errorf("no room to make %s: %w", target, err), d.remove())
	}
	return d, nil
}

// acquire makes the directory if it is not there, and takes its lock.
func (d *loadDirectory) acquire() (err error) {
	for {
		if err := os.Mkdir(d.path, storedir.Mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := os.Lstat(d.path); err == nil && !info.IsDir() {
			return fmt.Errorf("%s: %w: it is no directory", d.path, ErrExists)
		}
		_, d.unlock, err = storedir.Lock(d.path, false)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // its load has just ended
		case errors.Is(err, ErrLocked):
			return storedir.NewLockedError(d.path, d.process())
		case err != nil:
			return err
		}
		name := filepath.Join(d.path, loadProcessName)
		if err := os.WriteFile(name, strconv.AppendInt(nil, int64(os.Getpid()), 10),
			storedir.FileMode(storedir.Mode)); err != nil {
			return errors.Join(err, d.remove())
		}
		return nil
	}
}

// process is the process that works in the directory, zero if that is not known.
func (d *loadDirectory) process() int {
	text, err := os.ReadFile(filepath.Join(d.path, loadProcessName))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 0
	}
	return pid
}

// clear removes what a dead load left, and makes what this one needs.
func (d *loadDirectory) clear() error {
	for _, left := range []string{d.store(), d.sort()} {
		if err := os.RemoveAll(left); err != nil {
			return err
		}
	}
	return os.Mkdir(d.sort(), storedir.Mode)
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

// CheckRoom finds out, before the load, that an empty directory cannot make room for the store, as one that a file
// system is mounted on or that is in use cannot: it moves it aside for a moment, which asks for the same.
func (d *loadDirectory) checkRoom() error {
	aside := d.path + "-aside"
	err := os.Rename(d.target, aside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return noRoom(d.target, err)
	}
	return os.Rename(aside, d.target)
}

// noRoom says why an empty directory stays where it is.
func noRoom(target string, err error) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("%s: an empty directory that the store cannot take the place of: %w: want a path at which nothing is, such as %s",
		target, err, filepath.Join(target, "graph"))
}

func (d *loadDirectory) store() string { return filepath.Join(d.path, "store") }

func (d *loadDirectory) sort() string { return filepath.Join(d.path, "sort") }

// place renames the finished store to the target, durably. All else goes before: of a process that is killed after the
// rename an empty directory stays.
func (d *loadDirectory) place() error {
	for _, left := range []string{d.sort(), filepath.Join(d.path, loadProcessName)} {
		if err := os.RemoveAll(left); err != nil {
			return err
		}
	}
	// If the target is an empty directory, it makes room, and who may read it may read the store. One that has been
	// filled meanwhile cannot be removed.
	if info, err := os.Stat(d.target); err == nil {
		if err := errors.Join(os.Chmod(d.store(), info.Mode()), storedir.AlignModes(d.store())); err != nil {
			return err
		}
	}
	if err := os.Remove(d.target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if filled := checkTarget(d.target); filled != nil {
			return fmt.Errorf("%w meanwhile", filled)
		}
		return noRoom(d.target, err)
	}
	if err := os.Rename(d.store(), d.target); err != nil {
		return err
	}
	if err := durable.SyncDirectory(filepath.Dir(d.target)); err != nil {
		return errors.Join(err, os.Rename(d.target, d.store()))
	}
	return nil
}

// leaveBehind is remove once the store is in its place, which no error takes back. What cannot be removed, the next
// load or Restore into the same target removes.
func (d *loadDirectory) leaveBehind() {
	d.remove() //nolint:errcheck // see above
}

// remove deletes all that is left, and gives the lock back.
func (d *loadDirectory) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.unlock())
}
