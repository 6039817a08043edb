package shell

import (
	"strings"
	"testing"
)

// TestExportFeaturesOfTheRun: without --hops the features are those that the last run used.
func TestExportFeaturesOfTheRun(t *testing.T) {
	const nodes, classes = 400, 20
	g := newManyClasses(nodes, classes)
	writeFiles(t, map[string]string{"nodes.csv": g.nodes, "edges.csv": g.edges, "p.npz": zipped(t, map[string]string{
		"indptr": vector(g.indptr...), "indices": vector(g.indices...), "shape": vector(nodes, classes), "data": floats(g.values),
	})})
	mustRun(t, "import", "g", "--directed", "--nodes", "nodes.csv", "--edges", "edges.csv", "--predictions", "p.npz")
	export := func() (text, said string) {
		t.Helper()
		got := run(t, "", "export", "g", "features", "--out", "z.npy")
		if got.code != exitDone {
			t.Fatalf("export features: got exit code %d and %s", got.code, got.err)
		}
		return string(mustRead(t, "z.npy")), got.err
	}
	if got, said := export(); !strings.Contains(got, "(400, 7)") || strings.Contains(said, "as of run") {
		t.Errorf("before any run: got %q and %q, want features of 3 hops", got[:80], said)
	}
	mustRun(t, "clean", "g", "--preset", "paper", "--hops", "2")
	if got, said := export(); !strings.Contains(got, "(400, 5)") || !strings.Contains(said, "Features of 2 hops, as of run 1.") {
		t.Errorf("got %q and %q, want features of the run", got[:80], said)
	}
}
