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

// A replacement is the directory beside a store, on its file system, where a new store is made and the old one waits:
//
//	DB.replacing/new   has the store being made
//	DB.replacing/old   the old store, from when it is moved away until it is removed
//	DB.replacing/mark  says that the directory is one of these: others are left alone
//
// The directory is locked for as long as the process lives. Whatever moment a process is killed at, either store is
// whole at DB, or the old one in DB.replacing/old, from where Recover brings it back.
type replacement struct{ db, dir, made, old, mark string }

// replacementOf is of the store that a link leads to, also where that is away.
func replacementOf(db string) (replacement, error) {
	path, err := realpath.Of(db)
	in := func(name ...string) string { return filepath.Join(path+".replacing", filepath.Join(name...)) }
	return replacement{path, in(), in("new", "store"), in("old"), in("mark")}, err
}

// Replace has fill make a new store in a directory, and puts it into the place of the store at db, durably. A link at
// db goes on to lead to the store. It clears away what a killed process left. After an error the old store is at its
// place.
func Replace(db string, fill func(dir string) error) error {
	r, err := replacementOf(db)
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	lock, err := openLocked(r.dir)
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%s is being replaced by another process", db)
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return r.during(lock, func() error {
		if err := os.MkdirAll(filepath.Dir(r.made), 0o777); err != nil {
			return err
		}
		if err := fill(r.made); err != nil {
			return err
		}
		if err := os.Rename(r.db, r.old); err != nil {
			return err
		}
		if err := os.Rename(r.made, r.db); err != nil {
			return err
		}
		return errors.Join(durable.SyncDirectory(r.dir), durable.SyncDirectory(filepath.Dir(r.db)))
	})
}

// begin makes the directory, unless a killed process has.
func (r replacement) begin() error {
	if _, err := os.Stat(r.mark); err == nil {
		return nil
	}
	os.Remove(r.dir) //nolint:errcheck // it may be there, and empty, where the process that made it was killed
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(r.mark, nil, 0o666); err != nil {
		return err
	}
	return durable.SyncDirectory(r.dir)
}

// during calls fn while the directory is locked, and clears it away. Before and after, it brings the old store back
// where there is none at its place.
func (r replacement) during(lock *os.File, fn func() error) error {
	err := r.settle()
	if err == nil {
		failed := fn()
		if err = r.settle(); err == nil {
			err = os.RemoveAll(r.dir)
		}
		err = errors.Join(failed, err)
	}
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// settle leaves one store, at db. The mark stays.
func (r replacement) settle() error {
	_, err := os.Lstat(r.db)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Rename(r.old, r.db); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Dir(r.made)), os.RemoveAll(r.old), durable.SyncDirectory(r.dir))
}

// Recover finishes or undoes a Replace of db whose process was killed. It leaves alone one that is running, and every
// one where directories cannot be locked: there it cannot tell.
func Recover(db string) error {
	r, err := replacementOf(db)
	if err != nil {
		return err
	}
	if _, err := os.Stat(r.mark); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := openLocked(r.dir)
	if isInUse(err) {
		return nil
	}
	if err == nil {
		err = r.during(lock, func() error { return nil })
	}
	if err != nil {
		return fmt.Errorf("what an interrupted replacement of %s left: %w", db, err)
	}
	return nil
}
