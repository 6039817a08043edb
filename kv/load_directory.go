package kv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A loadDirectory is where a load works, beside the directory the store will have, so that one rename on one file
// system puts it into place:
//
//	DIR.loading-RANDOM/store        the store
//	DIR.loading-RANDOM/sort         temporary files
//	DIR.loading-RANDOM/checkpoint   which of them are complete
//
// The load holds a lock on it, which the system gives back when the process ends, however it does. So one whose lock
// can be taken is left over, whichever process, container or host made it. Where directories have no locks none is
// taken to be left over.
type loadDirectory struct {
	target string
	path   string
	unlock func() error // nil where directories have no locks
}

const (
	loadMark = ".loading-"

	// loadBegunMark is in the name of a load directory that is not locked yet, and so nobody may remove.
	loadBegunMark = ".loading.begun-"
)

// newLoadDirectory makes the directory of a load into target, which must not be there, or be empty (ErrExists). What
// dead processes left behind of loads into the same target is removed, but that for which takeOver, if not nil, returns
// true, which is the result.
func newLoadDirectory(target string, takeOver func(*loadDirectory) (bool, error)) (_ *loadDirectory, err error) {
	target, err = filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	if d, err := removeLeftovers(target, takeOver); err != nil || d != nil {
		return d, err
	}
	random := rand.Text()
	d := &loadDirectory{target: target, path: target + loadBegunMark + random}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("no room to load into %s: %w", target, err), d.remove())
		}
	}()
	if err := os.Mkdir(d.path, 0o777); err != nil { // as the umask has it
		return nil, err
	}
	if err := os.Mkdir(d.sort(), 0o777); err != nil {
		return nil, err
	}
	if d.unlock, err = lockDirectory(d.path, false); err != nil {
		return nil, err
	}
	marked := target + loadMark + random
	if err := os.Rename(d.path, marked); err != nil {
		return nil, err
	}
	d.path = marked
	return d, nil
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

// removeLeftovers removes the directories of dead loads. It stops at one that is taken over, and returns it.
func removeLeftovers(target string, takeOver func(*loadDirectory) (bool, error)) (*loadDirectory, error) {
	siblings, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return nil, err
	}
	mark := filepath.Base(target) + loadMark
	for _, entry := range siblings {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), mark) {
			continue
		}
		d := &loadDirectory{target: target, path: filepath.Join(filepath.Dir(target), entry.Name())}
		taken, err := d.removeLeftover(takeOver)
		if err != nil {
			return nil, fmt.Errorf("what an interrupted load left at %s: %w", d.path, err)
		}
		if taken {
			return d, nil
		}
	}
	return nil, nil
}

// removeLeftover removes a load directory unless its load goes on, or it is taken over.
func (d *loadDirectory) removeLeftover(takeOver func(*loadDirectory) (bool, error)) (taken bool, err error) {
	d.unlock, err = lockDirectory(d.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its load has just ended
	}
	if err != nil || d.unlock == nil {
		return false, err
	}
	if takeOver != nil {
		if taken, err = takeOver(d); taken {
			return true, err
		}
	}
	return false, errors.Join(err, d.remove())
}

func (d *loadDirectory) store() string { return filepath.Join(d.path, "store") }

func (d *loadDirectory) sort() string { return filepath.Join(d.path, "sort") }

// place renames the finished store to the target, durably.
func (d *loadDirectory) place() error {
	// Where the target is an empty directory, it makes room. One that has been filled meanwhile cannot be removed.
	if err := os.Remove(d.target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w meanwhile", d.target, ErrExists)
	}
	if err := os.Rename(d.store(), d.target); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(d.target))
}

// syncDirectory makes the names in a directory durable, where the system can.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there, and renames are journalled
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// remove deletes all that is left, and gives the lock back.
func (d *loadDirectory) remove() error {
	err := os.RemoveAll(d.path)
	if d.unlock != nil {
		err = errors.Join(err, d.unlock())
	}
	return err
}
