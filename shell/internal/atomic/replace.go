package atomic

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
)

// A replacement is the directory beside a store, on its file system, where a new store is made and the old one waits:
//
//	DB.replacing/new   the store being made
//	DB.replacing/old   the old store, from when it is moved away until it is removed
//	DB.replacing/mark  says that the directory is one of these: others are left alone
//
// The directory is locked for as long as the process lives. Whatever moment a process is killed at, either store is
// whole at DB, or the old one in DB.replacing/old, from where Recover brings it back.
type replacement struct {
	name    string // the store as it was given, for messages
	db, dir string
	lock    *os.File // the directory; nil where the system has no locks
}

// replacementOf is of the store that a link leads to, also where that is away.
func replacementOf(db string) (*replacement, error) {
	path, err := realpath.Of(db)
	return &replacement{name: db, db: path, dir: path + ".replacing"}, err
}

const replacementMark = "mark"

func (r *replacement) newStore() string { return filepath.Join(r.dir, "new") }
func (r *replacement) old() string      { return filepath.Join(r.dir, "old") }

// Replace has fill make a new store in a directory, and puts it into the place of the store at db, durably. A link at
// db goes on to lead to the store. It clears away what a killed process left. After an error the old store is at its
// place.
func Replace(db string, fill func(dir string) error) (err error) {
	if err := Recover(db); err != nil {
		return err
	}
	r, err := replacementOf(db)
	if err != nil {
		return err
	}
	if err := os.Mkdir(r.dir, 0o777); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is being replaced by another process", r.name)
	} else if err != nil {
		return err
	}
	if r.lock, err = openLocked(r.dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, os.Remove(r.dir))
	}
	defer func() { err = errors.Join(err, r.end()) }()
	err = os.WriteFile(filepath.Join(r.dir, replacementMark), nil, 0o666)
	if err = errors.Join(err, durable.SyncDirectory(r.dir)); err != nil {
		return err
	}
	if err := fill(r.newStore()); err != nil {
		return err
	}
	return r.swap()
}

// swap moves the old store away and the new one into its place. Between the two there is no store at db.
func (r *replacement) swap() error {
	if err := os.Rename(r.db, r.old()); err != nil {
		return err
	}
	if err := os.Rename(r.newStore(), r.db); err != nil {
		return errors.Join(err, os.Rename(r.old(), r.db))
	}
	return errors.Join(durable.SyncDirectory(r.dir), durable.SyncDirectory(filepath.Dir(r.db)))
}

// end removes all but the store at db. It leaves the old store where there is none at db.
func (r *replacement) end() (err error) {
	if _, missing := os.Lstat(r.db); missing == nil {
		err = r.clear()
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}

// clear removes the directory, the mark last: a power cut leaves nothing without it.
func (r *replacement) clear() error {
	entries, err := os.ReadDir(r.dir)
	for _, entry := range entries {
		if entry.Name() != replacementMark {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.dir, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncDirectory(r.dir), os.RemoveAll(r.dir))
}

// Recover finishes or undoes a Replace of db whose process was killed. It leaves alone one that is running, and every
// one where directories cannot be locked: there it cannot tell.
func Recover(db string) (err error) {
	r, err := replacementOf(db)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	marked := slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == replacementMark })
	for _, entry := range entries {
		if name, _, _ := strings.Cut(entry.Name(), "."); !marked ||
			name != "new" && name != "old" && name != replacementMark {
			return fmt.Errorf("%s is in the way and not of a replacement of %s: it holds %s", r.dir, r.name, entry.Name())
		}
	}
	r.lock, err = openLocked(r.dir)
	if isInUse(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, missing := os.Lstat(r.db); errors.Is(missing, fs.ErrNotExist) {
		if err = os.Rename(r.old(), r.db); errors.Is(err, fs.ErrNotExist) {
			err = r.clear()
		}
	}
	if err = errors.Join(err, r.end()); err != nil {
		return fmt.Errorf("what an interrupted replacement of %s left: %w", r.name, err)
	}
	return nil
}
