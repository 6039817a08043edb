package shell

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
)

// TestStages expects that what a command does around its work is in stages too: reading the command line, opening and
// closing the store, and telling the results.
func TestStages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, demograph.New(120, 1).Write(dir))
	nodes, edges := in("nodes.csv"), in("edges.csv")
	mustRun(t, "import", in("g"), "--nodes", nodes, "--edges", edges)
	mustRun(t, "clean", in("g"))
	for _, test := range []struct {
		args  []string
		input string
		want  []string // in this order
	}{
		{args: []string{"clean", in("g"), "--seed", "2"}, want: []string{
			"start", "open", "read", "degrees", "count", "keep", "sample", "rivals", "propagate", "label model", "score",
			"count", "write", "close", "end",
		}},
		{args: []string{"export", in("g"), "features", "--out", in("f.npy")},
			want: []string{"start", "open", "read", "propagate", "write", "close", "end"}},
		{args: []string{"export", in("g"), "scores", "--out", "-"},
			want: []string{"start", "open", "read", "write", "close", "end"}},
		{
			args: []string{"import", in("h"), "--nodes", nodes, "--edges", edges},
			want: []string{"start", "property kinds", "read nodes", "read edges", "sync", "close", "end"},
		},
		{
			args: []string{"import", in("g"), "--append", "--nodes", "-"}, input: "id,label\nnew,\n",
			want: []string{"start", "open", "read nodes", "commit", "append", "close", "end"},
		},
		{
			args: []string{"eval", "--nodes", nodes, "--edges", edges, "--method", "argmax", "--repeats", "1"},
			want: []string{"start", "read nodes", "sync", "read", "noise", "base", "argmax", "end"},
		},
	} {
		if got := run(t, test.input, append(test.args, "--stats", in("s.json"))...); got.code != exitDone {
			t.Fatalf("%q: got %+v", test.args, got)
		}
		var said struct{ Stages []struct{ Name string } }
		must.Do(t, json.Unmarshal(mustRead(t, in("s.json")), &said))
		var names []string
		for _, stage := range said.Stages {
			names = append(names, stage.Name)
		}
		rest := names
		for _, want := range test.want {
			at := slices.Index(rest, want)
			if at < 0 {
				t.Errorf("%q: got %q, want %q there, in that order", test.args, names, test.want)
				break
			}
			rest = rest[at+1:]
		}
	}
}
