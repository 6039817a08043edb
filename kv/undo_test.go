package kv

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// flippedStore is a store of which one byte was changed, repaired, and its files before that.
func flippedStore(t *testing.T) (dir string, before map[string]string) {
	t.Helper()
	dir = everyKind(t, 50)
	flipTable(t, dir)
	before = bytesOf(t, dir)
	repaired(t, dir)
	return dir, before
}

func flipTable(t *testing.T, dir string) {
	t.Helper()
	if err := flipIndex(filepath.Join(dir, fileNames(t, dir, "*.sst")[0])); err != nil {
		t.Fatal(err)
	}
}

// flipIndex changes a byte of the index of a table, which ends some 20 bytes before the file.
func flipIndex(table string) error {
	info, err := os.Stat(table)
	if err != nil {
		return err
	}
	return flipByte(table, info.Size()-30)
}

func undo(t *testing.T, dir string) error {
	t.Helper()
	return UndoRepair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil)
}

// TestUndoRepairOfWrittenStore refuses to undo a repair after which the store was written to, and says how many commits
// would be lost. That it was opened is no reason.
func TestUndoRepairOfWrittenStore(t *testing.T) {
	t.Parallel()
	dir, before := flippedStore(t)
	written := copyStore(t, dir)
	openedToo := copyStore(t, dir)
	s, err := Open(written, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		update(t, s, func(tx *Tx) error { return tx.SetLabel(1, "since "+strconv.Itoa(i)) })
	}
	if err := undo(t, written); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is open: got %v, want ErrLocked", err)
	}
	closeStore(t, s)
	if err := undo(t, written); !errors.Is(err, ErrWrittenSince) || !strings.Contains(err.Error(), "its last 3 commits") {
		t.Errorf("written to since: got %v, want ErrWrittenSince of 3 commits", err)
	}
	s, err = Open(written, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	view(t, s, func(tx *Tx) error {
		value, err := tx.Value(1, LabelColumn)
		if err == nil && value.Str() != "since 2" {
			t.Errorf("after undoing was refused: got label %v", value)
		}
		return err
	})
	closeStore(t, s)
	undoWritten(t, written, before)
	s, err = Open(openedToo, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.db.Badger().Flatten(1), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := undo(t, openedToo); err != nil {
		t.Errorf("opened and merged since: got %v", err)
	}
	if got := bytesOf(t, openedToo); !maps.Equal(got, before) {
		t.Errorf("opened since: got files %v, want %v", sortedNames(got), sortedNames(before))
	}
}

// undoWritten undoes the repair of a store that has three commits since, with consent and without. They are in the quarantine
// afterwards, as a store.
func undoWritten(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	refusal := errors.New("refusal")
	asked := uint64(0)
	undoIf := func(answer error) error {
		return UndoRepair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, func(commits uint64) error {
			asked = commits
			return answer
		})
	}
	if err := undoIf(refusal); !errors.Is(err, refusal) || asked != 3 {
		t.Errorf("refused: got %v, asked about %d commits, want the refusal about 3", err, asked)
	}
	if err := undoIf(nil); err != nil {
		t.Fatalf("agreed: got %v", err)
	}
	if got := bytesOf(t, dir); !maps.Equal(got, before) {
		t.Errorf("agreed: got files %v, want %v", sortedNames(got), sortedNames(before))
	}
	s, err := Open(filepath.Join(dir, quarantineName, "1", repairedName), Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	view(t, s, func(tx *Tx) error {
		value, err := tx.Value(1, LabelColumn)
		if err == nil && value.Str() != "since 2" {
			t.Errorf("set aside: got label %v, want the last that was written", value)
		}
		return err
	})
}

// TestUndoRepairs undoes two repairs, the last one first. There is then none to undo, and what the store was in between is
// in the quarantine.
func TestUndoRepairs(t *testing.T) {
	t.Parallel()
	dir, first := flippedStore(t)
	between := bytesOf(t, dir)
	flipTable(t, dir)
	second := bytesOf(t, dir)
	repaired(t, dir)
	last, err := LastRepair(dir)
	if err != nil || last.Number != 2 || last.Files != len(second) {
		t.Errorf("got %+v, %v, want number 2 and %d files", last, err, len(second))
	}
	if err := undo(t, dir); err != nil {
		t.Fatal(err)
	}
	if got := bytesOf(t, dir); !maps.Equal(got, second) {
		t.Errorf("after the first: got files %v, want %v", sortedNames(got), sortedNames(second))
	}
	for name, text := range between { // the damage is one that a repair does not get
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := undo(t, dir); err != nil {
		t.Fatal(err)
	}
	if got := bytesOf(t, dir); !maps.Equal(got, first) {
		t.Errorf("after the second: got files %v, want %v", sortedNames(got), sortedNames(first))
	}
	if got := bytesOf(t, filepath.Join(dir, quarantineName, "1", repairedName)); !maps.Equal(got, between) {
		t.Errorf("in the quarantine: got files %v, want %v", sortedNames(got), sortedNames(between))
	}
	if err := undo(t, dir); !errors.Is(err, ErrNoRepair) {
		t.Errorf("once more: got %v, want ErrNoRepair", err)
	}
}

// TestUndoRepairOfDamagedQuarantine refuses to put back a file that was changed in the quarantine.
func TestUndoRepairOfDamagedQuarantine(t *testing.T) {
	t.Parallel()
	dir, _ := flippedStore(t)
	now := bytesOf(t, dir)
	name := fileNames(t, dir, "*.sst")[1]
	if err := inFile(name, func(text []byte) []byte { return text[1:] })(filepath.Join(dir, quarantineName, "1", beforeName)); err != nil {
		t.Fatal(err)
	}
	if err := undo(t, dir); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v, want ErrCorrupt that names %s", err, name)
	}
	if got := bytesOf(t, dir); !maps.Equal(got, now) {
		t.Error("files of the store changed")
	}
}

// TestLosses damages records that cannot be rebuilt, and counts what is lost.
func TestLosses(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	for _, test := range []struct {
		kind record.Kind
		want string
	}{
		{record.KindIDs, "256 ids"}, {record.KindDocument, "1 document"}, {record.KindSpace, "1 entry of space lent"},
		{record.KindRowDelta, "at most 1 row of matrix m"}, {record.KindIDLookup, "nothing"}, {record.KindAdjacencyDirectory, "nothing"},
	} {
		copied := copyStore(t, dir)
		s, err := Open(copied, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatal(err)
		}
		key := firstKey(t, s, test.kind)
		value := []byte(strings.Clone(string(rawValue(t, s, key))))
		value[len(value)-1] ^= 1
		writeRaw(t, s, key, value)
		damagedStores.Store(copied, true)
		closeStore(t, s)
		lost, err := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
		if err != nil || lost.String() != test.want {
			t.Errorf("%s: lost %q (%v), want %q", test.kind.String(), lost, err, test.want)
		}
	}
	var sum Losses
	for _, loss := range []Loss{{Kind: "edge", Count: 2}, {Kind: "edge", Count: 3, AtMost: true}, {Kind: "entry of space x", Count: UnknownCount}, {Kind: "entry of space x", Count: 1}, {Kind: "id"}} {
		sum.add(loss)
	}
	if got, want := fmt.Sprint(sum), "at most 5 edges, an unknown number of entries of space x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUndoRepairBesideAWriter keeps others from writing while the commits since a repair are counted.
func TestUndoRepairBesideAWriter(t *testing.T) {
	t.Parallel()
	dir, before := flippedStore(t)
	var beside error
	opt := Options{MemoryBudget: minMemoryBudget, Observe: func(e Event) {
		if e.Kind != EventClose {
			return
		}
		var s *Store
		if s, beside = Open(dir, Options{MemoryBudget: minMemoryBudget}); beside == nil {
			closeStore(t, s)
		}
	}}
	s := openStore(t, dir, Options{})
	if err := errors.Join(s.db.Badger().Flatten(1), s.Close()); err != nil { // the files are no longer those that the repair left
		t.Fatal(err)
	}
	if err := UndoRepair(t.Context(), dir, opt, nil); err != nil {
		t.Error(err)
	}
	if !errors.Is(beside, ErrLocked) {
		t.Errorf("another writer: got %v, want ErrLocked", beside)
	}
	if got := bytesOf(t, dir); !maps.Equal(got, before) {
		t.Errorf("got files %v, want %v", sortedNames(got), sortedNames(before))
	}
}

// TestSwitchMissesAFile deletes a file from the quarantine after a kill, before it was put in its place.
func TestSwitchMissesAFile(t *testing.T) {
	t.Parallel()
	dir, _ := flippedStore(t)
	newSwitch(dir, 1, true).stopAfter(t, dir, 1)
	damagedStores.Store(dir, true)
	name := fileNames(t, dir, "*.sst")[0]
	if err := os.Remove(filepath.Join(quarantinePath(dir, 1), beforeName, name)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := undo(t, dir); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want ErrCorrupt that names %s", err, name)
		}
	}
}
