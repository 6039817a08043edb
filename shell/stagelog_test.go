package shell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestStages expects that what a command does around its work is in stages too: reading the command line, and opening and closing the store.
// The seconds of the stages are those of the command.
func TestStages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustRun(t, "demo", "--dir", in("g"))
	for _, test := range []struct {
		args []string
		want []string // in this order
	}{
		{[]string{"clean", in("g"), "--seed", "2", "--report", in("r.html")}, []string{
			"start", "open", "read", "degrees", "count", "keep", "noise", "sample", "rivals", "keep", "label model", "score", "count", "write", "report", "close",
		}},
		{[]string{"predict", in("g")}, []string{"start", "open", "read", "train", "predict", "write", "close"}},
		{[]string{"export", in("g"), "features", "--out", in("f.npy")}, []string{"start", "open", "read", "propagate", "write", "close"}},
		{[]string{"import", in("h"), "--nodes", in("g.files/nodes.csv"), "--edges", in("g.files/edges.csv")}, []string{"start", "read nodes", "sync", "close"}},
	} {
		began := time.Now()
		mustRun(t, append(test.args, "--stats", in("s.json"))...)
		took := time.Since(began).Seconds()
		text, err := os.ReadFile(in("s.json"))
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Stages []struct {
				Name    string
				Seconds float64
			}
		}
		if err := json.Unmarshal(text, &said); err != nil {
			t.Fatal(err)
		}
		var names []string
		sum := 0.0
		for _, stage := range said.Stages {
			names = append(names, stage.Name)
			sum += stage.Seconds
		}
		// Writing the stages is in none of them, and half a second is for a busy machine.
		if left := took - sum; left < 0 || left > 0.02*took+0.5 {
			t.Errorf("%v: got %v seconds in stages, want nearly the %v that it took", test.args, sum, took)
		}
		rest := names
		for _, want := range test.want {
			at := slices.Index(rest, want)
			if at < 0 {
				t.Errorf("%v: got %q, want %q there, in that order", test.args, names, test.want)
				break
			}
			rest = rest[at+1:]
		}
	}
}
