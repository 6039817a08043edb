package storedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// LockFile is the file in which a process writes its number while it has a store open for writing. It locks nothing: it
// tells, once nobody has the store open, that there was a crash.
const LockFile = "LOCK"

// MarkWriter writes the file. The caller has locked the directory.
func MarkWriter(dir string) error {
	text := append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n')
	return os.WriteFile(filepath.Join(dir, LockFile), text, FileMode(Mode))
}

// UnmarkWriter removes the file, durably.
func UnmarkWriter(dir string) error {
	err := os.Remove(filepath.Join(dir, LockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDirectory(dir)
}
