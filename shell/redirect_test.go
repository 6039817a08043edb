package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestNoFileIsWrittenIntoAStore gives every flag that names a file to be written the path of one in a store.
func TestNoFileIsWrittenIntoAStore(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for link, to := range map[string]string{"alias": "g", "link": filepath.Join("g", "MANIFEST")} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	filesOf := func() []string {
		entries := must.Get(os.ReadDir("g"))(t)
		var files []string
		for _, entry := range entries {
			if filepath.Ext(entry.Name()) != ".vlog" { // of which each command that writes makes another
				files = append(files, entry.Name())
			}
		}
		return files
	}
	mustRun(t, "check", "g") // leaves the store as opening it does
	before := filesOf()
	for _, command := range []string{
		"shell g -c .output+F", "shell g --read-only -c .output+F", "export g labels --out F", "backup g F",
		"import g --splits nodes.csv --stats F", "import h --nodes nodes.csv --edges edges.csv --stats F",
		"clean g --stats F",
		"export g features --out f.npy --stats F", "eval g --stats F", "eval g --flags F",
		"import F --nodes nodes.csv --edges edges.csv", "demo --dir F",
	} {
		for _, file := range []string{"g/new.csv", "alias/new.csv", "g/work/new.csv", "link", "g/MANIFEST"} {
			if file == "g/work/new.csv" {
				must.Do(t, os.MkdirAll("g/work", 0o700))
			}
			args := strings.Fields(strings.ReplaceAll(command, "F", file))
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "+", " ")
			}
			got := run(t, "", args...)
			if got.code == exitDone {
				t.Errorf("%s: got exit code 0 and %s%s", args, got.out, got.err)
			}
		}
	}
	if after := slices.DeleteFunc(filesOf(), func(name string) bool { return name == "work" }); !slices.Equal(after,
		before) {
		t.Errorf("the store has the files %v, want %v", after, before)
	}
	if got := mustRun(t, "check", "g"); !strings.Contains(got, "no problems") {
		t.Errorf("check: got %s", got)
	}
	err := withStore("g", kv.Options{MemoryBudget: 1}, func(*kv.Store) error { return nil })
	if err != nil {
		t.Errorf("the store does not open: %v", err)
	}
}
