package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A stageSum is what a file of --stats says: the names of the stages in their order, and the seconds of all of a name.
type stageSum struct {
	names   []string
	seconds map[string]float64
}

// readStages reads a file of --stats.
func readStages(t *testing.T, path string) stageSum {
	t.Helper()
	var said struct {
		Stages []struct {
			Name    string
			Seconds float64
		}
	}
	must.Do(t, json.Unmarshal(mustRead(t, path), &said))
	sum := stageSum{seconds: map[string]float64{}}
	for _, stage := range said.Stages {
		sum.names = append(sum.names, stage.Name)
		sum.seconds[stage.Name] += stage.Seconds
	}
	return sum
}

// total is the seconds of all stages.
func (s stageSum) total() (seconds float64) {
	for _, of := range s.seconds {
		seconds += of
	}
	return seconds
}

// latency is how long a lateStream waits: long beside what else its command does.
const latency = 150 * time.Millisecond

// A lateStream waits before the first byte that is read from it or written to it.
type lateStream struct {
	text io.Reader
	once sync.Once
}

func (s *lateStream) Read(p []byte) (int, error) {
	s.once.Do(func() { time.Sleep(latency) })
	return s.text.Read(p)
}

func (s *lateStream) Write(p []byte) (int, error) {
	s.once.Do(func() { time.Sleep(latency) })
	return len(p), nil
}

// TestStages expects that what a command does around its work is in stages too: reading the command line, opening and
// closing the store, and telling the results. What the command waits for, which the test knows, is in the stages where
// it waits. How long the command takes in all only bounds their sum from above: a busy machine may let it wait after
// the last stage.
func TestStages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, newDemoGraph(120, 1).write(dir))
	nodes, edges := in("nodes.csv"), in("edges.csv")
	mustRun(t, "import", in("g"), "--nodes", nodes, "--edges", edges)
	mustRun(t, "clean", in("g"))
	for _, test := range []struct {
		args  []string
		input string
		want  []string // in this order
		waits []string // stages that wait
	}{
		{args: []string{"clean", in("g"), "--seed", "2"}, want: []string{
			"start", "open", "read", "degrees", "count", "keep", "sample", "rivals", "propagate", "label model", "score", "count", "write", "close", "end",
		}, waits: []string{"end"}},
		{args: []string{"export", in("g"), "features", "--out", in("f.npy")}, want: []string{"start", "open", "read", "propagate", "write", "close", "end"}},
		{args: []string{"export", in("g"), "scores", "--out", "-"}, want: []string{"start", "open", "read", "write", "close", "end"}, waits: []string{"write"}},
		{
			args:  []string{"import", in("h"), "--nodes", "-", "--edges", edges},
			input: strings.Replace(string(mustRead(t, nodes)), "id,label,year", ":ID,:LABEL,year:int", 1), // which is read once
			want:  []string{"start", "header", "read nodes", "read edges", "sync", "close", "end"}, waits: []string{"header", "end"},
		},
		{
			args: []string{"import", in("g"), "--append", "--nodes", "-"}, input: "id,label\nnew,\n",
			want: []string{"start", "open", "read nodes", "commit", "append", "close", "end"}, waits: []string{"end"},
		},
		{
			args: []string{"eval", "--nodes", nodes, "--edges", edges, "--method", "argmax", "--repeats", "1"},
			want: []string{"start", "read nodes", "sync", "read", "noise", "base", "argmax", "end"},
		},
	} {
		var said bytes.Buffer
		began := time.Now()
		code := Main(t.Context(), append(test.args, "--stats", in("s.json")), &lateStream{text: strings.NewReader(test.input)}, &lateStream{}, &said)
		took := time.Since(began).Seconds()
		if code != exitDone {
			t.Fatalf("%q: got exit code %d and %s", test.args, code, &said)
		}
		stages := readStages(t, in("s.json"))
		if sum := stages.total(); sum > took {
			t.Errorf("%q: got %v seconds in stages, want at most the %v that it took", test.args, sum, took)
		}
		for _, name := range test.waits {
			if got := stages.seconds[name]; got < latency.Seconds() {
				t.Errorf("%q: got %v seconds of %q, want the %v that it waited", test.args, got, name, latency)
			}
		}
		rest := stages.names
		for _, want := range test.want {
			at := slices.Index(rest, want)
			if at < 0 {
				t.Errorf("%q: got %q, want %q there, in that order", test.args, stages.names, test.want)
				break
			}
			rest = rest[at+1:]
		}
	}
}
