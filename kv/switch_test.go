package kv

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// stopAfter carries out a switch up to so many moves.
func (s *fileSwitch) stopAfter(t *testing.T, store string, moves int) {
	t.Helper()
	outTo, incoming := filepath.Join(s.quarantine, s.outTo), filepath.Join(s.quarantine, incomingName)
	if err := os.MkdirAll(outTo, storedir.Mode); err != nil {
		t.Fatal(err)
	}
	moveSome := func(from, to string) {
		for _, name := range sortedNames(bytesOf(t, from)) {
			if moves == 0 {
				return
			}
			moves--
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	moveSome(store, outTo)
	if moves == 0 {
		return
	}
	if err := os.Rename(filepath.Join(s.quarantine, s.inFrom), incoming); err != nil {
		t.Fatal(err)
	}
	moves--
	moveSome(incoming, store)
}

// stoppedSwitches are copies of a store whose repair, or the undoing of it, was stopped after some moves, by their number.
func stoppedSwitches(t *testing.T, from string, undoes bool) (stopped map[int]string) {
	t.Helper()
	stopped = map[int]string{}
	files := len(bytesOf(t, from))
	for _, moves := range []int{0, 1, files, files + 1, files + 2} {
		stopped[moves] = copyStore(t, from)
		damagedStores.Store(stopped[moves], true)
		newSwitch(stopped[moves], 1, undoes).stopAfter(t, stopped[moves], moves)
	}
	return stopped
}

// beforeSwitch is a store whose repair is complete, but that no file of it has changed places.
func beforeSwitch(t *testing.T) (dir string, before, after map[string]string) {
	t.Helper()
	dir, before = flippedStore(t)
	after = bytesOf(t, dir)
	path := quarantinePath(dir, 1)
	if err := errors.Join(os.Mkdir(filepath.Join(path, afterName), storedir.Mode), moveFiles(dir, filepath.Join(path, afterName)),
		moveFiles(filepath.Join(path, beforeName), dir), os.Remove(filepath.Join(path, beforeName))); err != nil {
		t.Fatal(err)
	}
	return dir, before, after
}

// TestStoppedSwitch stops a repair, and the undoing of one, after some files have changed places. The store does not open; the
// same again comes to the same end, and no file is lost.
func TestStoppedSwitch(t *testing.T) {
	t.Parallel()
	dir, before, after := beforeSwitch(t)
	for moves, dir := range stoppedSwitches(t, dir, false) {
		if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "repair it again") {
			t.Errorf("repair stopped after %d moves: open: got %v, want ErrCorrupt", moves, err)
		}
		if lost, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {}); err != nil || len(lost) > 0 {
			t.Errorf("repair stopped after %d moves: again: lost %v, %v", moves, lost, err)
		}
		if got := bytesOf(t, dir); !maps.Equal(got, after) {
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
	for moves, dir := range stoppedSwitches(t, dir, true) {
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

// TestSwitchOverwritesNothing has a file in both places while a switch is stopped: it is refused, and no file is lost.
func TestSwitchOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir, _, _ := beforeSwitch(t)
	files := len(bytesOf(t, dir))
	for _, moves := range []int{1, files + 2} {
		copied := copyStore(t, dir)
		damagedStores.Store(copied, true)
		s := newSwitch(copied, 1, false)
		s.stopAfter(t, copied, moves)
		from, to := copied, filepath.Join(s.quarantine, s.outTo)
		if s.has(incomingName) {
			from, to = filepath.Join(s.quarantine, incomingName), copied
		}
		const name = "in both"
		if err := errors.Join(os.WriteFile(filepath.Join(from, name), []byte("1"), 0o600), os.WriteFile(filepath.Join(to, name), []byte("2"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, repairing := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		for job, err := range map[string]error{"repair": repairing, "undo": undo(t, copied)} {
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("after %d moves: %s: got %v, want ErrCorrupt that names %q", moves, job, err, name)
			}
		}
		if there, here := bytesOf(t, to)[name], bytesOf(t, from)[name]; there != "2" || here != "1" {
			t.Errorf("after %d moves: got %q and %q, want both files as they were", moves, here, there)
		}
	}
}

// TestForgedSwitch has links to directories elsewhere in a quarantine: nothing of those moves.
func TestForgedSwitch(t *testing.T) {
	t.Parallel()
	for _, linked := range []string{beforeName, incomingName} {
		s := newStore(t, Options{})
		closeStore(t, s)
		want := bytesOf(t, s.Dir())
		victim, path := t.TempDir(), quarantinePath(s.Dir(), 1)
		err := errors.Join(os.WriteFile(filepath.Join(victim, "kept"), nil, 0o600), os.MkdirAll(path, 0o700))
		for _, name := range []string{beforeName, incomingName} {
			if name == linked {
				err = errors.Join(err, os.Symlink(victim, filepath.Join(path, name)))
			} else {
				err = errors.Join(err, os.Mkdir(filepath.Join(path, name), 0o700))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Repair(t.Context(), s.Dir(), Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {}); err != nil {
			t.Errorf("%s: %v", linked, err)
		}
		if there, here := bytesOf(t, victim), bytesOf(t, s.Dir()); len(there) != 1 || !maps.Equal(here, want) {
			t.Errorf("%s: the directory has %q, the store %q", linked, sortedNames(there), sortedNames(here))
		}
	}
}
