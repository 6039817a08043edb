package atomic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// A Replacement puts a new store, which is made beside an old one, into the place of the old one. Both pass through one directory, which
// lies beside the store so that renames stay on one file system:
//
//	DB.replacing/new   the store being made, and once it is swapped in, the old one
//	DB.replacing/old   the old store, for a moment, where two directories cannot be exchanged at once
//
// The directory is locked for as long as the process lives. Whatever moment a process is killed at, either store is
// whole at DB or, without exchange, in DB.replacing/old, from where RecoverReplaced brings it back.
type Replacement struct {
	db, dir string
	locked  *os.File // the directory; nil where the system has no locks
}

const replacingSuffix = ".replacing"

// BeginReplacement makes the directory of a Replacement, which End removes. It clears away what a killed process left.
func BeginReplacement(db string) (*Replacement, error) {
	if err := RecoverReplaced(db); err != nil {
		return nil, err
	}
	r := &Replacement{db: db, dir: db + replacingSuffix}
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s is being replaced by another process", db)
		}
		return nil, err
	}
	var err error
	if r.locked, err = openLocked(r.dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, os.Remove(r.dir))
	}
	if err := r.checkMovable(); err != nil {
		return nil, errors.Join(err, r.End())
	}
	return r, nil
}

// checkMovable finds out, before the new store is made, that the old one cannot be moved, as one that a file system is
// mounted on cannot. It tries to rename it onto a directory that is not empty, which fails for any, and for such a one in
// another way.
func (r *Replacement) checkMovable() error {
	full := r.Made() + ".full"
	if err := os.MkdirAll(filepath.Join(full, "full"), 0o777); err != nil {
		return err
	}
	if err := renameBusy(r.db, full); err != nil {
		return fmt.Errorf("%s cannot be replaced: a file system is mounted on it (%w): want a store in a directory in it, such as %s",
			r.db, err, filepath.Join(r.db, "graph"))
	}
	return os.RemoveAll(full)
}

// Made says where the new store is to be made.
func (r *Replacement) Made() string { return filepath.Join(r.dir, "new") }

func (r *Replacement) old() string { return filepath.Join(r.dir, "old") }

// Swap puts the new store into the old one's place, durably.
func (r *Replacement) Swap() error {
	err := exchange(r.Made(), r.db)
	if errors.Is(err, errors.ErrUnsupported) {
		err = r.renameBoth()
	}
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDirectory(r.dir), durable.SyncDirectory(filepath.Dir(r.db)))
}

// renameBoth swaps in two steps, between which there is no store.
func (r *Replacement) renameBoth() error {
	if err := os.Rename(r.db, r.old()); err != nil {
		return err
	}
	if err := os.Rename(r.Made(), r.db); err != nil {
		return errors.Join(err, os.Rename(r.old(), r.db))
	}
	return nil
}

// End removes all but the store at DB.
func (r *Replacement) End() error {
	err := os.RemoveAll(r.dir)
	if r.locked != nil {
		err = errors.Join(err, r.locked.Close())
	}
	return err
}

// RecoverReplaced finishes or undoes a Replacement of db whose process was killed. It leaves alone one that is running, and every one
// where directories cannot be locked: there it cannot tell.
func RecoverReplaced(db string) error {
	r := Replacement{db: db, dir: db + replacingSuffix}
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name, _, _ := strings.Cut(entry.Name(), "."); name != "new" && name != "old" {
			return fmt.Errorf("%s is in the way and not of a replacement of %s: it holds %s", r.dir, db, entry.Name())
		}
	}
	r.locked, err = openLocked(r.dir)
	if isInUse(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(db); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(r.old(), db); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, r.locked.Close())
		}
	}
	if err := r.End(); err != nil {
		return fmt.Errorf("what an interrupted replacement of %s left: %w", db, err)
	}
	return nil
}
