package kv

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphcleaner/graphcleaner/internal/durable"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// A fileSwitch takes the files of a store out of it and puts others in their place. It is written down before the first
// of them moves, so that one that was stopped at any moment is finished later. Until then the store does not open.
type fileSwitch struct {
	Repair int      `json:"repair"`  // the number of the quarantine
	OutTo  string   `json:"out_to"`  // a directory in it
	Out    []string `json:"out"`     // what lies in the directory of the store and moves
	InFrom string   `json:"in_from"` // a directory in the quarantine
	In     []string `json:"in"`      // what lies in it and moves
	Undoes bool     `json:"undoes"`  // it undoes the repair
}

func switchPath(store string) string { return filepath.Join(store, quarantineName, "switch.json") }

// newSwitch is the switch for all files of a store. The directories are in the quarantine of that number.
func newSwitch(store string, number int, outTo, inFrom string) (s fileSwitch, err error) {
	s = fileSwitch{Repair: number, OutTo: outTo, InFrom: inFrom}
	if s.Out, err = topNames(store); err != nil {
		return s, err
	}
	s.In, err = topNames(filepath.Join(quarantinePath(store, number), inFrom))
	return s, err
}

// topNames are the files of a store, and the directories with such.
func topNames(dir string) (tops []string, err error) {
	names, err := storeFiles(dir)
	return topsOf(names), err
}

// topsOf are what files lie in that are named relative to a directory, or themselves.
func topsOf(names []string) (tops []string) {
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		tops = append(tops, top)
	}
	slices.Sort(tops)
	return slices.Compact(tops)
}

// begin writes the switch down, and carries it out. It writes it by way of the directory of the store: where files cannot move
// from there to the quarantine, the switch is not begun.
func (s fileSwitch) begin(store string) error {
	if err := durable.SyncDirectory(quarantinePath(store, s.Repair)); err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := storedir.ReplaceFileFrom(store, switchPath(store), text); err != nil {
		return fmt.Errorf("%s: files do not move between it and its directory %s: %w", store, quarantineName, err)
	}
	return s.finish(store)
}

// finish carries out what is left to do. All files go out before the first comes in; so one that is at its new place has
// been moved.
func (s fileSwitch) finish(store string) error {
	path, outTo, inFrom := quarantinePath(store, s.Repair), s.outTo(store), s.inFrom(store)
	if err := os.MkdirAll(outTo, storedir.Mode); err != nil {
		return err
	}
	for _, name := range s.Out {
		if _, err := os.Lstat(filepath.Join(outTo, name)); err == nil {
			continue
		}
		if err := os.Rename(filepath.Join(store, name), filepath.Join(outTo, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(durable.SyncDirectory(outTo), durable.SyncDirectory(path), durable.SyncDirectory(store)); err != nil {
		return err
	}
	for _, name := range s.In {
		to := filepath.Join(store, name)
		err := os.Rename(filepath.Join(inFrom, name), to)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err = os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
				return record.CorruptFile(filepath.Join(inFrom, name), "it is missing, and is not in the store; what the store had before is in %s", outTo)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := durable.SyncDirectory(store); err != nil {
		return err
	}
	if err := s.complete(store); err != nil {
		return err
	}
	if err := os.Remove(switchPath(store)); err != nil {
		return err
	}
	return durable.SyncDirectory(filepath.Join(store, quarantineName))
}

// complete gives files that are put back the modes that they had, and removes the directory that the files came from.
func (s fileSwitch) complete(store string) error {
	if s.Undoes {
		kept, err := readKeptRepair(store, s.Repair)
		if err != nil {
			return err
		}
		for _, f := range kept.Before {
			if err := os.Chmod(filepath.Join(store, f.Name), f.Mode); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(s.inFrom(store))
}

// finishSwitch finishes the switch that was stopped, if there is one, and returns it; nil where there is none. The caller
// holds the lock of the directory.
func finishSwitch(store string) (*fileSwitch, error) {
	s, err := readSwitch(store)
	if err == nil {
		return &s, s.finish(store)
	}
	if errors.Is(err, fs.ErrNotExist) {
		s, err = remakeSwitch(store)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &s, s.begin(store)
}

// readSwitch reads a switch that was begun and not finished; fs.ErrNotExist where there is none.
func readSwitch(store string) (s fileSwitch, err error) {
	text, err := os.ReadFile(switchPath(store))
	if err != nil {
		return s, err
	}
	err = json.Unmarshal(text, &s)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return s, record.CorruptFile(switchPath(store), "%v; remove it and repair the store again: that finds out from the files themselves what is left to do", err)
	}
	return s, nil
}

// check returns an error unless the switch moves files between the store and its quarantine alone: the file may come from
// anybody.
func (s fileSwitch) check() error {
	repair := s.OutTo == beforeName && s.InFrom == afterName && !s.Undoes
	undo := s.OutTo == repairedName && s.InFrom == beforeName && s.Undoes
	if s.Repair < 1 || !repair && !undo {
		return errors.New("it is no switch of a repair")
	}
	for _, name := range slices.Concat(s.Out, s.In) {
		if name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." || name == quarantineName || name == workName {
			return fmt.Errorf("it names %q, which is no file of a store", name)
		}
	}
	return nil
}

// checkSwitched returns ErrCorrupt where a switch was stopped.
func checkSwitched(store string) error {
	_, err := os.Stat(switchPath(store))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = findSwitch(store)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return record.CorruptFile(store, "a repair of it, or the undoing of one, was stopped while files changed places; repair it again, which goes on")
}
