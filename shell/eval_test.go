package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/longtest"
)

// TestEvalGoesOn ends an evaluation after its first repeats and gives it again, of a store and of files.
func TestEvalGoesOn(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := newDemoGraph(longtest.Of(60, 200), 1).write(dir); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	flags := " --split 0.6/0.2/0.2 --method argmax --method dyb --format json --repeats "
	for graph, long := range map[string]string{"g": "400", "--nodes nodes.csv --edges edges.csv": "401"} {
		t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"+long))
		keeping := filepath.Join(dir, "cache"+long, "graphcleaner", "eval")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for ctx.Err() == nil {
				if files, err := os.ReadDir(keeping); err == nil && len(files) > 0 {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		var out, errOut bytes.Buffer
		code := Main(ctx, strings.Fields("eval "+graph+flags+long), strings.NewReader(""), &out, &errOut)
		cancel()
		want := "finished repeats are kept, and the same command goes on after them"
		if code != exitInterrupted || !strings.Contains(errOut.String(), want) {
			t.Fatalf("eval %s, interrupted: got exit code %d and %s\nwant %d and %q", graph, code, errOut.String(), exitInterrupted, want)
		}

		// With fewer repeats it goes on as well.
		got := run(t, "", strings.Fields("eval "+graph+flags+"2")...)
		if got.code != exitDone || !strings.Contains(got.err, "that an earlier evaluation of the same finished") {
			t.Fatalf("eval %s, again: got exit code %d and %s", graph, got.code, got.err)
		}
		if files, err := os.ReadDir(keeping); err != nil || len(files) != 0 {
			t.Errorf("eval %s, finished: %d checkpoints left (%v), want none", graph, len(files), err)
		}
		if fresh := mustRun(t, strings.Fields("eval "+graph+flags+"2")...); fresh != got.out {
			t.Errorf("eval %s: got, going on,\n%s\nand at once\n%s", graph, got.out, fresh)
		}
	}
}

// TestEvaluationFormats has every metric in csv that json has, under the same names.
func TestEvaluationFormats(t *testing.T) {
	text, err := json.Marshal(cleaner.Metrics{})
	if err != nil {
		t.Fatal(err)
	}
	var named map[string]float64
	if err := json.Unmarshal(text, &named); err != nil {
		t.Fatal(err)
	}
	if len(named) != len(evaluationMetrics) {
		t.Errorf("got %d metrics in csv and %d in json", len(evaluationMetrics), len(named))
	}
	for _, m := range evaluationMetrics {
		if _, ok := named[m.name]; !ok {
			t.Errorf("metric %s is not in json", m.name)
		}
	}
}
