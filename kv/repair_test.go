package kv

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/record"
)

// repaired repairs a store and returns what was done.
func repaired(t *testing.T, dir string) []Correction {
	t.Helper()
	var done []Correction
	_, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil,
		func(m Correction) { done = append(done, m) })
	if err != nil {
		t.Fatalf("repairing: %v, after %v", err, done)
	}
	return done
}

// repairedAgain repairs a repaired store, which stays as it is.
func repairedAgain(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.RemoveAll(dir+BeforeRepair))
	if done := repaired(t, dir); len(done) > 0 {
		t.Errorf("%s: repairing again did %v", dir, done)
	}
}

// exported opens a store in which Check must find nothing, and reads all of it.
func exported(t *testing.T, dir string) uint64 {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	defer closeStore(t, s)
	damagedStores.Delete(dir) // it must be sound
	sum, err := export(s)
	if err != nil {
		t.Errorf("reading after the repair: %v", err)
	}
	return sum
}

func TestRepairLeavesAnUndamagedStoreAlone(t *testing.T) {
	t.Parallel()
	for _, crashed := range []bool{false, true} {
		dir := everyKind(t, 700)
		if crashed {
			s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
			update(t, s, func(tx *Tx) error { return tx.Documents("documents").Put("last", "committed") })
			dir = copyStore(t, dir)
			closeStore(t, s)
		}
		want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
		if done := repaired(t, dir); len(done) > 0 {
			t.Errorf("crashed %t: got %v, want nothing done", crashed, done)
		}
		for _, beside := range []string{dir + BeforeRepair, dir + repairMark} {
			if _, err := os.Stat(beside); err == nil {
				t.Errorf("crashed %t: there is %s", crashed, beside)
			}
		}
		got, err := contentsOf(t, dir)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("crashed %t: the records are others (%v)", crashed, err)
		}
	}
}

func contentsOf(t *testing.T, dir string) (map[string]string, error) {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	defer closeStore(t, s)
	return contents(s)
}

// TestRepairOfOneByte changes one byte of a file: what other data there is then was told of. Only the catalogue
// cannot be rebuilt.
func TestRepairOfOneByte(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	want := exported(t, copyStore(t, dir))
	r := rand.New(rand.NewPCG(3, 4))
	every := longtest.Of(9, 1)
	for i, name := range fileNames(t, dir, "*") {
		if i%every != 0 && strings.HasSuffix(name, ".sst") {
			continue
		}
		for range longtest.Of(1, 3) {
			copied := copyStore(t, dir)
			text := must.Get(os.ReadFile(filepath.Join(copied, name)))(t)
			at := r.IntN(len(text))
			text[at] ^= byte(1 + r.IntN(255))
			must.Do(t, os.WriteFile(filepath.Join(copied, name), text, 0o600))
			damagedStores.Store(copied, true)
			lost, err := Repair(t.Context(), copied, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
			switch {
			case errors.Is(err, ErrCorrupt) && strings.HasSuffix(name, ".sst"):
				if !strings.Contains(strings.ToLower(err.Error()), "restore a backup") {
					t.Errorf("%s with byte %d of %d changed: %v", name, at, len(text), err)
				}
			case err != nil:
				t.Errorf("%s with byte %d of %d changed: %v", name, at, len(text), err)
			default:
				if got := exported(t, copied); got != want && (len(lost) == 0 || !strings.HasSuffix(name, ".sst")) {
					t.Errorf("%s with byte %d of %d changed: other data, and lost %v", name, at, len(text), lost)
				}
				repairedAgain(t, copied)
			}
			must.Do(t, os.RemoveAll(copied))
		}
	}
}

// TestRepairOfRecords takes a record of every kind away; what can be rebuilt is as it was.
func TestRepairOfRecords(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	want := exported(t, copyStore(t, dir))
	derived := []record.Kind{
		record.KindAdjacencyPartition, record.KindEdgeDelta, record.KindDegreeDelta, record.KindIDLookup, record.KindNodeAt,
		record.KindPosition, record.KindAddedNode, record.KindAddedID, record.KindHeader,
	}
	lossy := map[record.Kind]string{
		record.KindAdjacency: "rebuilt from", record.KindArcs: "rebuilt from", // except for edges within the block
		record.KindIDs: "lost-", record.KindColumn: "null", record.KindMatrix: "NaN", record.KindChanges: "forgotten",
		record.KindCounts: "forgotten", // what took them may have taken more
	}
	for _, k := range slices.Concat(derived, slices.Sorted(maps.Keys(lossy))) {
		copied := copyStore(t, dir)
		s := must.Get(Open(copied, Options{MemoryBudget: minMemoryBudget}))(t)
		writeRaw(t, s, firstKey(t, s, k), nil)
		closeStore(t, s)
		done := repaired(t, copied)
		got := exported(t, copied)
		text := lossy[k]
		switch {
		case text == "" && got != want:
			t.Errorf("%s: other data after %v", k.String(), done)
		case text == "" && len(done) == 0, text != "" && !strings.Contains(fmt.Sprint(done), text):
			t.Errorf("%s: done is %v, want %q in it", k.String(), done, text)
		case text != "" && got == want:
			t.Errorf("%s: nothing is lost after %v", k.String(), done)
		}
		must.Do(t, os.RemoveAll(copied))
	}
}

// TestRepairOfALostCatalogue loses the end of Badger's log, with a commit that publishes a matrix: Open tells, and
// Repair takes the catalogue from its copy, so that the matrix is there.
func TestRepairOfALostCatalogue(t *testing.T) {
	t.Parallel()
	s := openStore(t, everyKind(t, 700), Options{})
	update(t, s, func(tx *Tx) error { return tx.Documents("documents").Put("before", "kept") })
	end := logEnd(t, s.Dir())
	writeMatrix(t, s)
	dir := copyStore(t, s.Dir())
	must.Do(t, os.Truncate(onlyLog(t, dir), end))
	damagedStores.Store(dir, true)
	if _, err := Open(dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), "a later catalogue is lost") {
		t.Fatalf("opening: got %v, want ErrCorrupt of a catalogue that is lost", err)
	}
	lost, done := repairLosing(t, dir)
	if lost.String() != "at most 1 commit" || !strings.Contains(done, "is taken from the file catalog") {
		t.Errorf("got %v, lost after %s, want at most 1 commit", lost, done)
	}
	exported(t, dir)
	repairedAgain(t, dir)
	view(t, openStore(t, dir, Options{}), func(tx *Tx) error {
		var text string
		var row [2]float32
		m := must.Get(tx.Matrix("m"))(t)
		err := errors.Join(m.Read(Range{First: 7, End: 8}, 0, 2, row[:]), tx.Documents("documents").Get("before", &text))
		if row != [2]float32{7, 1} || text != "kept" {
			t.Errorf("got the row %v and the document %q", row, text)
		}
		return err
	})
}

