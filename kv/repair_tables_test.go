package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A tableStore has several tables, with deletions in them, in the states that its directory had.
type tableStore struct {
	closed  string   // a directory
	crashed string   // a directory as a kill leaves it: its last commits are in a log
	old     [][]byte // manifests that it had before
}

func newLayeredStore(t *testing.T) (m tableStore) {
	t.Helper()
	dir := everyKind(t, 700)
	keepManifest := func() {
		text := must.Get(os.ReadFile(filepath.Join(dir, "MANIFEST")))(t)
		m.old = append(m.old, text)
	}
	keepManifest()
	for session := range 4 {
		s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		must.Do(t, err)
		update(t, s, func(tx *Tx) error {
			return errors.Join(
				tx.Documents("sessions").Put(strconv.Itoa(session), session),
				tx.Documents("deleted").Put(strconv.Itoa(session), session),
				tx.SetLabel(NodeID(session), "relabelled"))
		})
		if session == 1 || session == 3 {
			update(t, s, func(tx *Tx) error {
				return errors.Join(tx.Documents("deleted").Delete(strconv.Itoa(session)),
					tx.Documents("deleted").Delete(strconv.Itoa(session-1)),
					tx.Space("lent").Delete(fmt.Appendf(nil, "key %06d", 100*session)))
			})
		}
		must.Do(t, s.Close())
		keepManifest()
	}
	m.closed = copyStore(t, dir)
	s := must.Get(Open(dir, Options{MemoryBudget: minMemoryBudget}))(t)
	update(t, s, func(tx *Tx) error { return tx.SetLabel(9, "in the log") })
	m.crashed = copyStore(t, dir)
	closeStore(t, s)
	return m
}

// bytesOf are the files of a store, by their paths in it. Of zeros at the end of a file, the text has the number.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := fileNames(t, dir, "*")
	files := map[string]string{}
	for _, name := range names {
		files[name] = textOf(t, filepath.Join(dir, name))
	}
	return files
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	size := must.Get(eachBlock(path, func(at int64, block []byte) error {
		text = append(append(text, make([]byte, int(at)-len(text))...), block...)
		return nil
	}))(t)
	if zeros := size - int64(len(text)); zeros > 0 {
		return fmt.Sprintf("%s and %d zeros", text, zeros)
	}
	return string(text)
}

// A damageCase is a store with damaged files.
type damageCase struct {
	name   string
	dir    string // the store that is damaged, in a copy
	damage func(dir string) error
	whole  bool // nothing is lost
}

// wantRepaired damages a copy of a store and opens it: it is refused, and no table changes, or it has all records, or
// Check finds a problem. It repairs another copy: every record is there, or a loss is told of; every byte is in the
// store or beside it.
func wantRepaired(t *testing.T, c damageCase, want map[string]string) {
	t.Helper()
	damaged := copyStore(t, c.dir)
	defer func() { must.Do(t, os.RemoveAll(damaged)) }()
	must.Do(t, c.damage(damaged))
	before := bytesOf(t, damaged)
	opened := copyStore(t, damaged)
	defer func() { must.Do(t, os.RemoveAll(opened)) }()
	s, err := Open(opened, Options{MemoryBudget: minMemoryBudget})
	switch {
	case err == nil:
		got, reading := contents(s)
		found := 0
		checking := s.Check(t.Context(), nil, func(Problem) { found++ })
		damagedStores.Store(opened, true)
		closeStore(t, s)
		if checking != nil || found == 0 && (reading != nil || !maps.Equal(got, want)) {
			t.Errorf("%s: it opens with %d of %d records (%v), and Check finds nothing (%v)", c.name, len(got), len(want),
				reading, checking)
		}
	case !errors.Is(err, ErrCorrupt):
		t.Errorf("%s: opening: got %v, want ErrCorrupt", c.name, err)
	default:
		after := bytesOf(t, opened)
		for name, text := range before {
			if filepath.Ext(name) == ".sst" && after[name] != text {
				t.Errorf("%s: opening, which failed with %v, removed or changed %s", c.name, err, name)
			}
		}
	}
	var done []Correction
	lost, err := Repair(t.Context(), damaged, Options{MemoryBudget: minMemoryBudget}, nil,
		func(m Correction) { done = append(done, m) })
	if err != nil {
		if c.whole || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: repairing: %v after %v", c.name, err, done)
		}
		if got := bytesOf(t, damaged); !maps.Equal(got, before) {
			t.Errorf("%s: a repair that failed changed files", c.name)
		}
		return
	}
	if fmt.Sprint(lost) != fmt.Sprint(lossesOf(done)) {
		t.Errorf("%s: Repair returns losses %v, and its corrections %v", c.name, lost, lossesOf(done))
	}
	repaired := copyStore(t, damaged)
	defer func() { must.Do(t, os.RemoveAll(repaired)) }()
	got, err := contentsOf(t, repaired)
	if same := maps.Equal(got, want); err != nil || !same && len(lost) == 0 || c.whole && (!same || len(lost) > 0) {
		missing, changed := 0, 0
		for key, value := range want {
			if other, there := got[key]; !there {
				missing++
			} else if other != value {
				changed++
			}
		}
		t.Errorf("%s: of %d records %d are missing and %d changed, now there are %d (%v); lost %v; after %v",
			c.name, len(want), missing, changed, len(got), err, lost, done)
	}
	if len(done) == 0 {
		if got := bytesOf(t, damaged); !maps.Equal(got, before) {
			t.Errorf("%s: nothing was done, and files changed", c.name)
		}
		return
	}
	if kept := bytesOf(t, damaged+BeforeRepair); !maps.Equal(kept, before) {
		t.Errorf("%s: beside the store are %v, want %v", c.name, sortedNames(kept), sortedNames(before))
	}
}

