package shell

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// rowOrders are the files of a graph of 60 nodes, and predictions that are right in the order of the ids.
func rowOrders() map[string]string {
	var nodes, moved, table, shifted strings.Builder
	var values []float32
	var parts [4]strings.Builder
	for _, out := range []*strings.Builder{&nodes, &moved, &parts[0], &parts[1], &parts[2], &parts[3]} {
		out.WriteString("id,label\n")
	}
	table.WriteString("id,A,B,C\n")
	shifted.WriteString("id,B,C,A\n")
	var sigmoid []float32
	for v := range 60 {
		row := [3]float32{0.1, 0.1, 0.1}
		row[v%3] = 0.8
		values = append(values, row[:]...)
		sigmoid = append(sigmoid, row[0]/2, row[1]/2, row[2]/2) // the probability of each class alone
		label := string(rune('A' + v%3))
		fmt.Fprintf(&nodes, "%d,%s\n", v, label)
		fmt.Fprintf(&parts[v/15], "%d,%s\n", v, label)
		fmt.Fprintf(&moved, "%d,%s\n", (v+31)%60, string(rune('A'+(v+31)%3)))
		fmt.Fprintf(&table, "%d,%v,%v,%v\n", (v+1)%60, row[0], row[1], row[2])
		fmt.Fprintf(&shifted, "%d,%v,%v,%v\n", v, row[0], row[1], row[2])
	}
	return map[string]string{
		"nodes.csv": nodes.String(), "moved.csv": moved.String(), "edges.csv": "src,dst\n0,1\n",
		"edges.npy": pairs("<i8", 0, 1, 1, 2),
		"same.npy":  array(60, 3, slices.Repeat([]float32{1.0 / 3}, 180)...), "sigmoid.npy": array(60, 3, sigmoid...),
		"p.npy": array(60, 3, values...), "p.csv": table.String(), "q.csv": shifted.String(),
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

// Predictions that agree with the labels as shuffled ones would are warned of, with the order that was assumed,
// whatever --quiet says.
func TestRowsOfOtherNodes(t *testing.T) {
	writeRowOrders(t, rowOrders())
	for _, c := range []struct{ nodes, predictions, flags, want string }{
		{"nodes.csv", "p.npy", "", ""},
		{"moved.csv", "p.npy", "--prediction-classes A,B,C",
			"Warning: p.npy: the largest prediction of a row is the label of 0 of 60 nodes, and of 20 by chance. " +
				"Either the predictions are useless"},
		{"nodes.csv", "p.csv", "", "Warning: p.csv: the largest prediction of a row is the label of 0 of 60 nodes, " +
			"and of 20 by chance. " +
			"Either the predictions are useless"},
		{"nodes.csv", "q.csv", "--quiet", "Warning: q.csv: the largest prediction of a row is the label of 0 of 60 nodes"},
		{"dir", "p.npy", "", ""},
	} {
		args := append([]string{"import", "g", "--replace", "--yes", "--nodes", c.nodes, "--edges", "edges.csv",
			"--predictions", c.predictions}, strings.Fields(c.flags)...)
		got := run(t, "", args...)
		if got.code != exitDone || !strings.HasPrefix(got.err, c.want) || (c.want == "") != (got.err == "") {
			t.Errorf("%q: got %d and %s\nwant %s", args, got.code, got.err, c.want)
		}
	}
	if got := mustRun(t, "shell", "g", "-c", "nodes return id limit 60", "--format", "csv"); !strings.HasPrefix(got,
		"id\n0\n1\n2\n") || !strings.HasSuffix(got, "\n58\n59\n") {
		t.Errorf("files in the order of their numbers: got %s", got)
	}
}

// Rows in an order that no order of the columns mends.
func TestShuffledRows(t *testing.T) {
	of := rowOrders()
	labels := "id,label\n"
	for v := range 60 {
		labels += fmt.Sprintf("%d,%c\n", v, 'A'+v*7%60/20) // of which predictions say nothing
	}
	of["labels.csv"] = labels
	of["from1.csv"], of["from1.npy"] = "id,label\n", pairs("<i8", 3, 10, 10, 17)
	for i := range 60 {
		of["from1.csv"] += fmt.Sprintf("%d,%c\n", 1+(i*7+2)%61, 'A'+i/20)
	}
	writeRowOrders(t, of)
	got := run(t, "", "import", "g", "--nodes", "labels.csv", "--edges", "edges.csv", "--predictions", "p.npy")
	const order = "Either the predictions are useless, or columns or rows are in another order. Columns were taken " +
		"for A, B, C, and rows in the order of the nodes file"
	if got.code != exitDone || !strings.Contains(got.err, order) {
		t.Errorf("got %d and %s\nwant %s", got.code, got.err, order)
	}
	got = run(t, "", "import", "g", "--predictions", "q.csv", "--log", "json")
	if got.code != exitDone || !strings.Contains(got.err, `"level":"WARN"`) || !strings.Contains(got.err,
		"Columns were taken as the header names them, and rows by ids") {
		t.Errorf("a table: got %d and %s", got.code, got.err)
	}

	// The ids are positions too, and edges of an array may have meant those.
	got = run(t, "", "import", "h", "--nodes", "moved.csv", "--edges", "edges.npy")
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
