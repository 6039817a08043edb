package memdir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies a directory, of each file only what is before the zeros at its end; its length stays. Logs of stores are
// files of zeros that are written from the front.
func Copy(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(target, bytes.TrimRight(text, "\x00"), 0o600), os.Truncate(target, int64(len(text))))
	})
}