// flipTable changes a byte of the index of a table of a store.
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

// inFile damages one file.
func inFile(name string, change func(text []byte) []byte) func(dir string) error {
	return func(dir string) error {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text = change(text); text == nil {
			return os.Remove(path)
		}
		return os.WriteFile(path, text, 0o600)
	}
}

// TestRepairOfManifest cuts, changes, empties, removes and replaces the manifest of a store that was closed, and of one
// that crashed: no table is lost.
func TestRepairOfManifest(t *testing.T) {
	t.Parallel()
	m := newLayeredStore(t)
	tries := 0
	for _, is := range []struct{ state, dir string }{{"closed", m.closed}, {"crashed", m.crashed}} {
		state, dir := is.state, is.dir
		want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
		info := must.Get(os.Stat(filepath.Join(dir, "MANIFEST")))(t)
		size := int(info.Size())
		try := func(name string, change func(text []byte) []byte) {
			if tries++; !longtest.Asked() && tries%2 == 0 {
				return
			}
			wantRepaired(t, damageCase{state + ", MANIFEST " + name, dir, inFile("MANIFEST", change), true}, want)
		}
		step := longtest.Of(size/5+1, 1)
		for cut := 1; cut <= size; cut += min(step, cut+2) {
			try(fmt.Sprintf("cut by %d of %d bytes", cut, size), func(text []byte) []byte { return text[: size-cut : size-cut] })
		}
		for at := 0; at < size; at += step {
			try(fmt.Sprintf("with byte %d of %d changed", at, size), func(text []byte) []byte {
				text[at] ^= byte(1 + at%255)
				return text
			})
		}
		try("emptied", func([]byte) []byte { return []byte{} })
		try("removed", func([]byte) []byte { return nil })
		try("overwritten", func(text []byte) []byte { return make([]byte, len(text)) })
		for range 2 { // so that each state has it
			try("with bytes behind it", func(text []byte) []byte { return append(text, 1, 2, 3) })
		}
		for i, old := range m.old {
			try(fmt.Sprintf("of %d changes before the last", len(m.old)-i), func([]byte) []byte { return slices.Clone(old) })
		}
	}
}

// TestRepairOfAnEarlierManifest puts the manifest back that a store had before packs were dropped, and a table without
// a name into a closed store: nothing is lost.
func TestRepairOfAnEarlierManifest(t *testing.T) {
	t.Parallel()
	dir := closedStore(t)
	earlier := must.Get(os.ReadFile(filepath.Join(dir, "MANIFEST")))(t)
	s := openStore(t, dir, Options{})
	for range 2 {
		b := must.Get(s.Bulk(context.Background()))(t)
		column := must.Get(b.Column("x", KindInt))(t)
		must.Do(t, errors.Join(column.Put(0, ValueOf(1)), b.Commit(nil)))
	}
	decide(t, s, 0, 3)
	must.Do(t, s.Compact(t.Context(), nil))
	want := must.Get(contents(s))(t)
	closeStore(t, s)
	for name, change := range map[string]func(dir string) error{
		"an earlier manifest": inFile("MANIFEST", func([]byte) []byte { return earlier }),
		"a table twice": func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, fileNames(t, dir, "0*.sst")[0]))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "000099.sst"), text, 0o600))
		},
	} {
		copied := copyStore(t, dir)
		damagedStores.Store(copied, true)
		must.Do(t, change(copied))
		if lost := lossesOf(repaired(t, copied)); len(lost) > 0 {
			t.Errorf("%s: got losses %v, want none", name, lost)
		}
		damagedStores.Delete(copied)
		sameContents(t, name, copied, want)
	}
}

// TestRepairOfTables empties, cuts, removes and changes tables: what is in the others is there, and the loss is told
// of.
func TestRepairOfTables(t *testing.T) {
	t.Parallel()
	m := newLayeredStore(t)
	damages := map[string]func(text []byte) []byte{
		"emptied": func([]byte) []byte { return []byte{} },
		"cut":     func(text []byte) []byte { return text[:len(text)*2/3] },
		"removed": func([]byte) []byte { return nil },
		"overwritten": func(text []byte) []byte {
			clear(text[len(text)/3:][:min(5000, len(text)/3)])
			return text
		},
	}
	for state, dir := range map[string]string{"closed": m.closed, "crashed": m.crashed} {
		want := must.Get(contentsOf(t, copyStore(t, dir)))(t)
		for i, name := range fileNames(t, dir, "*.sst") {
			for j, damage := range sortedNames(damages) {
				if !longtest.Asked() && (i+j)%len(damages) > 0 { // each table in one way
					continue
				}
				change := damages[damage]
				wantRepaired(t, damageCase{state + ", " + name + " " + damage, dir, inFile(name, change), false}, want)
			}
		}
	}
}

// lossesOf sums up what corrections, in their order, lost for good.
func lossesOf(corrections []Correction) (lost Losses) {
	for _, m := range corrections {
		lost.AddAll(m.Lost)
	}
	return lost
}
