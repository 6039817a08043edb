package kv

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestStoppedSwap has a repair stop between its two renames. Who comes next finds the store as it was, unless the
// repair still runs.
func TestStoppedSwap(t *testing.T) {
	t.Parallel()
	from := everyKind(t, 50)
	before := bytesOf(t, from)
	flipTable(t, from)
	damaged := bytesOf(t, from)
	for name, find := range map[string]func(dir string) error{
		"Open": func(dir string) error {
			_, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
			return err
		},
		"Repair": func(dir string) error {
			_, err := repairAndCount(t, dir)
			return err
		},
		"Create": func(dir string) error {
			_, err := Create(dir, Options{MemoryBudget: minMemoryBudget})
			return err
		},
		"NewLoader": func(dir string) error {
			_, err := NewLoader(t.Context(), dir, LoadOptions{})
			return err
		},
	} {
		dir := copyStore(t, from)
		former := dir + BeforeRepair
		must.Do(t, errors.Join(os.Rename(dir, former), os.MkdirAll(dir+repairMark+"/store", storedir.Mode)))
		_, unlock, err := storedir.Lock(former, false)
		must.Do(t, err)
		if err := find(dir); !errors.Is(err, ErrLocked) {
			t.Errorf("%s while the repair runs: got %v, want ErrLocked", name, err)
		}
		must.Do(t, unlock())
		want := ErrExists
		if name == "Open" {
			want = ErrCorrupt
		}
		err = find(dir)
		there := dir // the store as it was
		if name == "Repair" {
			there = former
			must.Do(t, err)
			checkClean(t, openStore(t, dir, Options{}))
		} else if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if !maps.Equal(bytesOf(t, there), damaged) {
			t.Errorf("%s: the store is not as it was", name)
		}
	}
	if maps.Equal(before, damaged) {
		t.Error("nothing was damaged")
	}
}

// TestSecondRepair repairs a store that an earlier repair has left what it was: nothing is done until that is moved.
// A store that is away although nothing was stopped is not there.
func TestSecondRepair(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 50)
	flipTable(t, dir)
	before := bytesOf(t, dir)
	repaired(t, dir)
	_, err := Repair(t.Context(), dir, Options{}, nil, func(Correction) {})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), dir+BeforeRepair) {
		t.Errorf("repairing again: got %v, want ErrExists that names what the first kept", err)
	}
	must.Do(t, os.RemoveAll(dir))
	if _, err := Open(dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no store", err)
	}
	must.Do(t, os.Rename(dir+BeforeRepair, dir)) // undoes it
	if !maps.Equal(bytesOf(t, dir), before) {
		t.Error("the store is not as it was before the repair")
	}
	repaired(t, dir)
	checkClean(t, openStore(t, dir, Options{}))
}
