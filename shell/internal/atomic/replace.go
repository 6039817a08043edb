package atomic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// Replace has fill make a new store in a directory, DB.replacing/store, and exchanges it with the store at db, durably.
// Then it deletes the old one. A link at db goes on to lead to the store. After an error the old store is at its place.
// What a killed process left in DB.replacing goes first: the directory is locked for as long as a process works in it.
func Replace(db string, fill func(dir string) error) (err error) {
	path, err := realpath.Of(db)
	if err != nil {
		return err
	}
	place := path + ".replacing"
	if err := os.Mkdir(place, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	held, err := openLocked(place)
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%s is being replaced by another process", db)
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	made := filepath.Join(place, "store")
	if err = os.RemoveAll(made); err == nil {
		err = fill(made)
	}
	if err == nil {
		err = exchange(made, path)
	}
	if err == nil {
		err = errors.Join(durable.SyncDirectory(place), durable.SyncDirectory(filepath.Dir(path)))
	}
	err = errors.Join(err, os.RemoveAll(made))
	if held != nil {
		err = errors.Join(err, held.Close())
	}
	os.Remove(place) //nolint:errcheck // it may have files of somebody else
	return err
}

// exchangeByRenames exchanges two directories where the system cannot do it at once. If the process is killed between
// the renames, there is nothing at b, and a and a.old are whole.
func exchangeByRenames(a, b string) error {
	old := a + ".old"
	if err := os.Rename(b, old); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(old, b))
	}
	return os.Rename(old, a)
}
