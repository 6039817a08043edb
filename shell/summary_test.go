package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestInterruptedSummary: an interrupted command prints no summary.
func TestInterruptedSummary(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for _, args := range []string{"clean g", "check g", "backup g b"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errOut bytes.Buffer
		code := Main(ctx, append(strings.Fields(args), "--format", "json"), strings.NewReader(""), &out, &errOut)
		if code != exitInterrupted || out.Len() > 0 {
			t.Errorf("%s: got exit code %d, %q and %q, want %d and nothing", args, code, out.String(), errOut.String(), exitInterrupted)
		}
	}
}

// TestSummaryNotWritten: a summary that cannot be written is an error, and says what was done.
func TestSummaryNotWritten(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for args, want := range map[string]string{
		"check g":    errFullOutput.Error(),
		"backup g b": "b is complete, but the report of it was not written: " + errFullOutput.Error(),
	} {
		var errOut bytes.Buffer
		code := Main(t.Context(), append(strings.Fields(args), "--format", "json"), strings.NewReader(""), fullOutput{}, &errOut)
		if code != exitFailed || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s: got exit code %d and %q, want %d and %s", args, code, errOut.String(), exitFailed, want)
		}
	}
	if _, err := os.Stat("b"); err != nil {
		t.Error(err)
	}
}

// TestCheckSummary: check tells the problems of a damaged store, and what a repair did.
func TestCheckSummary(t *testing.T) {
	reviewedStore(t)
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 64 << 20}, func(s *kv.Store) error {
		return s.Update(func(tx *kv.Tx) error { return tx.Documents("runs").Delete("000000000001") })
	}))
	type summary struct {
		OK       bool
		Problems int
		First    []struct{ Where, What string } `json:"first_problems"`
		Left     *int                           `json:"problems_left"`
		Repairs  *int
		Done     []struct{ Where, What, Done string } `json:"first_repairs"`
		Lost     []struct {
			Kind  string
			Count int64
		}
	}
	parse := func(got outcome) (s summary) {
		t.Helper()
		if err := json.Unmarshal([]byte(got.out), &s); err != nil {
			t.Fatalf("%q: %v (%s)", got.out, err, got.err)
		}
		return s
	}
	got := run(t, "", "check", "g", "--format", "json")
	s := parse(got)
	if got.code != exitFailed || s.OK || s.Problems == 0 || len(s.First) != min(s.Problems, mostListed) || s.Repairs != nil || !strings.Contains(got.err, "--repair") {
		t.Errorf("check: got exit code %d, %+v and %q", got.code, s, got.err)
	}
	if slices.ContainsFunc(s.First, func(p struct{ Where, What string }) bool { return p.Where == "" || p.What == "" }) {
		t.Errorf("check: got %+v", s.First)
	}
	got = run(t, "n\n", "check", "g", "--repair", "--format", "json")
	if s := parse(got); got.code != exitFailed || s.OK || s.Problems == 0 || s.Repairs != nil || !strings.Contains(got.err, "was not confirmed") {
		t.Errorf("unconfirmed: got exit code %d, %+v and %q", got.code, s, got.err)
	}
	got = run(t, "", "check", "g", "--repair", "--yes", "--format", "json")
	s = parse(got)
	if got.code != exitDone || !s.OK || s.Problems == 0 || s.Left == nil || *s.Left != 0 || s.Repairs == nil || *s.Repairs == 0 ||
		len(s.Done) != *s.Repairs || s.Done[0].Done == "" || s.Lost == nil {
		t.Errorf("repair: got exit code %d, %+v and %q", got.code, s, got.err)
	}
}