// TestRecordsOfALostCatalogue has records newer than the catalogue and its copy: they were committed last,
// and no repair removes them.
func TestRecordsOfALostCatalogue(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 700)
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	var key []byte
	view(t, s, func(tx *Tx) error {
		key = spaceKey(tx.cat.Next, []byte("newer"))
		return nil
	})
	writeRaw(t, s, key, record.Encode(key, []byte("committed")))
	closeStore(t, s)
	_, err := Repair(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}, nil, func(Correction) {})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "a later catalogue is lost") {
		t.Fatalf("got %v, want ErrCorrupt of a catalogue that is lost", err)
	}
}

// TestRepairOfLists damages a block of lists of a graph of several: only edges within the block are lost.
func TestRepairOfLists(t *testing.T) {
	t.Parallel()
	dir := everyKind(t, 6000)
	before := arcsOf(t, copyStore(t, dir))
	for _, k := range []record.Kind{record.KindAdjacency, record.KindArcs} {
		if k == record.KindAdjacency && !longtest.Asked() {
			continue // of these a smaller store loses one in TestRepairOfRecords
		}
		copied := copyStore(t, dir)
		s := must.Get(Open(copied, Options{MemoryBudget: minMemoryBudget}))(t)
		var rng Range
		view(t, s, func(tx *Tx) error {
			d, err := tx.graph().Partition()
			if err == nil && d.Blocks() < 3 {
				t.Fatalf("got %d blocks, want several", d.Blocks())
			}
			rng = d.Range(1)
			key := record.PartKey(record.NumberKey(k, tx.cat.Graph, 1), 0)
			value := rawValue(t, s, key)
			writeRaw(t, s, key, value[:len(value)-1])
			return err
		})
		closeStore(t, s)
		repaired(t, copied)
		exported(t, copied)
		after := arcsOf(t, copied)
		inside := func(v NodeID) bool { return v >= rng.First && v < rng.End }
		lost := 0
		for ends, weight := range before {
			got, there := after[ends]
			switch {
			case there && got != weight:
				t.Errorf("%s: arc %v has weight %v, want %v", k.String(), ends, got, weight)
			case !there && (!inside(ends[0]) || !inside(ends[1])):
				t.Errorf("%s: arc %v is lost, and the block is that of %v", k.String(), ends, rng)
			case !there:
				lost++
			}
			delete(after, ends)
		}
		if len(after) > 0 || lost > len(before)/10 {
			t.Errorf("%s: %d arcs that were not there, %d of %d lost", k.String(), len(after), lost, len(before))
		}
	}
}

// arcsOf are the weights of all arcs of a store.
func arcsOf(t *testing.T, dir string) map[[2]NodeID]float32 {
	t.Helper()
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	defer closeStore(t, s)
	arcs := map[[2]NodeID]float32{}
	view(t, s, func(tx *Tx) error {
		for v, err := range tx.InFileOrder() {
			must.Do(t, err)
			for a, err := range tx.Undirected().Arcs(v) {
				must.Do(t, err)
				if a.Out != 0 {
					arcs[[2]NodeID{v, a.Neighbor}] = a.Out
				}
			}
		}
		return nil
	})
	return arcs
}
