package shell

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/shell/internal/demograph"
)

// TestEvalJSON reads what scripts do: the contract, and figures by split.
func TestEvalJSON(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	must.Do(t, demograph.New(60, 1).Write(dir))
	text := mustRun(t, strings.Fields("eval --nodes nodes.csv --edges edges.csv --split 0.6/0.2/0.2 --noise asym:0.2 "+
		"--method argmax --method dyb --repeats 2 --seed 7 --threads 1 --format json")...)
	var got struct {
		Methods []struct {
			Name      string
			Mean, Std map[string]any
			Repeats   []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("eval printed %s: %v", text, err)
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
