//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// holdVariable makes the test program a command that holds as many MiB of memory for a moment, and writes a result to
// the file that it is given.
const holdVariable = "BENCH_TEST_HOLD"

func TestMain(m *testing.M) {
	if text := os.Getenv(holdVariable); text != "" {
		var size int
		if _, err := fmt.Sscan(text, &size); err != nil {
			os.Exit(2)
		}
		held := bytes.Repeat([]byte{1}, size<<20)
		time.Sleep(300 * time.Millisecond)
		if len(os.Args) > 1 && os.WriteFile(os.Args[1], []byte(`{"seconds": 2}`), 0o666) != nil {
			os.Exit(2)
		}
		os.Exit(int(held[len(held)-1]) - 1)
	}
	os.Exit(m.Run())
}

func limited(t *testing.T, args ...string) (measurement, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(append([]string{"limited"}, args...), &out, os.Stderr)
	var m measurement
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	return m, code
}

func TestLimitedReports(t *testing.T) {
	t.Setenv(holdVariable, "64")
	result := filepath.Join(t.TempDir(), "result.json")
	m, code := limited(t, "--tag", "part=test", "--result", result, "--", os.Args[0], result)
	if code != 0 || m.ExitCode != 0 || m.Tags["part"] != "test" || string(m.Result) != `{"seconds":2}` {
		t.Errorf("exit code %d, report %+v", code, m)
	}
	if m.Seconds < 0.3 || m.PeakResidentBytes < 64<<20 || m.PeakAnonymousBytes < 64<<20 && m.PeakAnonymousBytes != 0 {
		t.Errorf("%v s, %d bytes resident, %d anonymous: want 0.3 s and 64 MiB or more",
			m.Seconds, m.PeakResidentBytes, m.PeakAnonymousBytes)
	}
	// A command that writes none has none: what lies there is of the one before.
	if m, code = limited(t, "--result", result, "--", os.Args[0]); code != 0 || m.Result != nil {
		t.Errorf("without a result: exit code %d, report %+v", code, m)
	}
}

func TestLimitedPassesTheExitCodeOn(t *testing.T) {
	if m, code := limited(t, "--", "sh", "-c", "exit 3"); code != 3 || m.ExitCode != 3 {
		t.Errorf("exit code %d, reported %d, want 3", code, m.ExitCode)
	}
	if m, code := limited(t, "--", "sh", "-c", "kill -TERM $$"); code != 143 || m.ExitCode != 143 {
		t.Errorf("exit code %d, reported %d, want 143 for SIGTERM", code, m.ExitCode)
	}
}

func TestLimitIsEnforcedOrTheReportSaysWhyNot(t *testing.T) {
	t.Setenv(holdVariable, "64")
	m, code := limited(t, "--limit", "32MiB", "--", os.Args[0])
	switch {
	case m.Unlimited != "":
		if code != 0 {
			t.Errorf("without a limit: exit code %d", code)
		}
	case code != 137 || m.OOMKills == 0 || m.LimitBytes != 32<<20 || m.PeakGroupBytes > 33<<20: // some pages over
		t.Errorf("exit code %d, report %+v, want a kill at 32 MiB", code, m)
	}
}

func TestLimitedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := measure(ctx, []string{"sleep", "60"}, 0, time.Millisecond, os.Stdout); err == nil {
		t.Error("no error")
	}
}

func TestMemoryParents(t *testing.T) {
	for membership, want := range map[string]string{
		"5:cpu:/a\n4:memory:/b/c\n0::/d\n": "root/memory/b/c",
		"0::/user.slice/session\n":         "root/user.slice/session root/user.slice",
		"3:cpu,memory:/x\n":                "root/memory/x",
		"5:cpu:/a\n":                       "",
	} {
		path := filepath.Join(t.TempDir(), "cgroup")
		if err := os.WriteFile(path, []byte(membership), 0o666); err != nil {
			t.Fatal(err)
		}
		parents, _, err := memoryParents(path, "root")
		if got := strings.Join(parents, " "); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q and %v, want %q", membership, got, err, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	sizes := map[string]byteSize{"0": 0, "12": 12, "12B": 12, "640MiB": 640 << 20, "2Gi": 2 << 30, "1TiB": 1 << 40}
	for text, want := range sizes {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %d and %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1MB", "9999999999TiB"} {
		if err := new(byteSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestLookupsAndAdjacency(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "graph")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := load.AddNode(kv.Node{ID: fmt.Sprint(i), Label: fmt.Sprint(i % 3)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if err := load.AddEdge(fmt.Sprint(i), fmt.Sprint((i+1)%100), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load.Commit(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := run([]string{"lookups", dir, "--nodes", "50"}, &out, os.Stderr); code != 0 {
		t.Fatalf("lookups: exit code %d", code)
	}
	var lookups lookupReport
	if err := json.Unmarshal(out.Bytes(), &lookups); err != nil {
		t.Fatal(err)
	}
	if lookups.Nodes != 100 || lookups.Edges != 100 || len(lookups.Lookups) != 6 {
		t.Errorf("got %+v, want 6 lookups in 100 nodes and edges", lookups)
	}
	for name, timing := range lookups.Lookups {
		if !(timing.MedianUS > 0 && timing.MedianUS <= timing.P90US && timing.P90US <= timing.P99US) {
			t.Errorf("%s: %+v", name, timing)
		}
	}
	out.Reset()
	if code := run([]string{"adjacency", dir}, &out, os.Stderr); code != 0 {
		t.Fatalf("adjacency: exit code %d", code)
	}
	var adjacency adjacencyReport
	if err := json.Unmarshal(out.Bytes(), &adjacency); err != nil {
		t.Fatal(err)
	}
	if adjacency.Entries != 200 || adjacency.Bytes < 200 {
		t.Errorf("got %+v, want 200 entries of a byte or more", adjacency)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"table", filepath.Join("testdata", "results.jsonl")}, &out, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if want := string(read(t, "testdata", "table.md")); out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// cleanedRing makes a cleaned store of a hundred nodes in two rings, one for each label.
func cleanedRing(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small.graph")
	loader, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := loader.AddNode(kv.Node{ID: fmt.Sprint(i), Label: string("ab"[i%2])}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		if err := loader.AddEdge(fmt.Sprint(i), fmt.Sprint((i+2)%100), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := loader.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	store, err := index.Open(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cleaner.Clean(t.Context(), store, cleaner.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestScores(t *testing.T) {
	for _, args := range [][]string{nil, {"--changed"}, {"--added"}} {
		var out bytes.Buffer
		if code := run(append([]string{"scores", cleanedRing(t), "--nodes", "20"}, args...), &out, os.Stderr); code != 0 {
			t.Fatalf("%v: got exit code %d, want 0", args, code)
		}
		var report scoresReport
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%s: %v", &out, err)
		}
		if q := report.Scores; report.Compared != 20 || report.Difference > 1e-5 || q.MedianUS <= 0 || q.MedianUS > q.P99US {
			t.Errorf("%v: got %s, want 20 scores that are those of a rescore", args, &out)
		}
	}
}

func TestMedianOf(t *testing.T) {
	for want, values := range map[float64][]float64{3: {3}, 2.5: {4, 1, 3, 2}, 2: {3, 1, 2}} {
		if got := medianOf(values); got != want {
			t.Errorf("%v: got %v, want %v", values, got, want)
		}
	}
}
