package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
)

// blockTables makes files of the names that Badger's next tables would have, so that it cannot make them, and returns
// what removes them.
func blockTables(t *testing.T, s *Store, count uint64) (unblock func()) {
	t.Helper()
	var newest uint64
	manifest, cut, err := readManifest(s.dir)
	if err := errors.Join(err, cut); err != nil {
		t.Fatal(err)
	}
	for id := range manifest.Tables {
		newest = max(newest, id)
	}
	var made []string
	for id := newest + 1; id <= newest+count; id++ {
		f, err := os.OpenFile(table.NewFilename(id, s.dir), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		made = append(made, f.Name())
	}
	return func() {
		for _, name := range made {
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
	}
}

// documentSessions is how many times documentStore opens its store: those of the first five are merged.
const documentSessions = 7

// documentStore makes a store of documents, each of which every session writes, with tables of two levels.
func documentStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	s, err := Create(dir, Options{MemoryBudget: minMemoryBudget})
	for session := range documentSessions {
		if session > 0 {
			s, err = Open(dir, Options{MemoryBudget: minMemoryBudget})
		}
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(func(tx *Tx) error {
			for i := range 20 {
				if err := tx.PutDocument("test", fmt.Sprint(i), fmt.Sprint(session, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if session == documentSessions-2 {
			err = errors.Join(err, s.db.Flatten(1))
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// holdsDocuments expects what the last session wrote, in a store that is whole.
func holdsDocuments(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	err = s.View(func(tx *Tx) error {
		for i := range 20 {
			var got string
			if err := tx.Document("test", fmt.Sprint(i), &got); err != nil {
				return err
			}
			if want := fmt.Sprint(documentSessions-1, i); got != want {
				t.Errorf("document %d is %q, want %q", i, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A table that cannot be made while Compact merges loses nothing: not where the store is closed, nor where its process
// is killed instead.
func TestCompactKeepsWhatItCannotMerge(t *testing.T) {
	t.Parallel()
	dir := documentStore(t)
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	unblock := blockTables(t, s, 20)
	if err := s.Compact(t.Context(), nil); !errors.Is(err, ErrFailed) || errors.Is(err, ErrCorrupt) {
		t.Errorf("Compact returned %v, want ErrFailed", err)
	}
	if err := s.View(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("View returned %v, want ErrFailed: what was to be merged cannot be read", err)
	}
	if err := s.Update(func(*Tx) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("Update returned %v, want ErrFailed", err)
	}
	unblock()
	killed := copyStore(t, dir)
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("Close returned %v, want ErrFailed", err)
	}
	for _, dir := range []string{killed, dir} {
		holdsDocuments(t, dir)
		again, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(again.Compact(t.Context(), nil), again.Close()); err != nil {
			t.Error(err)
		}
		holdsDocuments(t, dir)
	}
}

// A merge in the background that loses a table ends reading and writing.
func TestLostTableIsTold(t *testing.T) {
	t.Parallel()
	dir := documentStore(t)
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	blockTables(t, s, 20)
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"View":   s.View(func(*Tx) error { return nil }),
		"Update": s.Update(func(*Tx) error { return nil }),
		"Close":  s.Close(),
	} {
		if !errors.Is(err, ErrFailed) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s returned %v, want ErrFailed and ErrCorrupt", what, err)
		}
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	tables := func(keys ...int) (infos []badger.TableInfo) { // level 1, below zero level 0
		for i, n := range keys {
			infos = append(infos, badger.TableInfo{ID: uint64(10 + i), Level: counted(n > 0), KeyCount: uint32(max(n, -n))})
		}
		return infos
	}
	for _, test := range []struct {
		name  string
		keys  []int
		level int
		made  []badger.TableInfo
		want  int
	}{
		{"nothing to make", nil, 1, nil, 0},
		{"all made", []int{3, 5, 3}, 1, tables(3, 3, 5), 0},
		{"one lacks", []int{3, 5}, 1, tables(3), 5},
		{"one of two that are alike lacks", []int{3, 3}, 1, tables(3), 3},
		{"a flushed memtable is none of a deeper merge", []int{3}, 1, tables(-3), 3},
		{"a flushed memtable beside what was made", []int{3, 4}, 0, tables(-4, 3), 4},
		{"level 0 into itself", []int{3}, 0, tables(-4, -3), 0},
		{"level 0 into itself lacks", []int{3}, 0, tables(-4), 3},
		{"level 0 into itself beside another merge", []int{3}, 0, tables(-3, 5), 0},
	} {
		m := merge{before: map[uint64]bool{1: true}, since: map[uint64]badger.TableInfo{}, keys: test.keys}
		m.see(append([]badger.TableInfo{{ID: 1, Level: 1, KeyCount: 5}}, test.made...))
		if got := m.lacking(test.level); got != test.want {
			t.Errorf("%s: lacking = %d, want %d", test.name, got, test.want)
		}
	}
}

// A table that one merge has made, and another has merged on before the first is told to have ended, was made.
func TestGuardOfMergedOnTables(t *testing.T) {
	t.Parallel()
	dir := documentStore(t)
	s, err := Open(dir, Options{MemoryBudget: minMemoryBudget})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	const first, second = 1000, 1001 // merges that only this test tells of
	g := newMergeGuard(s.failure)
	g.watch(s.db)
	made := s.db.Tables()[0]
	g.makes(first, int(made.KeyCount))
	delete(g.merges[first].before, made.ID) // as if the first merge made it
	g.makes(second, int(made.KeyCount))     // which the second takes
	if err := s.Compact(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.db.Tables(), func(info badger.TableInfo) bool { return info.ID == made.ID }) {
		t.Fatal("the table is still there")
	}
	g.ended(first, made.Level)
	if err := s.failure.err(); err != nil {
		t.Errorf("the store has failed: %v", err)
	}
}

// Merges are undone from the last on, as far back as all that they merged is there.
func TestUndoMerges(t *testing.T) {
	t.Parallel()
	some := documentStore(t)
	manifest, cut, err := readManifest(some)
	if err := errors.Join(err, cut); err != nil {
		t.Fatal(err)
	}
	var whole []byte
	for id := range manifest.Tables {
		if whole, err = os.ReadFile(table.NewFilename(id, some)); err != nil {
			t.Fatal(err)
		}
	}
	create := func(id uint64, level uint32) *pb.ManifestChange {
		return &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE, Level: level}
	}
	remove := func(id uint64) *pb.ManifestChange {
		return &pb.ManifestChange{Id: id, Op: pb.ManifestChange_DELETE}
	}
	sets := [][]*pb.ManifestChange{
		{create(1, 0)}, {create(2, 0)}, {create(3, 0)},
		{create(4, 6), remove(1)},            // a merge
		{create(5, 0)},                       // flushed
		{create(6, 6), remove(4), remove(2)}, // a merge of what the first made
	}
	for _, test := range []struct {
		name  string
		there []uint64 // whole
		cut   []uint64 // to no bytes
		want  map[uint64]uint8
	}{
		{"both complete", []uint64{3, 5, 6}, nil, map[uint64]uint8{3: 0, 5: 0, 6: 6}},
		{"the last one begins to remove", []uint64{2, 3, 5, 6}, nil, map[uint64]uint8{3: 0, 5: 0, 6: 6}},
		{"the last one cuts what it removes", []uint64{2, 3, 5, 6}, []uint64{4}, map[uint64]uint8{3: 0, 5: 0, 6: 6}},
		{"the last one lacks", []uint64{2, 3, 4, 5}, nil, map[uint64]uint8{2: 0, 3: 0, 4: 6, 5: 0}},
		{"both lack", []uint64{1, 2, 3, 4, 5, 6}, nil, map[uint64]uint8{1: 0, 2: 0, 3: 0, 5: 0}},
		{"the first is kept for no reason", []uint64{1, 3, 5, 6}, nil, map[uint64]uint8{3: 0, 5: 0, 6: 6}},
	} {
		dir := t.TempDir()
		first, err := manifestText(&pb.ManifestChangeSet{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, badger.ManifestFilename), first, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, changes := range sets {
			if err := appendManifest(dir, &pb.ManifestChangeSet{Changes: changes}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range test.there {
			if err := os.WriteFile(table.NewFilename(id, dir), whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range test.cut {
			if err := os.WriteFile(table.NewFilename(id, dir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // a second time does nothing
			if err := undoMerges(dir); err != nil {
				t.Fatal(err)
			}
			got, cut, err := readManifest(dir)
			if err := errors.Join(err, cut); err != nil {
				t.Fatal(err)
			}
			levels := map[uint64]uint8{}
			for id, named := range got.Tables {
				levels[id] = named.Level
			}
			if fmt.Sprint(levels) != fmt.Sprint(test.want) {
				t.Errorf("%s: the manifest names %v, want %v", test.name, levels, test.want)
			}
		}
	}
}
