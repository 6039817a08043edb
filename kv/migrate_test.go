package kv

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// unpackKept unpacks a kept store of a format version, and returns its directory and what it was.
func unpackKept(t *testing.T, version int, name string) (dir, description string) {
	t.Helper()
	kept, err := zip.OpenReader(filepath.Join("testdata", fmt.Sprintf("version%d.zip", version)))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	dir = filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range kept.File {
		f, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		switch parent := path.Dir(file.Name); {
		case file.Name == name+".txt":
			description = string(body)
		case parent == name:
			if err := os.WriteFile(filepath.Join(dir, path.Base(file.Name)), body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
	if description == "" {
		t.Fatalf("there is no kept store %s of version %d", name, version)
	}
	return dir, description
}

// TestMigrateKeptStores migrates the kept stores of every earlier format version, and compares all that can be read of
// them with what it was.
func TestMigrateKeptStores(t *testing.T) {
	for version := 1; version < formatVersion; version++ {
		for name := range keptStores {
			t.Run(fmt.Sprintf("%d %s", version, name), func(t *testing.T) {
				dir, want := unpackKept(t, version, name)
				_, err := Open(dir, Options{})
				refused, ok := errors.AsType[*VersionError](err)
				if !ok || refused.Got != version || !strings.Contains(err.Error(), "an older graphcleaner wrote it") {
					t.Fatalf("opening it: got %v, want a *VersionError that says what wrote it", err)
				}
				from, to, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget})
				if err != nil || from != version || to != formatVersion {
					t.Fatalf("Migrate: got version %d to %d, %v; want %d to %d", from, to, err, version, formatVersion)
				}
				s := openStore(t, dir, Options{})
				if got := describeStore(t, s); got != want {
					t.Errorf("it is another store than it was:\n%s", difference(got, want))
				}
				checkClean(t, s)
				// It can be written to, by what the format changed too.
				update(t, s, func(tx *Tx) error {
					v, err := tx.AddNode(Node{ID: "after", Label: "after"})
					return errors.Join(err, tx.AddEdge(v, 0))
				})
				checkClean(t, s)
				closeStore(t, s)
				if from, _, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}); err != nil || from != formatVersion {
					t.Errorf("Migrate again: got version %d, %v; want %d", from, err, formatVersion)
				}
			})
		}
	}
}

// difference shows the first lines in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// TestMigrationIsAtomic copies the files of a store at points within a migration, as a crash would leave them: each copy
// is of the old version, and Migrate brings it to the present one.
func TestMigrationIsAtomic(t *testing.T) {
	steps := migrations
	defer func() { migrations = steps }()
	dir, want := unpackKept(t, 1, "plain")
	failure := errors.New("failure")
	var copies []string
	migrations = []func(tx *Tx) error{func(tx *Tx) error {
		copies = append(copies, copyAtRest(t, dir))
		if len(copies) == 1 {
			return failure
		}
		err := splitCatalog(tx)
		copies = append(copies, copyAtRest(t, dir))
		return err
	}, func(tx *Tx) error {
		err := steps[1](tx)
		copies = append(copies, copyAtRest(t, dir))
		return err
	}}
	if _, _, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}); !errors.Is(err, failure) {
		t.Fatalf("got %v, want the failure of the step", err)
	}
	if _, _, err := Migrate(t.Context(), dir, Options{MemoryBudget: minMemoryBudget}); err != nil {
		t.Fatal(err)
	}
	migrations = steps
	for i, crashed := range append(copies, dir) {
		from, _, err := Migrate(t.Context(), crashed, Options{MemoryBudget: minMemoryBudget})
		if want := []int{1, 1, 2, 3, 3}[i]; err != nil || from != want {
			t.Fatalf("copy %d: got version %d, %v; want %d", i, from, err, want)
		}
		s := openStore(t, crashed, Options{})
		if got := describeStore(t, s); got != want {
			t.Errorf("copy %d is another store than it was:\n%s", i, difference(got, want))
		}
		checkClean(t, s)
	}
}

// copyAtRest is copyStore of a store whose files Badger may be merging: it copies until they were the same before and
// after.
func copyAtRest(t *testing.T, dir string) string {
	t.Helper()
	listing := func() (list string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return "" // it has just been deleted
			}
			list += fmt.Sprintf("%s %d\n", entry.Name(), info.Size())
		}
		return list
	}
	for {
		before := listing()
		to := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(to, os.DirFS(dir)); err == nil && before != "" && before == listing() {
			return to
		}
	}
}

