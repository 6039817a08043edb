package shell

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestReportCommands writes a page by clean, over one that is there, and none where there is no place.
func TestReportCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	must.Do(t, newDemoGraph(120, 1).write(dir))
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	must.Do(t, os.WriteFile("clean.html", []byte("old"), 0o600))
	mustRun(t, "clean", "g", "--preset", "paper", "--threshold", "0.5", "--report", "clean.html")
	page := string(mustRead(t, "clean.html"))
	for _, want := range []string{"Scores of the labelled nodes", "threshold 0.5", "Confused classes", "suggested label", "<dt>preset</dt><dd>paper</dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("clean.html: has no %q", want)
		}
	}
	mustRun(t, "clean", "g", "--preset", "paper", "--threshold", "0.9999999", "--report", "clean.html")
	if page = string(mustRead(t, "clean.html")); !strings.Contains(page, "No node is a suspect.") {
		t.Error("clean.html: suspects where there are none")
	}

	for _, args := range []string{
		"clean g --report nowhere/x.html", "clean g --stats nowhere/x.json", "eval g --stats nowhere/x.json",
		"predict g --stats nowhere/x.json", "export g features --out z.npy --stats nowhere/x.json", "import h --stats nowhere/x.json",
	} {
		got := run(t, "", strings.Fields(args)...)
		if fields := strings.Fields(args); got.code != exitFailed || !strings.Contains(got.err, strings.Join(fields[len(fields)-2:], " ")) {
			t.Errorf("%s: got exit code %d and %s", args, got.code, got.err)
		}
	}
	if err := checkPlace("--report", "x"); err != nil {
		t.Errorf("a directory: got %v", err)
	}
	if err := checkPlace("--report", "g/x"); err == nil {
		t.Error("a file in a store: got no error")
	}
	if err := checkPlace("--report", "nodes.csv/x"); err == nil {
		t.Error("a file in place of a directory: got no error")
	}
	if names, err := fs.Glob(os.DirFS("."), ".*.partial"); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v (%v)", names, err)
	}
}
