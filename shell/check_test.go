package shell

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/memdir"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// reviewedTemplate is the directory that reviewedStore copies.
var reviewedTemplate struct {
	made sync.Once
	dir  string
}

// reviewedStore makes a new working directory with a store "g" of two communities that was cleaned, and in which
// somebody decided on some nodes: it has indexes, runs and a history, and is closed.
func reviewedStore(t testing.TB) {
	t.Helper()
	reviewedTemplate.made.Do(func() {
		makeReviewedStore(t)
		dir, err := os.MkdirTemp("", "reviewed")
		must.Do(t, errors.Join(err, memdir.Copy(".", dir)))
		reviewedTemplate.dir = dir
	})
	if reviewedTemplate.dir == "" {
		t.Fatal("the store cannot be made")
	}
	t.Chdir(t.TempDir())
	must.Do(t, memdir.Copy(reviewedTemplate.dir, "."))
}

// makeReviewedStore imports the graph, cleans it and decides, in a new working directory.
func makeReviewedStore(t testing.TB) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	const n = 240
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,year\n")
	edges.WriteString("src,dst\n")
	for v := range n {
		label := []string{"even", "odd"}[v%2]
		if v%20 == 3 {
			label = "even"
		}
		fmt.Fprintf(&nodes, "node %d,%s,%d\n", v, label, 1990+r.IntN(30))
		for range 3 {
			fmt.Fprintf(&edges, "node %d,node %d\n", v, (v+2*(1+r.IntN(n/2-1)))%n)
		}
	}
	writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": edges.String()})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	mustRun(t, "clean", "g", "--hops", "2")
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(s *kv.Store) error {
		for v := range kv.NodeID(12) {
			requests := []decide.Request{
				{Node: v, Kind: decide.Relabel, To: "odd"}, {Node: v + 20, Kind: decide.Reject}, {Node: v + 40, Kind: decide.Unlabel},
			}
			if _, err := decide.Write(t.Context(), s, requests, decide.Options{Who: "tester"}); err != nil {
				return err
			}
		}
		_, err := cleaner.Undo(t.Context(), s, 2, decide.Options{Who: "tester"})
		return err
	}))
}

// exports are what a user gets out of the store "g": the first that fails is the error.
func exports(t testing.TB) (all string, err error) {
	t.Helper()
	for _, args := range [][]string{
		{"export", "g", "scores", "--out", "-"}, {"export", "g", "labels", "--out", "-"},
		{"export", "g", "decisions", "--out", "-"}, {"export", "g", "predictions", "--out", "-"},
		{"shell", "g", "--read-only", "-c", "nodes where score > 0.2 and year > 2000 order by score desc"},
		{"shell", "g", "--read-only", "-c", "history"},
	} {
		got := run(t, "", args...)
		if got.code != exitDone {
			return all, fmt.Errorf("%q: exit code %d and %s", args, got.code, got.err)
		}
		all += got.out
	}
	return all, nil
}

// TestCheckRepairAfterCrash takes three bytes off the manifest of a store whose process was killed: check --repair
// loses nothing and says so, and renaming undoes it.
func TestCheckRepairAfterCrash(t *testing.T) {
	reviewedStore(t)
	for range 2 { // so many tables are merged
		mustRun(t, "shell", "g", "-c", "relabel 'node 7' 'odd'")
		mustRun(t, "shell", "g", "-c", "relabel 'node 7' 'even'")
	}
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(s *kv.Store) error {
		if err := s.Compact(t.Context(), nil); err != nil {
			return err
		}
		_, err := decide.Write(t.Context(), s, []decide.Request{{Node: 9, Kind: decide.Relabel, To: "odd"}}, decide.Options{})
		return errors.Join(err, os.CopyFS("killed", os.DirFS("g")))
	}))
	want := must.Get(exports(t))(t)
	must.Do(t, errors.Join(os.RemoveAll("g"), os.Rename("killed", "g")))
	manifest := filepath.Join("g", "MANIFEST")
	info, err := os.Stat(manifest)
	if err == nil {
		err = os.Truncate(manifest, info.Size()-3)
	}
	must.Do(t, err)
	before := directoryText(t, "g")
	if got := run(t, "", "check", "g"); got.code != exitFailed || !strings.Contains(got.err, "check g --repair") {
		t.Errorf("check: got exit code %d and %s%s", got.code, got.out, got.err)
	}
	if got := directoryText(t, "g"); got != before {
		t.Error("check changed files of the store")
	}
	out := mustRun(t, "check", "g", "--repair", "--yes")
	if !strings.HasSuffix(out, "g: nothing is lost\n") {
		t.Errorf("check --repair: got %s", out)
	}
	if got, err := exports(t); err != nil || got != want {
		t.Errorf("after the repair: got other data, %v", err)
	}
	must.Do(t, errors.Join(os.RemoveAll("g"), os.Rename("g"+kv.BeforeRepair, "g")))
	if got := directoryText(t, "g"); got != before {
		t.Error("the store has other files than before the repair")
	}
	t.Chdir("g") // which is then the store as it was
	if out := mustRun(t, "check", ".", "--repair", "--yes"); !strings.HasSuffix(out, "g: nothing is lost\n") {
		t.Errorf("check --repair in the store: got %s", out)
	}
}

// directoryText are the files in a directory, with their names.
func directoryText(t *testing.T, dir string) string {
	t.Helper()
	names := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	var all strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		text := must.Get(os.ReadFile(name))(t)
		fmt.Fprintf(&all, "%s %d %x\n", name, len(text), sha256.Sum256(text))
	}
	return all.String()
}
