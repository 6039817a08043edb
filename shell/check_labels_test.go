package shell

import (
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// TestCheckLabels wants --check to list wrong labels of files, to tell those without a score, and to write nothing.
func TestCheckLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	papers := demoPapers
	demoPapers = 600
	mustRun(t, "demo", "--dir", "g")
	demoPapers = papers
	before := mustRun(t, "stats", "g")
	write := func(name, content string) {
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
	nodes, edges := "id,label\n", "src,dst\n"
	kind := mustRun(t, "shell", "g", "--format", "csv", "-c", "nodes where label = 'Security' and score < 0.1 limit 6 return id")
	for _, id := range strings.Fields(kind)[1:] {
		edges += "good," + id + "\nbad," + id + "\n"
	}
	write("in.csv", nodes+"good,Security\nbad,Databases\n")
	write("edges.csv", edges)
	write("good.csv", nodes+"good,Security\n")
	write("unknown.csv", nodes+"p1,Nosuch\n")
	write("twice.csv", nodes+"p1,Security\np1,Security\n")
	write("good-edges.csv", strings.ReplaceAll(edges, "bad,", "good,"))
	for _, c := range []struct {
		args    string
		code    int
		out     string // a part of it
		told    string
		without string
	}{
		{"--nodes in.csv --edges edges.csv --format csv", exitVerdict, "\nbad,Databases,0.", "1 of 2 labels that would come in score above", "good,"},
		{"--nodes in.csv --edges edges.csv --format json", exitVerdict, `"id":"bad"`, "1 of 2 labels", `"good"`},
		{"--nodes in.csv --edges edges.csv --threshold 0.99999999", exitDone, "", "0 of 2 labels that would come in score above 1: passed", "bad"},
		{"--nodes good.csv --edges good-edges.csv", exitDone, "", "0 of 1 label", "good"},
		{"--nodes unknown.csv", exitVerdict, "", "its label was first used after run 1", "p1"},
		{"--nodes twice.csv", exitFailed, "", "twice.csv:3", "p1"},
		{"--nodes in.csv --edges edges.csv --stats s.json", exitUsage, "", "--check goes without --stats", "bad"},
		{"--nodes in.csv --edges edges.csv --threshold 1", exitUsage, "", "--threshold 1: want", "bad"},
	} {
		got := run(t, "", append(strings.Fields("import g --append --check"), strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.told) || strings.Contains(got.out, c.without) {
			t.Errorf("%s: got exit code %d, %q and %q, want %d, %q and %q without %q", c.args, got.code, got.out, got.err, c.code, c.out, c.told, c.without)
		}
	}
	for _, args := range []string{"import g --check --nodes in.csv", "import g --append --nodes in.csv --threshold 0.5", "import g --append --nodes in.csv --format csv"} {
		if got := run(t, "", strings.Fields(args)...); got.code != exitUsage {
			t.Errorf("%s: got exit code %d and %q, want %d", args, got.code, got.err, exitUsage)
		}
	}
	if after := mustRun(t, "stats", "g"); after != before {
		t.Errorf("--check changed the store from\n%s to\n%s", before, after)
	}
}
