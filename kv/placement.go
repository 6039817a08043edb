package kv

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/internal/realpath"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A Placement describes a store that a load or a Restore had put into its place before its process was killed.
type Placement struct {
	Store  string     // its ID
	Origin string     // of LoadOptions; "" of a Restore
	Load   LoadStats  // of a load
	Backup BackupInfo // of a Restore
}

const placementName = "placed"

func (d *loadDirectory) placement() string { return filepath.Join(d.path, placementName) }

// TakePlacement is for a load that was killed after it had put its store into place. It describes the store at dir, and
// removes the files that the load left beside dir. It returns nil if there are no such files, if dir has another store, if
// the load still runs, or if the system has no directory locks to find that out. If only an empty directory was left, the
// Placement is empty: the load is complete, and nothing is known of it.
func TakePlacement(dir string) (*Placement, error) { return takePlacement(dir, loadMark) }

// takePlacement is TakePlacement for a directory whose name ends in mark.
func takePlacement(dir, mark string) (_ *Placement, err error) {
	target, err := realpath.Of(dir)
	if err != nil || !storedir.HasLocks {
		return nil, err
	}
	d := &loadDirectory{target: target, path: target + mark}
	if info, err := os.Lstat(d.path); err != nil || !info.IsDir() { // a link may lead to a directory of the user
		return nil, nil //nolint:nilnil,nilerr // there is none
	}
	if left, err := os.ReadDir(d.path); err == nil && len(left) == 0 {
		return new(Placement), os.Remove(d.path)
	}
	if _, err := os.Stat(d.placement()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	_, d.unlock, err = storedir.Lock(d.path, false)
	if errors.Is(err, ErrLocked) {
		return nil, nil //nolint:nilnil // the load is alive
	}
	if err != nil {
		return nil, err
	}
	p, err := d.readPlacement()
	if err != nil || p == nil {
		return nil, errors.Join(err, d.release())
	}
	return p, d.remove()
}

// readPlacement returns the Placement from before the rename of the store, nil if the store was not renamed or another
// store is there.
func (d *loadDirectory) readPlacement() (*Placement, error) {
	if _, err := os.Stat(d.store()); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text, err := os.ReadFile(d.placement())
	if err != nil {
		return nil, err
	}
	p := new(Placement)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, nil //nolint:nilnil,nilerr // it was killed while it wrote this
	}
	s, err := Open(d.target, Options{ReadOnly: true, MemoryBudget: minMemoryBudget})
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // who opens the store is told why it cannot be
	}
	if s.ID() != p.Store {
		p = nil
	}
	return p, s.Close()
}

// writePlacement writes what TakePlacement returns, durably.
func (d *loadDirectory) writePlacement(p Placement) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(d.placement(), text); err != nil {
		return err
	}
	return durable.SyncDirectory(d.path)
}

// CheckRoom returns ErrNoSpace unless the file system of a directory has so many bytes free. A program calls it in
// BackupOptions.Begin if it writes the backup to a file.
func CheckRoom(dir string, bytes int64) error { return storedir.CheckRoom(dir, bytes) }
