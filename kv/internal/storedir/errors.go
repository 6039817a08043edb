// Package storedir handles the directory of a store: its lock, its owner and modes, the free room on the disk, and
// files that are replaced at once. It knows nothing of the contents of files.
package storedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Errors of directories. They stand at the door of kv, so that their texts begin with its name.
var (
	// ErrLocked is returned for a directory that another process, or this one, holds; the error is a *LockedError.
	ErrLocked = errors.New("kv: store is locked")

	// ErrForeignFile is returned for a store with a file that no store has: a link, a named pipe or a device, or, to
	// write, a file with several names.
	ErrForeignFile = errors.New("kv: not a file of a store")

	// ErrMoved is returned by writes to a store, and by its Close, if its path leads to another directory by now, or
	// nowhere. The writes do nothing, and Close leaves the files as they are.
	ErrMoved = errors.New("kv: the directory was moved, replaced or deleted while the store was open, " +
		"so nothing more is written: " +
		"end the process that holds the store, then use the moved directory, which has all that was committed")

	// ErrNoSpace is returned if the disk has too little room for a write and for the tables that follow from the write.
	// The write does nothing.
	ErrNoSpace = errors.New("kv: not enough room on disk")
)

// A LockedError says who holds a store open. It is an ErrLocked.
type LockedError struct {
	Dir string
	PID int // the process that has it open for writing; zero if it is not known, or if others read

	// Since is when the process opened the store; zero if it is not known.
	Since time.Time
}

// newLockedError is for a directory that somebody holds.
func newLockedError(dir string) *LockedError {
	e := &LockedError{Dir: dir}
	path := filepath.Join(dir, LockFile)
	text, err := os.ReadFile(path)
	if err == nil {
		e.PID, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if process, gone := os.FindProcess(e.PID); err == nil && gone == nil {
		gone = process.Signal(syscall.Signal(0))
		if errors.Is(gone, os.ErrProcessDone) { // it was killed, and who has the store now only reads, or recovers it
			e.PID = 0
		}
	}
	if info, failed := os.Stat(path); err == nil && failed == nil {
		e.Since = info.ModTime()
	}
	return e
}

func (e *LockedError) Error() string {
	switch e.PID {
	case 0:
		return fmt.Sprintf("%s is in use by another process", e.Dir)
	case os.Getpid():
		return fmt.Sprintf("%s is already open in this process", e.Dir)
	}
	return fmt.Sprintf("%s is in use by process %d since %s", e.Dir, e.PID, e.Since.Format(time.DateTime))
}

func (e *LockedError) Unwrap() error { return ErrLocked }
