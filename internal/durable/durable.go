// Package durable makes changes of files last through a power cut.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// SyncDirectory makes the names in a directory durable, where the system can.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there, and renames are journalled
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// WriteFile makes a file, or empties it, and writes a text to it. Its name is not durable.
func WriteFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// ReplaceFile puts a text in the place of a file, at once. It is written to the file temporary first, on the same file
// system; after an error before the rename that file is removed.
func ReplaceFile(path, temporary string, text []byte) error {
	if err := WriteFile(temporary, text); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return Replace(temporary, path)
}

// Replace puts a file, which is durable and closed, in the place of another. If it cannot be renamed, it is removed.
func Replace(temporary, path string) error {
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return SyncDirectory(filepath.Dir(path))
}
