package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
)

// A replacement makes a new store beside an old one and puts it in its place. Both pass through one directory, which
// lies beside the store so that renames stay on one file system:
//
//	DB.replacing/new   the store being made, and once it is swapped in, the old one
//	DB.replacing/old   the old store, for a moment, where two directories cannot be exchanged at once
//
// The directory is locked for as long as the process lives. Whatever moment a process is killed at, either store is
// whole at DB or, without exchange, in DB.replacing/old, from where recoverReplaced brings it back.
type replacement struct {
	db, dir string
	locked  *os.File // the directory; nil where the system has no locks
}

const replacingSuffix = ".replacing"

// beginReplacement makes the directory of a replacement; end removes it. What a killed process left is cleared away.
func beginReplacement(db string) (*replacement, error) {
	if err := recoverReplaced(db); err != nil {
		return nil, err
	}
	r := &replacement{db: db, dir: db + replacingSuffix}
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
		return nil, errors.Join(err, r.end())
	}
	return r, nil
}

// checkMovable finds out, before the new store is made, that the old one cannot be moved, as one that a file system is
// mounted on cannot. It tries to rename it onto a directory that is not empty, which fails for any, and for such a one in
// another way.
func (r *replacement) checkMovable() error {
	full := r.made() + ".full"
	if err := os.MkdirAll(filepath.Join(full, "full"), 0o777); err != nil {
		return err
	}
	if err := renameBusy(r.db, full); err != nil {
		return fmt.Errorf("%s cannot be replaced: a file system is mounted on it (%w): want a store in a directory in it, such as %s",
			r.db, err, filepath.Join(r.db, "graph"))
	}
	return os.RemoveAll(full)
}

// made is where the new store is made.
func (r *replacement) made() string { return filepath.Join(r.dir, "new") }

func (r *replacement) old() string { return filepath.Join(r.dir, "old") }

// swap puts the new store into the old one's place, durably.
func (r *replacement) swap() error {
	err := exchange(r.made(), r.db)
	if errors.Is(err, errors.ErrUnsupported) {
		err = r.renameBoth()
	}
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDirectory(r.dir), durable.SyncDirectory(filepath.Dir(r.db)))
}

// renameBoth swaps in two steps, between which there is no store.
func (r *replacement) renameBoth() error {
	if err := os.Rename(r.db, r.old()); err != nil {
		return err
	}
	if err := os.Rename(r.made(), r.db); err != nil {
		return errors.Join(err, os.Rename(r.old(), r.db))
	}
	return nil
}

// end removes all but what is at DB.
func (r *replacement) end() error {
	err := os.RemoveAll(r.dir)
	if r.locked != nil {
		err = errors.Join(err, r.locked.Close())
	}
	return err
}

// recoverReplaced finishes or undoes a replacement of db whose process was killed. One that is running is let be, and
// so is every one where directories cannot be locked, since it cannot be told from a running one.
func recoverReplaced(db string) error {
	r := replacement{db: db, dir: db + replacingSuffix}
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
	if err := r.end(); err != nil {
		return fmt.Errorf("what an interrupted replacement of %s left: %w", db, err)
	}
	return nil
}
