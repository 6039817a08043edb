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

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
	"github.com/graphcleaner/graphcleaner/kv/internal/storedir"
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
	must.Do(t, flipIndex(filepath.Join(dir, fileNames(t, dir, "*.sst")[0])))
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
	s := must.Get(Open(written, Options{MemoryBudget: minMemoryBudget}))(t)
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
	s = must.Get(Open(written, Options{MemoryBudget: minMemoryBudget}))(t)
	view(t, s, func(tx *Tx) error {
		value, err := tx.Value(1, LabelColumn)
		if err == nil && value.Str() != "since 2" {
			t.Errorf("after undoing was refused: got label %v", value)
		}
		return err
	})
	closeStore(t, s)
	undoWritten(t, written, before)
	s = must.Get(Open(openedToo, Options{MemoryBudget: minMemoryBudget}))(t)
	must.Do(t, errors.Join(s.db.Badger().Flatten(1), s.Close()))
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
	s := must.Get(Open(inQuarantine(dir, "repaired"), Options{MemoryBudget: minMemoryBudget}))(t)
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
	between, whole := bytesOf(t, dir), copyStore(t, dir)
	flipTable(t, dir)
	second := bytesOf(t, dir)
	repaired(t, dir)
	last, err := LastRepair(dir)
	if err != nil || last.Number != 2 || last.Files != len(second) {
		t.Errorf("got %+v, %v, want number 2 and %d files", last, err, len(second))
	}
	must.Do(t, undo(t, dir))
	if got := bytesOf(t, dir); !maps.Equal(got, second) {
		t.Errorf("after the first: got files %v, want %v", sortedNames(got), sortedNames(second))
	}
	for name := range between { // the damage is one that a repair does not get
		text, err := os.ReadFile(filepath.Join(whole, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		must.Do(t, err)
	}
	must.Do(t, undo(t, dir))
	if got := bytesOf(t, dir); !maps.Equal(got, first) {
		t.Errorf("after the second: got files %v, want %v", sortedNames(got), sortedNames(first))
	}
	if got := bytesOf(t, inQuarantine(dir, "repaired")); !maps.Equal(got, between) {
		t.Errorf("in the quarantine: got files %v, want %v", sortedNames(got), sortedNames(between))
	}
	if err := undo(t, dir); !errors.Is(err, ErrNoRepair) {
		t.Errorf("once more: got %v, want ErrNoRepair", err)
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
		{record.KindIDs, "251 ids"}, {record.KindDocument, "1 document"}, {record.KindSpace, "1 entry of space lent"}, // 5 of 256 are of removed nodes
		{record.KindRowDelta, "at most 1 row of matrix m"}, {record.KindIDLookup, "nothing"}, {record.KindAdjacencyDirectory, "nothing"},
	} {
		copied := copyStore(t, dir)
		s := must.Get(Open(copied, Options{MemoryBudget: minMemoryBudget}))(t)
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

// inQuarantine is the path of a directory in the quarantine of the first repair of a store.
func inQuarantine(dir, name string) string {
	return filepath.Join(dir, storedir.QuarantineName, "1", name)
}

// moveFiles moves up to so many files from a directory to another, and returns how many moves are left.
func moveFiles(t *testing.T, from, to string, moves int) int {
	t.Helper()
	for _, name := range sortedNames(bytesOf(t, from)) {
		if moves == 0 {
			break
		}
		moves--
		must.Do(t, os.Rename(filepath.Join(from, name), filepath.Join(to, name)))
	}
	return moves
}

// stoppedExchanges are copies of a store whose repair, or the undoing of it, was stopped after some moves, by their number. The
// files of the store move to outTo. Then inFrom is renamed to incoming, and its files move into the store.
func stoppedExchanges(t *testing.T, from, outTo, inFrom string) (stopped map[int]string) {
	t.Helper()
	stopped = map[int]string{}
	files := len(bytesOf(t, from))
	for _, moves := range []int{0, 1, files, files + 1, files + 2} {
		dir := copyStore(t, from)
		damagedStores.Store(dir, true)
		stopped[moves] = dir
		must.Do(t, os.MkdirAll(inQuarantine(dir, outTo), storedir.Mode))
		rest := moveFiles(t, dir, inQuarantine(dir, outTo), moves)
		if rest == 0 {
			continue
		}
		incoming := inQuarantine(dir, "incoming")
		must.Do(t, os.Rename(inQuarantine(dir, inFrom), incoming))
		moveFiles(t, incoming, dir, rest-1)
	}
	return stopped
}

// beforeExchange is a store whose repair is complete, but that no file of it has changed places.
func beforeExchange(t *testing.T) (dir string, before, after map[string]string) {
	t.Helper()
	dir, before = flippedStore(t)
	after = bytesOf(t, dir)
	must.Do(t, os.Mkdir(inQuarantine(dir, "after"), storedir.Mode))
	moveFiles(t, dir, inQuarantine(dir, "after"), -1)
	moveFiles(t, inQuarantine(dir, "before"), dir, -1)
	must.Do(t, os.Remove(inQuarantine(dir, "before")))
	return dir, before, after
}

// TestStoppedSwitch stops a repair, and the undoing of one, after some files have changed places. The store does not open; the
// same again comes to the same end, and no file is lost.
func TestStoppedSwitch(t *testing.T) {
	t.Parallel()
	dir, before, after := beforeExchange(t)
	for moves, dir := range stoppedExchanges(t, dir, "before", "after") {
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
	for moves, dir := range stoppedExchanges(t, dir, "repaired", "before") {
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
