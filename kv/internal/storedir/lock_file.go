package storedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// LockFile is the file in which a process writes its number while it has a store open for writing. It locks nothing: it
// tells, once nobody has the store open, that there was a crash. If directories have no locks the file is Badger's.
const LockFile = "LOCK"

// MarkWriter writes the file. The caller has locked the directory.
func MarkWriter(dir string) error {
	if !HasLocks {
		return nil
	}
	text := append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n')
	return os.WriteFile(filepath.Join(dir, LockFile), text, FileMode(Mode))
}

// UnmarkWriter removes the file, durably.
func UnmarkWriter(dir string) error {
	if !HasLocks {
		return nil
	}
	err := os.Remove(filepath.Join(dir, LockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDirectory(dir)
}

// holder is the process that has a store open, as the kernel or else the file LOCK says; zero if neither does.
func holder(dir string) int {
	if pid := lockHolder(dir); pid > 0 {
		return pid
	}
	return markedWriter(filepath.Join(dir, LockFile))
}

// markedWriter is the process that a file LOCK names; zero if it names none.
func markedWriter(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
