package quarantine

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
)

// TestUndo undoes a repair: every file has its contents and its mode again.
func TestUndo(t *testing.T) {
	t.Parallel()
	store, before, after := repairedStore(t)
	path := pathOf(store, 1)
	wantFiles(t, "repaired", filepath.Join(path, beforeName), before)
	for name, want := range map[string]string{
		reportName:  `{"Done":"rebuilt"}` + "\n",
		recordsName: `{"key":"0102","record":"a record","value":"dmFsdWU="}` + "\n",
	} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
	}
	size := int64(0)
	for _, text := range before {
		size += int64(len(text))
	}
	if last, err := Last(store); err != nil || last != (RepairToUndo{Number: 1, Files: len(before), Bytes: size}) {
		t.Errorf("got %+v, %v, want repair 1 of %d files and %d bytes", last, err, len(before), size)
	}
	must.Do(t, undo(store))
	wantFiles(t, "undone", store, before)
	wantFiles(t, "undone", filepath.Join(path, repairedName), after)
	for name := range before {
		if info, err := os.Stat(filepath.Join(store, name)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: got mode %v, %v, want 0640", name, info.Mode(), err)
		}
	}
	if err := undo(store); !errors.Is(err, ErrNoRepair) {
		t.Errorf("once more: got %v, want ErrNoRepair", err)
	}
	if _, err := Last(store); !errors.Is(err, ErrNoRepair) {
		t.Errorf("once more: got %v, want ErrNoRepair", err)
	}
}

// TestUndoOfChangedStore says that a store was changed since its repair, and undoes the repair with consent alone. The mark
// of a process that writes is no change.
func TestUndoOfChangedStore(t *testing.T) {
	t.Parallel()
	store, before, after := repairedStore(t)
	refusal := errors.New("refusal")
	for name, want := range map[string]bool{storedir.LockFile: false, "4.sst": true} {
		path := filepath.Join(store, name)
		must.Do(t, os.WriteFile(path, []byte("since"), 0o600))
		err := Undo(store, func(_ uint64, changed bool) error {
			if changed != want {
				t.Errorf("%s: got changed %t, want %t", name, changed, want)
			}
			return refusal
		})
		must.Do(t, errors.Join(os.Remove(path)))
		if !errors.Is(err, refusal) {
			t.Errorf("%s: got %v, want the refusal", name, err)
		}
	}
	wantFiles(t, "refused", store, after)
	after["4.sst"] = "since"
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(store, "4.sst"), []byte("since"), 0o600), Undo(store, func(uint64, bool) error { return nil })))
	wantFiles(t, "agreed", store, before)
	wantFiles(t, "agreed", filepath.Join(pathOf(store, 1), repairedName), after)
}

// TestUndoOfDamagedQuarantine refuses to put back files if one was changed in the quarantine, or if the inventory was, which
// may name files that are in no store.
func TestUndoOfDamagedQuarantine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"before/1.sst", repairName} {
		for what, damage := range map[string]func(path string) error{
			"changed": func(path string) error { return os.WriteFile(path, []byte(`{"before":[{"name":"../x"}]}`), 0o600) },
			"cut":     func(path string) error { return os.Truncate(path, 3) },
		} {
			store, _, after := repairedStore(t)
			must.Do(t, damage(filepath.Join(pathOf(store, 1), name)))
			if err := undo(store); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: got %v, want ErrCorrupt that names it", name, what, err)
			}
			wantFiles(t, name+" "+what, store, after)
		}
	}
}

// TestDiscard discards a repair: nothing is left of it. The next repair also removes the copy of one that was killed.
func TestDiscard(t *testing.T) {
	t.Parallel()
	store, files := newStore(t)
	d, err := Begin(store)
	if err == nil {
		err = errors.Join(d.Fill(0, func(int64, int64) {}), d.Discard())
	}
	must.Do(t, err)
	if _, err := os.Stat(filepath.Join(store, storedir.QuarantineName)); err == nil {
		t.Error("the quarantine is still there")
	}
	killed, err := Begin(store)
	if err == nil {
		err = errors.Join(killed.Fill(0, func(int64, int64) {}), killed.report.Close(), killed.records.Close())
	}
	must.Do(t, err)
	must.Do(t, errors.Join(repair(store), undo(store)))
	wantFiles(t, "undone", store, files)
	if numbers, err := repairs(store); err != nil || len(numbers) != 1 {
		t.Errorf("got repairs %v, %v, want one", numbers, err)
	}
}

// TestFillOfFullDisk asks for more room than any disk has.
func TestFillOfFullDisk(t *testing.T) {
	t.Parallel()
	if !storedir.HasLocks {
		t.Skip("how much room is free is not known")
	}
	store, files := newStore(t)
	d := must.Get(Begin(store))(t)
	if err := d.Fill(1<<62, func(int64, int64) {}); !errors.Is(err, storedir.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if err := d.Discard(); err != nil {
		t.Error(err)
	}
	if got := filesOf(t, store); !maps.Equal(got, files) {
		t.Error("files of the store changed")
	}
}
