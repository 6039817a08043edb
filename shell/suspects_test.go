package shell

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// closedStore closes a store, for commands to open.
func closedStore(t *testing.T, store *kv.Store) string {
	t.Helper()
	dir := store.Dir()
	must.Do(t, store.Close())
	return dir
}

// Whoever speaks of suspects speaks of the same nodes: of those above 0.7, p4 is put aside as unsure, and e 1 has its
// suggested label.
func TestSuspectsAreTheSameEverywhere(t *testing.T) {
	db := closedStore(t, papers.Cleaned(t))
	mustRun(t, "shell", db, "-c", "unsure p4")
	ids := func(args ...string) string {
		t.Helper()
		text := ""
		for line := range strings.Lines(mustRun(t, args...)) {
			id, _, _ := strings.Cut(strings.TrimSpace(line), ",")
			text += id + " "
		}
		return text
	}
	if got := ids("shell", db, "-c", "suspects where score > 0.7", "--format", "csv"); got != "id s3 p5 " {
		t.Errorf("suspects above 0.7: got %q", got)
	}
	if got := ids("export", db, "suspects", "--out", "-"); got != "id s3 " {
		t.Errorf("export suspects: got %q, want s3", got)
	}
	// At the threshold of the run only s3 is left.
	gate := run(t, "", "gate", db, "--most", "0")
	if gate.code != exitVerdict ||
		!strings.Contains(gate.err, "1 of 9 scored nodes are suspects above 0.97, want at most 0") ||
		!strings.Contains(gate.out, "\ns3 ") {
		t.Errorf("gate: got exit code %d, %s and %s", gate.code, gate.out, gate.err)
	}
	if got := mustRun(t, "shell", db, "-c", "count suspects where score > 0.97 group by label", "--format",
		"csv"); got != "label,count\nSystems,1\n" {
		t.Errorf("count suspects: got %q", got)
	}
	if got := mustRun(t, "shell", db, "-c", "classes", "--format",
		"csv"); !regexp.MustCompile(`(?m)^Systems,.*\b1\b`).MatchString(got) {
		t.Errorf("classes: got %q, want one suspect of Systems", got)
	}
}

// A gate does not let scores pass that are not those of the store as it is, and tells its verdict from what it cannot
// do.
func TestGateEndsWith(t *testing.T) {
	cleanedFiles(t)
	mustRun(t, "export", "g", "predictions", "--out", "p.csv")
	update := func(write func(tx *kv.Tx) error) func() {
		return func() {
			must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(s *kv.Store) error { return s.Update(write) }))
		}
	}
	clean := func() { mustRun(t, "clean", "g", "--hops", "2", "--as-given") }
	var first [2]kv.NodeID
	for _, step := range []struct {
		name string
		do   func()
		args string // of gate
		code int
		says []string
	}{
		{"as cleaned", func() {}, "--most 64", exitDone, []string{": passed"}},
		{"too many", func() {}, "--most-share 0", exitVerdict, []string{"scored nodes are suspects above", "want at most 0"}},
		{"wrong usage", func() {}, "--most -1", exitUsage, nil},
		{"compacted", func() { mustRun(t, "compact", "g") }, "--most 64", exitDone, []string{": passed"}},
		{
			"other predictions", func() { mustRun(t, "import", "g", "--predictions", "p.csv") }, "--most 64", exitVerdict,
			[]string{"the scores are out of date: predictions were written after run 1 began: run clean"},
		},
		{"cleaned again", clean, "--most 64", exitDone, []string{": passed"}},
		{
			"an edge more", update(func(tx *kv.Tx) error {
				for v := kv.NodeID(1); ; v++ {
					if err := tx.AddEdge(0, v); !errors.Is(err, kv.ErrExists) {
						first = [2]kv.NodeID{0, v}
						return err
					}
				}
			}), "--most 64", exitVerdict, []string{"the scores are out of date: edges of 2 nodes changed: run rescore"},
		},
		{"and gone", update(func(tx *kv.Tx) error { return tx.RemoveEdge(first[0], first[1]) }), "--most 64", exitVerdict,
			[]string{"edges of 2 nodes changed"}},
		{"rescored", func() { mustRun(t, "rescore", "g") }, "--most 64", exitDone, nil},
		{
			"the predictions of one node", update(func(tx *kv.Tx) error {
				return tx.SetRow(cleaner.PredictionsMatrix, 3, []float32{0.5, 0.5, 0, 0, 0, 0, 0})
			}),
			"--most 64", exitVerdict, []string{"predictions of 1 node changed: run rescore"},
		},
		{
			"a node more", update(func(tx *kv.Tx) error {
				_, err := tx.AddNode(kv.Node{ID: "it's new", Label: "Theory"})
				return err
			}), "--most 64", exitVerdict, []string{
				"there are 65 nodes, run 2 saw 64", "1 labelled node has no score: run ",
			},
		},
	} {
		step.do()
		got := run(t, "", append([]string{"gate", "g"}, strings.Fields(step.args)...)...)
		if got.code != step.code {
			t.Errorf("%s: got exit code %d and %s, want %d", step.name, got.code, got.err, step.code)
		}
		for _, says := range step.says {
			if !strings.Contains(got.err, says) {
				t.Errorf("%s: got %s, want %q", step.name, got.err, says)
			}
		}
	}
	// What gate advises works, and clean advises the same.
	got := run(t, "", "clean", "g", "--preset", "paper", "--hops", "2")
	if got.code != exitFailed || !strings.Contains(got.err, "run predict") ||
		!strings.Contains(got.err, "import --predictions") {
		t.Errorf("clean without all predictions: got exit code %d and %s, want what to do", got.code, got.err)
	}
	mustRun(t, "predict", "g")
	clean()
	mustRun(t, "gate", "g", "--most", "65")

	mustRun(t, "import", "h", "--nodes", "nodes.csv", "--edges", "edges.csv")
	if got := run(t, "", "gate", "h", "--most", "65"); got.code != exitFailed || !strings.Contains(got.err, "run clean") {
		t.Errorf("never cleaned: got exit code %d and %s, want %d", got.code, got.err, exitFailed)
	}
}