func TestMigrateRefuses(t *testing.T) {
	s := newStore(t, Options{})
	dir := s.Dir()
	addNodes(t, s, 3)
	setVersion := func(version int) {
		t.Helper()
		s = openStore(t, dir, Options{})
		update(t, s, func(tx *Tx) error {
			body, err := msgpack.Marshal(header{Version: version, ID: s.ID()})
			return errors.Join(err, tx.put(headerKey(), body))
		})
		closeStore(t, s)
	}
	opt := Options{MemoryBudget: minMemoryBudget}
	if _, _, err := Migrate(t.Context(), dir, opt); !errors.Is(err, ErrLocked) {
		t.Errorf("of an open store: got %v, want ErrLocked", err)
	}
	closeStore(t, s)
	if _, _, err := Migrate(t.Context(), dir, Options{ReadOnly: true}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only: got %v, want ErrReadOnly", err)
	}
	if _, _, err := Migrate(t.Context(), t.TempDir(), opt); !errors.Is(err, ErrNotStore) {
		t.Errorf("an empty directory: got %v, want ErrNotStore", err)
	}
	setVersion(newestVersion + 1)
	if _, _, err := Migrate(t.Context(), dir, opt); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("a newer store: got %v, want a *VersionError that says so", err)
	}
	old, _ := unpackKept(t, 1, "plain")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if from, _, err := Migrate(ctx, old, opt); !errors.Is(err, context.Canceled) || from != 1 {
		t.Errorf("with a context that has ended: got version %d, %v; want 1, context.Canceled", from, err)
	}
}

// TestSmallUpdatesLeaveTheCatalogue compares the commits that wrote the catalogue and the counts last.
func TestSmallUpdatesLeaveTheCatalogue(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	update(t, s, func(tx *Tx) error { return errors.Join(tx.AddEdge(0, 1), tx.SetLabel(0, "a")) })
	versions := func() (catalogue, counts uint64) {
		t.Helper()
		view(t, s, func(*Tx) error {
			latest := s.latest.Load()
			catalogue, counts = latest.version, latest.counts
			return nil
		})
		return catalogue, counts
	}
	for _, test := range []struct {
		name              string
		write             func(tx *Tx) error
		catalogue, counts bool
	}{
		{"a node", func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "added", Label: "a"}); return err }, false, true},
		{"an edge", func(tx *Tx) error { return tx.AddEdge(1, 2) }, false, true},
		{"no edge", func(tx *Tx) error { return tx.RemoveEdge(1, 2) }, false, true},
		{"a label", func(tx *Tx) error { return tx.SetLabel(2, "a") }, false, false},
		{"a new class", func(tx *Tx) error { return tx.SetLabel(2, "b") }, true, true},
		{"a node of a new class", func(tx *Tx) error { _, err := tx.AddNode(Node{ID: "other", Label: "c"}); return err }, true, true},
	} {
		catalogue, counts := versions()
		update(t, s, test.write)
		newCatalogue, newCounts := versions()
		if got := newCatalogue != catalogue; got != test.catalogue {
			t.Errorf("%s: the catalogue was written: %t, want %t", test.name, got, test.catalogue)
		}
		if got := newCounts != counts; got != test.counts {
			t.Errorf("%s: the counts were written: %t, want %t", test.name, got, test.counts)
		}
	}
	checkClean(t, s)
}

// TestCountsAreNotShared has snapshots begun before an Update, in it, and after one that failed.
func TestCountsAreNotShared(t *testing.T) {
	s := newStore(t, Options{})
	addNodes(t, s, 3)
	before := s.Begin()
	defer before.Close()
	failure := errors.New("failure")
	err := s.Update(func(tx *Tx) error {
		if err := tx.AddEdge(0, 1); err != nil {
			return err
		}
		if tx.NumEdges() != 1 || before.NumEdges() != 0 {
			t.Errorf("in the Update: got %d edges, and %d before; want 1 and 0", tx.NumEdges(), before.NumEdges())
		}
		view(t, s, func(other *Tx) error {
			if other.NumEdges() != 0 {
				t.Errorf("beside the Update: got %d edges, want 0", other.NumEdges())
			}
			return nil
		})
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		if tx.NumEdges() != 0 {
			t.Errorf("after one that failed: got %d edges, want 0", tx.NumEdges())
		}
		_, err := tx.AddNode(Node{ID: "added"})
		return err
	})
	if before.NumNodes() != 3 {
		t.Errorf("before: got %d nodes, want 3", before.NumNodes())
	}
	view(t, s, func(tx *Tx) error {
		if tx.NumNodes() != 4 {
			t.Errorf("after: got %d nodes, want 4", tx.NumNodes())
		}
		return nil
	})
}
