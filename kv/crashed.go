package kv

import (
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// leftByCrash says whether a store, which no process has open for writing, was not closed by the last one that had.
func leftByCrash(dir string) (bool, error) {
	logs, err := memTableLogs(dir)
	_, lockFile := os.Stat(filepath.Join(dir, storedir.LockFile))
	return len(logs) > 0 || lockFile == nil, err
}
