package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// lockFileName is the file in which a process writes its number while it has a store open for writing. It locks nothing: it
// tells, once nobody has the store open, that there was a crash. Where directories have no locks the file is Badger's.
const lockFileName = "LOCK"

// markWriter writes the file. The caller has locked the directory.
func markWriter(dir string) error {
	if !locksDirectories {
		return nil
	}
	text := append(strconv.AppendInt(nil, int64(os.Getpid()), 10), '\n')
	return os.WriteFile(filepath.Join(dir, lockFileName), text, fileMode(storeMode))
}

// unmarkWriter removes the file, durably.
func unmarkWriter(dir string) error {
	if !locksDirectories {
		return nil
	}
	err := os.Remove(filepath.Join(dir, lockFileName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDirectory(dir)
}

// leftByCrash says whether a store, which no process has open for writing, was not closed by the last one that had.
func leftByCrash(dir string) (bool, error) {
	logs, err := memTableLogs(dir)
	_, lockFile := os.Stat(filepath.Join(dir, lockFileName))
	return len(logs) > 0 || lockFile == nil, err
}

// holder is the process that has a store open, as the kernel or else the file LOCK says; zero where neither does.
func holder(dir string) int {
	if pid := lockHolder(dir); pid > 0 {
		return pid
	}
	text, err := os.ReadFile(filepath.Join(dir, lockFileName))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
