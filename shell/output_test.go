package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// A fullDisk is an output that takes nothing.
type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// Where the answer cannot be written, the message says what was done all the same.
func TestOutputFails(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges, "s.csv": "id,split\na,train\n"})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	for args, want := range map[string]string{
		"--help":        errFull.Error(),
		"import --help": errFull.Error(),
		"import h --nodes nodes.csv --edges edges.csv": "h is made, but the report of it was not written: " + errFull.Error(),
		"import g --splits s.csv":                      "splits are in g, but the report of it was not written: " + errFull.Error(),
	} {
		var errOut strings.Builder
		code := Main(t.Context(), strings.Fields(args), strings.NewReader(""), fullDisk{}, &errOut)
		if code != exitFailed || !strings.Contains(errOut.String(), want) || strings.Contains(errOut.String(), "for help") {
			t.Errorf("%s: got exit code %d and %s\nwant %d and %s", args, code, errOut.String(), exitFailed, want)
		}
	}
}

// The scores of the last clean are spoken of only where there was one.
func TestImportBeforeClean(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges, "s.csv": "id,split\na,train\n"})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	got := run(t, "", "import", "g", "--splits", "s.csv")
	if got.code != exitDone || strings.Contains(got.err, "last clean") || !strings.Contains(got.err, "Next: ") {
		t.Errorf("got exit code %d and %s, want what comes next alone", got.code, got.err)
	}
}

// A budget that is too small is told as the flag that would do.
func TestTooLittleMemory(t *testing.T) {
	r := resources{Memory: 64 << 20}
	err := r.inFlags(fmt.Errorf("clean: %w", &ops.BudgetError{Job: "diagonal", Budget: r.work(), Least: 300 << 20}))
	if want := "--memory 64MiB is too little for this graph: want at least 464MiB"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := r.inFlags(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("another error: got %v", err)
	}
}

// Devices and pipes have no extension to go by.
func TestExportToStream(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	mustRun(t, "export", "g", "labels", "--out", os.DevNull)
	if got := run(t, "", "export", "g", "labels", "--out", "labels"); got.code != exitUsage {
		t.Errorf("a file without an extension: got exit code %d and %s", got.code, got.err)
	}
}

// An index that disagrees with its column is a problem that check prints.
func TestCheckLooksAtIndexes(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": threeNodes, "edges.csv": twoEdges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	// A hook that does nothing lets the index fall behind.
	store, err := kv.Open("g", kv.Options{MemoryBudget: 1, OnWrite: func(*kv.Tx, kv.NodeID, string, kv.Value, kv.Value) error { return nil }})
	must.Do(t, err)
	err = store.Update(func(tx *kv.Tx) error {
		v, err := tx.Node("c")
		if err != nil {
			return err
		}
		return tx.SetLabel(v, "X")
	})
	must.Do(t, errors.Join(err, store.Close()))
	got := run(t, "", "check", "g")
	if got.code != exitFailed || !strings.Contains(got.out, "index on label: ") {
		t.Errorf("got exit code %d, %s and %s, want a problem of the index", got.code, got.out, got.err)
	}
}
