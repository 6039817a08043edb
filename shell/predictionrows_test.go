package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// rowOrders are the files of a graph of 60 nodes, and predictions that are right in the order of the ids.
func rowOrders() map[string]string {
	var nodes, moved strings.Builder
	var values []float32
	var parts [4]strings.Builder
	for _, out := range []*strings.Builder{&nodes, &moved, &parts[0], &parts[1], &parts[2], &parts[3]} {
		out.WriteString("id,label\n")
	}
	for v := range 60 {
		row := [3]float32{0.1, 0.1, 0.1}
		row[v%3] = 0.8
		values = append(values, row[:]...)
		label := string(rune('A' + v%3))
		fmt.Fprintf(&nodes, "%d,%s\n", v, label)
		fmt.Fprintf(&parts[v/15], "%d,%s\n", v, label)
		fmt.Fprintf(&moved, "%d,%s\n", (v+31)%60, string(rune('A'+(v+31)%3)))
	}
	return map[string]string{
		"nodes.csv": nodes.String(), "moved.csv": moved.String(), "edges.csv": "src,dst\n0,1\n",
		"edges.npy":      pairs("<i8", 0, 1, 1, 2),
		"p.npy":          array(60, 3, values...),
		"dir/part-8.csv": parts[0].String(), "dir/part-9.csv": parts[1].String(), "dir/part-10.csv": parts[2].String(),
		"dir/part-11.csv": parts[3].String(),
	}
}

// writeRowOrders writes files into a directory of the test's own, which has a directory dir.
func writeRowOrders(t *testing.T, of map[string]string) {
	t.Helper()
	writeFiles(t, nil)
	must.Do(t, os.Mkdir("dir", 0o755))
	for name, text := range of {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

// Numbers may stand for ids or for positions.
func TestRowsOfOtherNodes(t *testing.T) {
	of := rowOrders()
	of["from1.csv"], of["from1.npy"] = "id,label\n", pairs("<i8", 3, 10, 10, 17)
	for i := range 60 {
		of["from1.csv"] += fmt.Sprintf("%d,%c\n", 1+(i*7+2)%61, 'A'+i/20)
	}
	writeRowOrders(t, of)
	mustRun(t, "import", "g", "--nodes", "dir", "--edges", "edges.csv", "--predictions", "p.npy")
	if got := mustRun(t, "shell", "g", "-c", "nodes return id limit 60", "--format", "csv"); !strings.HasPrefix(got,
		"id\n0\n1\n2\n") || !strings.HasSuffix(got, "\n58\n59\n") {
		t.Errorf("files in the order of their numbers: got %s", got)
	}
	// The ids are positions too, and edges of an array may have meant those.
	got := run(t, "", "import", "h", "--nodes", "moved.csv", "--edges", "edges.npy")
	const positions = "The ids of the nodes are numbers in another order than the rows of the nodes file."
	if got.code != exitDone || !strings.HasPrefix(got.err, positions) {
		t.Errorf("got %d and %s\nwant %s", got.code, got.err, positions)
	}
	got = run(t, "", "import", "h", "--features", "p.npy")
	if got.code != exitDone || !strings.HasPrefix(got.err, positions) {
		t.Errorf("features: got %d and %s", got.code, got.err)
	}
	// So it is with numbers from 1, some of which no node has.
	if got = run(t, "", "import", "f", "--nodes", "from1.csv", "--edges", "from1.npy"); !strings.HasPrefix(got.err, positions) {
		t.Errorf("numbers from 1: got %d and %s", got.code, got.err)
	}
	for _, files := range [][2]string{{"nodes.csv", "edges.npy"}, {"moved.csv", "edges.csv"}} {
		if got := run(t, "", "import", "i", "--replace", "--yes", "--nodes", files[0], "--edges",
			files[1]); got.code != exitDone || got.err != "" {
			t.Errorf("%v: got %d and %s, want no remark", files, got.code, got.err)
		}
	}
}

// A row of an array without numbers is no prediction.
func TestArrayOfSomePredictions(t *testing.T) {
	writeFiles(t, map[string]string{
		"nodes.csv": "id,label\na,A\nb,B\nc,A\n", "edges.csv": "src,dst\na,b\n",
		"p.npy": array(3, 2, 1, 0, nan32, nan32, 0.25, 0.75), "half.npy": array(3, 2, 1, 0, nan32, 1, 0.25, 0.75),
		"none.npy": array(3, 2, nan32, nan32, nan32, nan32, nan32, nan32),
	})
	got := run(t, "", importArgs("--predictions p.npy")...)
	if got.code != exitDone || !strings.Contains(got.err, "p.npy: 1 of 3 nodes have no predictions") {
		t.Errorf("got %d and %s, want one node without predictions", got.code, got.err)
	}
	for file, want := range map[string]string{"half.npy": "half.npy: row 1 (node b): class A is NaN",
		"none.npy": "none.npy: has predictions of no node"} {
		if got := run(t, "", "import", "g", "--predictions", file); got.code != exitFailed ||
			!strings.Contains(got.err, want) {
			t.Errorf("%s: got %d and %s, want %s", file, got.code, got.err, want)
		}
	}
}
