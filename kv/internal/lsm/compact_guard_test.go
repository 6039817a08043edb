package lsm

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

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

func TestLacking(t *testing.T) {
	t.Parallel()
	level := func(n int) int {
		if n > 0 {
			return 1
		}
		return 0
	}
	tables := func(keys ...int) (infos []badger.TableInfo) { // level 1, below zero level 0
		for i, n := range keys {
			infos = append(infos, badger.TableInfo{ID: uint64(10 + i), Level: level(n), KeyCount: uint32(max(n, -n))})
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
	dir := sessions(t, 5)
	d := openTest(t, dir)
	must.Do(t, d.Flatten())
	set(t, d, 20, "last")
	closeTest(t, d) // with tables of two levels
	d = openTest(t, dir)
	defer closeTest(t, d)
	const first, second = 1000, 1001 // merges that only this test tells of
	g := newMergeGuard(d.failure)
	g.watch(d.db)
	made := d.db.Tables()[0]
	g.makes(first, int(made.KeyCount))
	delete(g.merges[first].before, made.ID) // as if the first merge made it
	g.makes(second, int(made.KeyCount))     // which the second takes
	must.Do(t, d.Flatten())
	if slices.ContainsFunc(d.db.Tables(), func(info badger.TableInfo) bool { return info.ID == made.ID }) {
		t.Fatal("the table is still there")
	}
	g.done(first, made.Level)
	if err := d.Failed(); err != nil {
		t.Errorf("the store has failed: %v", err)
	}
}

// TestGuardCountsKeysOnce has several merges look at the tables, and expects them to know the keys of each that came, as Badger counts them.
func TestGuardCountsKeysOnce(t *testing.T) {
	t.Parallel()
	d := openTest(t, sessions(t, 5))
	defer closeTest(t, d)
	g := newMergeGuard(d.failure)
	g.watch(d.db)
	const first, second, third = 1000, 1001, 1002 // merges that only this test tells of
	g.makes(first, 0)
	must.Do(t, d.Flatten())
	g.makes(second, 0)
	g.makes(third, 0)
	keys := map[uint64]uint32{}
	for _, info := range d.db.Tables() {
		keys[info.ID] = info.KeyCount
	}
	since := g.merges[first].since
	if len(since) == 0 || len(g.merges[third].since) > 0 {
		t.Fatalf("got %d and %d tables that came, want some and none", len(since), len(g.merges[third].since))
	}
	for id, info := range since {
		if info.KeyCount == 0 || info.KeyCount != keys[id] {
			t.Errorf("table %d: got %d keys, want %d", id, info.KeyCount, keys[id])
		}
	}
	for _, who := range []int{first, second, third} {
		g.done(who, 1)
	}
}

// A merge that is complete keeps its tables while another runs.
func TestGuardKeepsForOthers(t *testing.T) {
	t.Parallel()
	d := openTest(t, sessions(t, 1))
	defer closeTest(t, d)
	const first, second = 1000, 1001 // merges that only this test tells of
	g := newMergeGuard(d.failure)
	g.watch(d.db)
	g.makes(first, 0)
	g.makes(second, 0)
	g.done(first, 1)
	if len(g.ended) != 1 {
		t.Errorf("%d merges have ended and are kept, want 1", len(g.ended))
	}
	g.done(second, 1)
	if len(g.ended) != 0 {
		t.Errorf("%d merges are kept, want none", len(g.ended))
	}
}

// Merges are undone from the last on, as far back as all that they merged is there.
func TestUndoMerges(t *testing.T) {
	t.Parallel()
	some := sessions(t, 1)
	manifest, cut, err := readManifest(some)
	must.Do(t, errors.Join(err, cut))
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
		first := must.Get(manifestText(&pb.ManifestChangeSet{}))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, badger.ManifestFilename), first, 0o600))
		for _, changes := range sets {
			must.Do(t, appendManifest(dir, &pb.ManifestChangeSet{Changes: changes}))
		}
		for _, id := range test.there {
			must.Do(t, os.WriteFile(table.NewFilename(id, dir), whole, 0o600))
		}
		for _, id := range test.cut {
			must.Do(t, os.WriteFile(table.NewFilename(id, dir), nil, 0o600))
		}
		for range 2 { // a second time does nothing
			must.Do(t, undoMerges(dir))
			got, cut, err := readManifest(dir)
			must.Do(t, errors.Join(err, cut))
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
