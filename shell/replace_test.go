package shell

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// From the question to the swap nobody can open the old store to write, and afterwards the new one is at its place.
func TestReplaceHoldsTheStore(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "real", "--nodes", "nodes.csv", "--edges", "edges.csv")
	must.Do(t, os.Symlink("real", "g"))
	id := storeID(t, "real")
	must.Do(t, (&importCommand{DB: "real"}).withStoreHeld(t.Context(), nil, func(*kv.Store) error {
		if _, err := openStore("real", kv.Options{MemoryBudget: 1}); !errors.Is(err, kv.ErrLocked) {
			t.Errorf("a writer while the store is being replaced: got %v, want it locked", err)
		}
		return nil
	}))
	before := listDir(t)
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace", "--yes")
	if after := listDir(t); !slices.Equal(after, before) {
		t.Errorf("left behind: %v, want %v", after, before)
	}
	if target, err := os.Readlink("g"); err != nil || target != "real" {
		t.Errorf("the link to the store: got %q, %v, want real", target, err)
	}
	if storeID(t, "g") == id {
		t.Error("replaced: got the store that was there before")
	}
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(*kv.Store) error {
		got := run(t, "", "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace", "--yes", "--wait", "0s")
		if want := "only a store that nobody writes to can be replaced"; got.code != exitFailed ||
			!strings.Contains(got.err, want) {
			t.Errorf("replacing an open store: got exit code %d and %s, want %s", got.code, got.err, want)
		}
		return nil
	}))
}

// Whatever a killed process left is cleared away by the next import, and the old store brought back where it is needed.
func TestReplaceRecovers(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	id := storeID(t, "g")
	before := listDir(t)
	splits := []string{"import", "g", "--splits", "s.csv"}
	must.Do(t, os.WriteFile("s.csv", []byte("id,split\na,train\n"), 0o600))
	before = append(before, "s.csv")
	for name, leave := range map[string]func() error{
		"killed while loading":   func() error { return os.MkdirAll("g.replacing/new/store.loading-1-2", 0o700) },
		"killed before the swap": func() error { return os.CopyFS("g.replacing/new/store", os.DirFS("g")) },
		"killed between two renames": func() error {
			return errors.Join(os.MkdirAll("g.replacing/new", 0o700), os.Rename("g", "g.replacing/old"))
		},
	} {
		must.Do(t, errors.Join(os.Mkdir("g.replacing", 0o700), os.WriteFile("g.replacing/mark", nil, 0o600), leave()))
		mustRun(t, "stats", "g")
		if got := storeID(t, "g"); got != id {
			t.Errorf("%s: before the next import: got store %s, want %s", name, got, id)
		}
		mustRun(t, splits...)
		if after := listDir(t); !slices.Equal(after, before) {
			t.Errorf("%s: left behind: %v, want %v", name, after, before)
		}
		if got := storeID(t, "g"); got != id {
			t.Errorf("%s: got store %s, want %s", name, got, id)
		}
	}

	must.Do(t, errors.Join(os.MkdirAll("g.replacing/old", 0o700), os.WriteFile("g.replacing/old/mine.txt", nil, 0o600)))
	mustRun(t, splits...)
	got := run(t, "", "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace", "--yes")
	if got.code != exitFailed || !strings.Contains(got.err, "g.replacing: file exists") {
		t.Errorf("a directory of somebody else: got %+v", got)
	}
	if _, err := os.Stat("g.replacing/old/mine.txt"); err != nil {
		t.Error(err)
	}
}

func storeID(t testing.TB, dir string) (id string) {
	t.Helper()
	must.Do(t, withStore(dir, kv.Options{MemoryBudget: testMemory, ReadOnly: true}, func(store *kv.Store) error {
		id = store.ID()
		return nil
	}))
	return id
}
