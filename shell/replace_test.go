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

// What a killed import left is cleared away by the next, and a directory of somebody else stays.
func TestReplaceClears(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	before := listDir(t)
	replace := []string{"import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--replace", "--yes"}
	for name, leave := range map[string]func() error{
		"killed while loading": func() error { return os.MkdirAll("g.replacing/store.loading/store", 0o700) },
		"killed afterwards":    func() error { return os.CopyFS("g.replacing/store", os.DirFS("g")) },
	} {
		must.Do(t, leave())
		mustRun(t, replace...)
		if after := listDir(t); !slices.Equal(after, before) {
			t.Errorf("%s: left behind: %v, want %v", name, after, before)
		}
	}
	must.Do(t, errors.Join(os.Mkdir("g.replacing", 0o700), os.WriteFile("g.replacing/mine.txt", nil, 0o600)))
	mustRun(t, replace...)
	if _, err := os.Stat("g.replacing/mine.txt"); err != nil {
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
