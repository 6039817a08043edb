package shell

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
	"github.com/graphcleaner/graphcleaner/shell/internal/review"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// runText is the last run of a store as a program that made it elsewhere would write it.
func runText(t *testing.T, db string) map[string]any {
	t.Helper()
	var file map[string]any
	must.Do(t, withStore(db, kv.Options{MemoryBudget: testMemory, ReadOnly: true}, func(store *kv.Store) error {
		return store.View(func(tx *kv.Tx) error {
			run, err := cleaner.LastRun(tx)
			if err != nil {
				return err
			}
			file = map[string]any{
				"model": &cleaner.PieceModel{
					Census: &cleaner.Census{Names: run.Classes, Counts: make([]float64, len(run.Classes))}, Hops: run.Hops,
					Model:    run.Model,
					Warnings: run.Warnings,
				},
				"started": run.Started.Format(time.RFC3339), "seconds": run.Seconds, "seed": run.Seed,
				"nodes": run.Nodes, "edges": run.Edges, "scored": run.Scored, "suspects": run.Suspects,
			}
			return nil
		})
	}))
	return file
}

// writeRun writes a run file, with some parts changed; one that is nil is left out.
func writeRun(t *testing.T, path string, run, changes map[string]any) {
	t.Helper()
	all := maps.Clone(run)
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	must.Do(t, err)
}

// cleanedElsewhere makes a cleaned store g in a new working directory, the files of its graph, its scores and
// predictions, and the run.
func cleanedElsewhere(t *testing.T) (run map[string]any) {
	t.Helper()
	t.Chdir(t.TempDir())
	must.Do(t, demograph.New(400, 1).Write("."))
	mustRun(t, importArgs("")...)
	mustRun(t, "clean", "g")
	mustRun(t, "export", "g", "scores", "--out", "scores.csv")
	mustRun(t, "export", "g", "predictions", "--out", "predictions.csv")
	run = runText(t, "g")
	writeRun(t, "run.json", run, nil)
	return run
}

// fromElsewhere are flags of an import of a run; more replaces those that it names.
func fromElsewhere(db, more string) []string {
	args := append([]string{"import", db}, strings.Fields(more)...)
	for flag, file := range map[string]string{
		"nodes": "nodes.csv", "edges": "edges.csv", "predictions": "predictions.csv", "scores": "scores.csv",
		"run": "run.json",
	} {
		if !strings.Contains(more+" ", "--"+flag+" ") {
			args = append(args, "--"+flag, file)
		}
	}
	return args
}

// TestImportOfARun wants a store with a run of a whole graph to answer as the store that made the run. cleaner has the
// same after decisions.
func TestImportOfARun(t *testing.T) {
	cleanedElsewhere(t)
	got := run(t, "", fromElsewhere("home", "")...)
	if want := "run 1 was made elsewhere, of 400 nodes, "; got.code != exitDone || !strings.Contains(got.err, want) ||
		!strings.Contains(got.out, "home: 400 nodes") {
		t.Fatalf("import: got %+v, want %q", got, want)
	}
	both := func(args ...string) {
		t.Helper()
		of := func(db string) string {
			own := slices.Clone(args)
			own[1] = db
			got := run(t, "", own...)
			if got.code != exitDone {
				t.Fatalf("%q: got %+v", own, got)
			}
			var people []string
			for line := range strings.Lines(got.err) {
				if !strings.Contains(line, "made elsewhere") && !strings.Contains(line, "older than changes") {
					people = append(people, line)
				}
			}
			got.err = strings.Join(people, "")
			text := strings.ReplaceAll(comparable(got, db), "built-in", "imported")
			return strings.ReplaceAll(text, `"they are taken as they are, as was asked for"`, "")
		}
		if home, whole := of("home"), of("g"); home != whole || strings.Count(whole, "\n") < 3 {
			t.Errorf("%q: got\n%.1500s\nwant\n%.1500s", args, home, whole)
		}
	}
	same := func() {
		t.Helper()
		for _, statement := range []string{"suspects", "history"} {
			both("shell", "DB", "-c", statement, "--format", "csv")
		}
		both("export", "DB", "scores", "--out", "-")
		both("export", "DB", "transition", "--out", "-")
	}
	same()
	if got := mustRun(t, "check", "home"); !strings.Contains(got, "no problems") {
		t.Errorf("check: got %s", got)
	}
}

