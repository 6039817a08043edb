package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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

// TestEvalJSON reads what scripts do: the contract, figures by split, and the options to repeat it with.
func TestEvalJSON(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	if err := newDemoGraph(60, 1).write(dir); err != nil {
		t.Fatal(err)
	}
	text := mustRun(t, strings.Fields("eval --nodes nodes.csv --edges edges.csv --split 0.6/0.2/0.2 --noise asym:0.2 --method argmax "+
		"--method dyb --repeats 2 --seed 7 --threads 1 --format json")...)
	var got struct {
		Options map[string]any
		Methods []struct {
			Name      string
			Mean, Std map[string]any
			Repeats   []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("eval printed %s: %v", text, err)
	}
	options, err := json.Marshal(got.Options)
	want := `{"direction":"both","edges":"edges.csv","expect":null,"hops":3,"methods":["argmax","dyb"],"model_seeds":1,"nodes":"nodes.csv",` +
		`"noise":"asym:0.2","repeats":2,"seed":7,"split":"0.6/0.2/0.2","threshold":null}`
	if err != nil || string(options) != want {
		t.Errorf("options: got %s (%v)\nwant %s", options, err, want)
	}
	if len(got.Methods) != 2 || len(got.Methods[0].Repeats) != 2 {
		t.Fatalf("eval printed %s, want two methods of two repeats", text)
	}
	for _, metrics := range append(got.Methods[0].Repeats, got.Methods[0].Mean) {
		bySplit, _ := metrics["by_split"].(map[string]any)
		delete(metrics, "by_split")
		if !reflect.DeepEqual(bySplit["test"], any(metrics)) || len(bySplit) != 4 {
			t.Errorf("got %v, want by_split to have train, val, all, and test as %v", bySplit, metrics)
		}
		for _, set := range []string{"train", "val", "all"} {
			of, _ := bySplit[set].(map[string]any)
			if found, _ := of["found_at"].(map[string]any); len(of) != len(metrics) || len(found) != 3 {
				t.Errorf("set %s: got %v, want the names of %v", set, of, metrics)
			}
		}
	}
}

// TestEvaluationFormats has every metric in csv that json has, under the same names.
func TestEvaluationFormats(t *testing.T) {
	text, err := json.Marshal(cleaner.Metrics{})
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for name, value := range values {
		if parts, ok := value.(map[string]any); ok {
			for part := range parts {
				named[name+"_"+part] = true
			}
			continue
		}
		named[name] = true
	}
	if len(named) != len(evaluationMetrics) {
		t.Errorf("got %d metrics in csv and %d in json", len(evaluationMetrics), len(named))
	}
	for _, m := range evaluationMetrics {
		if !named[m.name] {
			t.Errorf("metric %s is not in json", m.name)
		}
	}
}
