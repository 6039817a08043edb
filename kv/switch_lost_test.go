package kv

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// stopAfter carries out a switch up to so many moves, and leaves no file that describes it.
func (s fileSwitch) stopAfter(t *testing.T, store string, moves int) {
	t.Helper()
	if err := os.MkdirAll(s.outTo(store), storedir.Mode); err != nil {
		t.Fatal(err)
	}
	move := func(names []string, from, to string) {
		for _, name := range names {
			if moves == 0 {
				return
			}
			moves--
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	move(s.Out, store, s.outTo(store))
	move(s.In, s.inFrom(store), store)
}

// lostSwitches are copies of a store whose repair, or the undoing of it, was stopped after some moves, by their number.
func lostSwitches(t *testing.T, from, outTo, inFrom string) (stopped map[int]string) {
	t.Helper()
	s, err := newSwitch(from, 1, outTo, inFrom)
	if err != nil {
		t.Fatal(err)
	}
	stopped = map[int]string{}
	for _, moves := range []int{0, 1, len(s.Out), len(s.Out) + 1} {
		stopped[moves] = copyStore(t, from)
		damagedStores.Store(stopped[moves], true)
		s.stopAfter(t, stopped[moves], moves)
	}
	return stopped
}

// beforeSwitch is a store whose repair is complete, but that no file of it has changed places.
func beforeSwitch(t *testing.T) (dir string, before, after map[string]string) {
	t.Helper()
	dir, before = flippedStore(t)
	after = bytesOf(t, dir)
	back, err := newSwitch(dir, 1, afterName, beforeName)
	if err != nil {
		t.Fatal(err)
	}
	back.stopAfter(t, dir, len(back.Out)+len(back.In))
	if err := os.Remove(back.inFrom(dir)); err != nil {
		t.Fatal(err)
	}
	return dir, before, after
}

// TestLostSwitch stops a repair, and the undoing of one, after some files have changed places, and takes away the file that
// describes the switch. The store does not open; the same again comes to the same end, and no file is lost.
func TestLostSwitch(t *testing.T) {
	t.Parallel()
	dir, before, after := beforeSwitch(t)
	for moves, dir := range lostSwitches(t, dir, beforeName, afterName) {
		if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "repair it again") {
			t.Errorf("repair stopped after %d moves: open: got %v, want ErrCorrupt", moves, err)
		}
		if lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Mend) {}); err != nil || len(lost) > 0 {
			t.Errorf("repair stopped after %d moves: again: lost %v, %v", moves, lost, err)
		}
		if got := bytesOf(t, dir); moves > 0 && !maps.Equal(got, after) {
			t.Errorf("repair stopped after %d moves: got files %v, want %v", moves, sortedNames(got), sortedNames(after))
		}
		if err := undo(t, dir); err != nil {
			t.Errorf("repair stopped after %d moves: undoing: %v", moves, err)
		}
		if got := bytesOf(t, dir); !maps.Equal(got, before) {
			t.Errorf("repair stopped after %d moves: undone: got files %v, want %v", moves, sortedNames(got), sortedNames(before))
		}
	}
	repaired(t, dir)
	for moves, dir := range lostSwitches(t, dir, repairedName, beforeName) {
		if last, err := LastRepair(dir); err != nil || last.Number != 1 {
			t.Errorf("undoing stopped after %d moves: got %+v, %v, want repair 1", moves, last, err)
		}
		if err := undo(t, dir); err != nil {
			t.Errorf("undoing stopped after %d moves: again: %v", moves, err)
		}
		if got := bytesOf(t, dir); !maps.Equal(got, before) {
			t.Errorf("undoing stopped after %d moves: got files %v, want %v", moves, sortedNames(got), sortedNames(before))
		}
	}
}

// TestLostSwitchIsInDoubt changes files of a repair that was stopped: nothing is moved, and nothing removed.
func TestLostSwitchIsInDoubt(t *testing.T) {
	t.Parallel()
	dir, old, repaired := beforeSwitch(t)
	s, err := newSwitch(dir, 1, beforeName, afterName)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.IndexFunc(s.In, func(name string) bool { return old[name] != "" && old[name] != repaired[name] })
	if changed < 0 {
		t.Fatal("the repair changed no file")
	}
	s.stopAfter(t, dir, len(s.Out)+changed+1)
	damagedStores.Store(dir, true)
	for name, damage := range map[string]func(dir string) error{
		"an old file is missing": func(dir string) error { return os.Remove(filepath.Join(s.outTo(dir), "MANIFEST")) },
		"a new file is changed":  func(dir string) error { return os.WriteFile(filepath.Join(s.inFrom(dir), "MANIFEST"), nil, 0o600) },
		"an old file is back": func(dir string) error {
			return os.Rename(filepath.Join(s.outTo(dir), s.In[changed]), filepath.Join(dir, s.In[changed]))
		},
		"another file": func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o600), os.WriteFile(filepath.Join(s.outTo(dir), "x"), nil, 0o600))
		},
		"no record of it": func(dir string) error { return os.Remove(filepath.Join(quarantinePath(dir, 1), repairFile)) },
	} {
		copied := copyStore(t, dir)
		if err := damage(copied); err != nil {
			t.Fatal(err)
		}
		files := func() map[string]string {
			all := bytesOf(t, copied)
			maps.Copy(all, bytesOf(t, s.outTo(copied)))
			for name, text := range bytesOf(t, s.inFrom(copied)) {
				all["in/"+name] = text
			}
			return all
		}
		before := files()
		_, repairing := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Mend) {})
		for job, err := range map[string]error{"repair": repairing, "undo": undo(t, copied)} {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %s: got %v, want ErrCorrupt", name, job, err)
			}
		}
		if now := files(); !maps.Equal(now, before) {
			t.Errorf("%s: got files %v, want %v", name, sortedNames(now), sortedNames(before))
		}
	}
}
