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

// Errors of directories. kv has them, and says what they mean.
var (
	ErrLocked      = errors.New("in use")
	ErrForeignFile = errors.New("kv: not a file of a store")
	ErrMoved       = errors.New("kv: the directory was moved, replaced or deleted while the store was open, " +
		"so nothing more is written: " +
		"end the process that holds the store, then use the moved directory, which has all that was committed")
	ErrNoSpace = errors.New("kv: not enough room on disk")
)

// lockedError is an ErrLocked for a directory. It says which process has the store open for writing, and since when, if
// that is known. Others may only read.
func lockedError(dir string) error {
	path := filepath.Join(dir, LockFile)
	text, err := os.ReadFile(path)
	info, failed := os.Stat(path)
	pid, noNumber := strconv.Atoi(strings.TrimSpace(string(text)))
	if errors.Join(err, failed, noNumber) != nil || isGone(pid) {
		return fmt.Errorf("%s is %w by another process", dir, ErrLocked)
	}
	if pid == os.Getpid() {
		return fmt.Errorf("%s is %w by this process", dir, ErrLocked)
	}
	return fmt.Errorf("%s is %w by process %d since %s", dir, ErrLocked, pid, info.ModTime().Format(time.DateTime))
}

// isGone says whether a process has ended. If it was killed, who has the store now only reads, or recovers it.
func isGone(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
