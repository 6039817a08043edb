package shell

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestOutputPlaces refuses files that there is no place for, before any work.
func TestOutputPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, newDemoGraph(120, 1).write("."))
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for _, args := range []string{
		"clean g --stats nowhere/x.json", "eval g --stats nowhere/x.json",
		"predict g --stats nowhere/x.json", "export g features --out z.npy --stats nowhere/x.json", "import h --stats nowhere/x.json",
	} {
		got := run(t, "", strings.Fields(args)...)
		if fields := strings.Fields(args); got.code != exitFailed || !strings.Contains(got.err, strings.Join(fields[len(fields)-2:], " ")) {
			t.Errorf("%s: got exit code %d and %s", args, got.code, got.err)
		}
	}
	if err := checkPlace("--stats", "x"); err != nil {
		t.Errorf("a directory: got %v", err)
	}
	if err := checkPlace("--stats", "g/x"); err == nil {
		t.Error("a file in a store: got no error")
	}
	if err := checkPlace("--stats", "nodes.csv/x"); err == nil {
		t.Error("a file in place of a directory: got no error")
	}
	if names, err := fs.Glob(os.DirFS("."), ".*.partial"); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v (%v)", names, err)
	}
}
