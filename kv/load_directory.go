package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A loadDirectory is where a load works, beside the directory the store will have, so that one rename on one file
// system puts it into place. Its name says which process made it:
//
//	DIR.loading-PID-RANDOM/store   the store
//	DIR.loading-PID-RANDOM/sort    temporary files
type loadDirectory struct {
	target string
	path   string
}

const loadMark = ".loading-"

// liveLoads has the paths of this process's load directories, since a process that restarted in a container may have
// the number of the one that died there.
var liveLoads sync.Map

// newLoadDirectory makes the directory of a load into target, which must not be there, or be empty (ErrExists). What
// dead processes left behind of loads into the same target is removed.
func newLoadDirectory(target string) (*loadDirectory, error) {
	target, err := filepath.Abs(target)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	if err := removeLeftovers(target); err != nil {
		return nil, err
	}
	pattern := fmt.Sprintf("%s%s%d-*", filepath.Base(target), loadMark, os.Getpid())
	path, err := os.MkdirTemp(filepath.Dir(target), pattern)
	if err != nil {
		return nil, fmt.Errorf("no room to load into %s: %w", target, err)
	}
	liveLoads.Store(path, true)
	d := &loadDirectory{target: target, path: path}
	if err := os.Mkdir(d.sort(), 0o755); err != nil {
		return nil, errors.Join(err, d.remove())
	}
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

func removeLeftovers(target string) error {
	siblings, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return err
	}
	mark := filepath.Base(target) + loadMark
	for _, entry := range siblings {
		rest, ok := strings.CutPrefix(entry.Name(), mark)
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		path := filepath.Join(filepath.Dir(target), entry.Name())
		if err != nil || isLiveLoad(pid, path) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("what an interrupted load left at %s: %w", path, err)
		}
	}
	return nil
}

func isLiveLoad(pid int, path string) bool {
	if pid == os.Getpid() {
		_, live := liveLoads.Load(path)
		return live
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	// Signal 0 only asks. A process of another user refuses it, and lives.
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
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

// remove deletes all that is left.
func (d *loadDirectory) remove() error {
	err := os.RemoveAll(d.path)
	liveLoads.Delete(d.path)
	return err
}
