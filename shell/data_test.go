package shell

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/kv"
)

// dataSet is the folder of a real data set, or skips the test.
func dataSet(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("trains on a real data set")
	}
	root := os.Getenv("GRAPHCLEANER_DATA")
	if root == "" {
		t.Skip("GRAPHCLEANER_DATA is not set: it names the folder of the real data sets")
	}
	dir := filepath.Join(root, name, "csv")
	if _, err := os.Stat(filepath.Join(dir, "nodes.csv")); err != nil {
		t.Skipf("GRAPHCLEANER_DATA has no %s: %v", name, err)
	}
	return dir
}

func TestCoraSameBytes(t *testing.T) {
	longtest.Only(t)
	data := dataSet(t, "cora")
	exports := func(flags ...string) map[string]string {
		dir := t.TempDir()
		db := filepath.Join(dir, "cora.graph")
		mustRun(t, append([]string{"import", db, "--nodes", data + "/nodes.csv", "--edges", data + "/edges.csv",
			"--features", data + "/features.npz", "--splits", data + "/split.csv"}, flags...)...)
		mustRun(t, append([]string{"clean", db}, flags...)...)
		picture := string(mustRead(t, filepath.Join("..", "docs", "suspect.svg")))
		if drawn := mustRun(t, append([]string{"draw", db, "776"}, flags...)...); drawn != picture {
			t.Error("docs/suspect.svg is not what draw draws: docs/guide.md has the command that makes it")
		}
		files := map[string]string{}
		for _, what := range []string{"scores", "suspects", "labels", "predictions", "transition"} {
			files[what] = mustRun(t, append([]string{"export", db, what, "--out", "-"}, flags...)...)
		}
		z := filepath.Join(dir, "z.npy")
		mustRun(t, append([]string{"export", db, "features", "--out", z}, flags...)...)
		files["features"] = string(mustRead(t, z))
		return files
	}
	want := exports("--threads", "1", "--memory", "4GiB")
	for what, got := range exports("--threads", "2", "--memory", "160MiB") {
		if got != want[what] {
			t.Errorf("export %s differs between --threads 1 --memory 4GiB and --threads 2 --memory 160MiB", what)
		}
		if len(got) == 0 {
			t.Errorf("export %s is empty", what)
		}
	}
}

// withStore opens a store for writing, runs fn, and closes it. It asks no holder.
func withStore(dir string, opt kv.Options, fn func(*kv.Store) error) (err error) {
	store, err := openStore(dir, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(store)
}