// TestImportOfAPart imports some nodes of a graph with the run of all of it.
func TestImportOfAPart(t *testing.T) {
	whole := cleanedElsewhere(t)
	ids := map[string]bool{}
	for row := range strings.Lines(string(mustRead(t, "nodes.csv"))) {
		if id, _, _ := strings.Cut(row, ","); len(ids) < 151 {
			ids[id] = true
		}
	}
	for _, file := range []string{"nodes.csv", "edges.csv", "predictions.csv", "scores.csv"} {
		var rows strings.Builder
		for row := range strings.Lines(string(mustRead(t, file))) {
			fields := strings.Split(strings.TrimSpace(row), ",")
			known := ids[fields[0]] && (file != "edges.csv" || ids[fields[1]]) &&
				(file != "predictions.csv" || fields[0] != "p9")
			if known || rows.Len() == 0 {
				rows.WriteString(row)
			}
		}
		must.Do(t, os.WriteFile(file, []byte(rows.String()), 0o600))
	}
	must.Do(t, os.WriteFile("more.csv", []byte("id,label\nnew,Databases\n"), 0o600))
	if got := run(t, "", fromElsewhere("home", "")...); got.code != exitDone ||
		!strings.Contains(got.err, "; 150 nodes and ") {
		t.Fatalf("import: got %+v", got)
	}
	must.Do(t, withStore("home", kv.Options{}, func(store *kv.Store) error {
		_, err := (&review.Step{Finish: true}).Do(t.Context(), store, query.Options{})
		return err
	}))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"shell", "home", "-c", "runs"}, exitDone, "run 1 was made elsewhere, of 400 nodes, "},
		{[]string{"shell", "home", "-c", "stats"}, exitDone, "run 1 was made elsewhere, of 400 nodes, "},
		{[]string{"gate", "home", "--most", "1000"}, exitDone,
			fmt.Sprintf("of %v scored nodes are suspects", whole["scored"])},
		{[]string{"shell", "home", "-c", "explain p3"}, exitDone, "neighbors and degree are those of the part that is here"},
		{[]string{"score", "home", "--ids", "p3"}, exitFailed, "run 1 was made elsewhere, on a larger graph, of 400 " +
			"nodes: the part that is here"},
		{[]string{"rescore", "home", "--full"}, exitFailed, "made elsewhere, on a larger graph"},
		{[]string{"rescore", "home"}, exitDone, "changes of this part move none"},
		{[]string{"clean", "home", "--as-given"}, exitDone, "run 1 was made elsewhere, on a graph of 400 nodes: this run " +
			"is of the 150 nodes that are here"},
		{[]string{"score", "home", "--ids", "p3"}, exitDone, "p3"},
	} {
		if got := run(t, "", c.args...); got.code != c.code || !strings.Contains(got.err+got.out, c.want) {
			t.Errorf("%q: got exit code %d, %s%s, want %d and %q", c.args, got.code, got.out, got.err, c.code, c.want)
		}
	}
}

// TestImportRefusesARun wants files that do not fit together to be refused, with the place and the value, and no store.
func TestImportRefusesARun(t *testing.T) {
	whole := cleanedElsewhere(t)
	scores := string(mustRead(t, "scores.csv"))
	header, rest, _ := strings.Cut(scores, "\n")
	first, rest, _ := strings.Cut(rest, "\n")
	fields := strings.Split(first, ",")
	bad := func(name, text string) {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	row := func(column int, text string) func() {
		return func() {
			own := slices.Clone(fields)
			own[column] = text
			bad("bad.csv", header+"\n"+strings.Join(own, ",")+"\n"+rest)
		}
	}
	changed := func(changes map[string]any) func() { return func() { writeRun(t, "bad.json", whole, changes) } }
	for _, c := range []struct {
		prepare func()
		flags   string
		code    int
		want    string
	}{
		{nil, "--classes x", exitUsage, "--run names the classes"},
		{row(0, "nobody"), "--scores bad.csv", exitFailed, `bad.csv:2: column "id": got "nobody", want the id of a node`},
		{row(2, "1.5"), "--scores bad.csv", exitFailed, `bad.csv:2: column "score": got "1.5", want a number from 0 to 1`},
		{row(4, ""), "--scores bad.csv", exitFailed, `bad.csv:2: node "` + fields[0] + `": suggestion "` + fields[3] +
			`" with confidence NaN`},
		{func() { bad("bad.csv", header+"\n"+rest) }, "--scores bad.csv", exitFailed, `has no row for node "` + fields[0]},
		{changed(map[string]any{"model": nil}), "--run bad.json", exitFailed, "bad.json: has no model"},
		{
			func() { bad("bad.csv", "id,label\np0,Cooking\n") }, "--nodes bad.csv", exitFailed,
			`bad.csv:2: column "label": got "Cooking", want a class of the run`,
		},
	} {
		if c.prepare != nil {
			c.prepare()
		}
		got := run(t, "", fromElsewhere("home", c.flags)...)
		if got.code != c.code || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: got exit code %d and %s, want %d and %q", c.flags, got.code, got.err, c.code, c.want)
		}
		if _, err := os.Stat("home"); err == nil {
			t.Fatalf("%s: there is a store", c.flags)
		}
	}
	if got := run(t, "", importArgs("--scores scores.csv --run run.json")...); got.code != exitUsage ||
		!strings.Contains(got.err, "with --nodes, --edges and --predictions") {
		t.Errorf("without predictions: got %+v", got)
	}
}
