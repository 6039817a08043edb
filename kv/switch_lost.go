package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// A switch makes the directory that the files of the store go to before the first of them moves, and removes the one that
// others come from once they are in their places. So a quarantine that has both is that of a switch which was stopped, also
// where the file that describes it is lost. The files themselves tell what is left to do: all go out before the first comes
// in.

// findSwitch returns a switch that was stopped, by its directories alone; fs.ErrNotExist where there is none.
func findSwitch(store string) (s fileSwitch, err error) {
	numbers, err := quarantines(store)
	if err != nil {
		return s, err
	}
	for _, n := range numbers {
		repair := fileSwitch{Repair: n, OutTo: beforeName, InFrom: afterName}
		undo := fileSwitch{Repair: n, OutTo: repairedName, InFrom: beforeName, Undoes: true}
		for _, s := range []fileSwitch{repair, undo} {
			if exists(s.outTo(store)) && exists(s.inFrom(store)) {
				return s, nil
			}
		}
	}
	return s, fs.ErrNotExist
}

func (s fileSwitch) outTo(store string) string {
	return filepath.Join(quarantinePath(store, s.Repair), s.OutTo)
}

func (s fileSwitch) inFrom(store string) string {
	return filepath.Join(quarantinePath(store, s.Repair), s.InFrom)
}

// remakeSwitch makes a switch again whose file is lost; fs.ErrNotExist where none was stopped, and where that of a repair
// has moved nothing yet, or all was put back. A file that is not where the switch can have it is an ErrCorrupt.
func remakeSwitch(store string) (s fileSwitch, err error) {
	if s, err = findSwitch(store); err != nil {
		return s, err
	}
	kept, err := readKeptRepair(store, s.Repair)
	if err != nil {
		return s, record.CorruptFile(quarantinePath(store, s.Repair), "a repair was stopped while files changed places, and what it moved is not known: %v", err)
	}
	now, err := describeFiles(store, false)
	if err != nil {
		return s, err
	}
	if !s.Undoes && sameFiles(now, kept.Before) {
		return s, fs.ErrNotExist
	}
	goOut, comeIn := kept.Before, kept.After
	if s.Undoes {
		goOut, comeIn = nil, kept.Before // what was written since the repair goes out too
	}
	if err := errors.Join(s.checkPlaces(store, now, goOut, s.outTo(store)), s.checkPlaces(store, now, comeIn, s.inFrom(store))); err != nil {
		return s, err
	}
	s.In = slices.DeleteFunc(topsOf(namesOf(comeIn)), func(name string) bool { // the mark of a process may be missing
		return !exists(filepath.Join(s.inFrom(store), name)) && !exists(filepath.Join(store, name))
	})
	for _, name := range topsOf(namesOf(now)) {
		if slices.Contains(s.In, name) && !exists(filepath.Join(s.inFrom(store), name)) {
			continue // it has come in
		}
		if path := filepath.Join(s.outTo(store), name); exists(path) {
			return s, s.doubt(store, path, "it is in the directory of the store too")
		}
		s.Out = append(s.Out, name)
	}
	return s, s.check()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// checkPlaces returns an ErrCorrupt unless each of the wanted files is as it was, in a directory or among those of the store.
func (s fileSwitch) checkPlaces(store string, now, wanted []keptFile, dir string) error {
	moved, err := describeFiles(dir, false)
	if err != nil {
		return err
	}
	inStore, inDir := byName(now), byName(moved)
	for name, f := range byName(wanted) {
		if inStore[name] != f && inDir[name] != f {
			return s.doubt(store, filepath.Join(dir, name), "neither it nor the file of that name in the store is as it was")
		}
	}
	return nil
}

// doubt is for a file because of which a switch cannot go on.
func (s fileSwitch) doubt(store, path, what string) error {
	return record.CorruptFile(path, "%s, and a repair was stopped while files changed places; nothing was moved. "+
		"Put the files of one of %s and %s into the store, and move both directories elsewhere", what, s.outTo(store), s.inFrom(store))
}

func namesOf(files []keptFile) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}
