package shell

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// A manyClasses is a graph of communities, one a class, with predictions of five classes a node, the class of its
// community first.
type manyClasses struct {
	nodes, edges string
	wrong        map[int]bool // nodes given the label of another class
	indptr       []int64
	indices      []int64
	values       []float32
}

// files are those of the graph. Its predictions are a sparse matrix.
func (g *manyClasses) files(t *testing.T, classes int) map[string]string {
	nodes := len(g.indptr) - 1
	return map[string]string{"nodes.csv": g.nodes, "edges.csv": g.edges, "p.npz": zipped(t, map[string]string{
		"indptr": vector(g.indptr...), "indices": vector(g.indices...), "shape": vector(int64(nodes), int64(classes)),
		"data": npyFile("<f4", fmt.Sprintf("(%d,)", len(g.values)), g.values),
	})}
}

func newManyClasses(nodes, classes int) *manyClasses {
	r := rand.New(rand.NewPCG(1, 0))
	g := &manyClasses{wrong: map[int]bool{}, indptr: []int64{0}}
	var nodeRows, edgeRows strings.Builder
	nodeRows.WriteString("id,label,split\n")
	edgeRows.WriteString("src,dst\n")
	for v := range nodes {
		label := v % classes
		if v >= 10*classes && v%40 == 0 {
			label = (label + 1 + r.IntN(classes-1)) % classes
			g.wrong[v] = true
		}
		split := [...]string{"train", "val"}[v/classes%2]
		fmt.Fprintf(&nodeRows, "n%d,class%03d,%s\n", v, label, split)
		for range 6 { // within the community
			fmt.Fprintf(&edgeRows, "n%d,n%d\n", v, (v+classes*(1+r.IntN(nodes/classes)))%nodes)
		}
		for i, p := range []float32{0.8, 0.1, 0.05, 0.03, 0.02} {
			g.indices = append(g.indices, int64((v+i*i*7)%classes))
			g.values = append(g.values, p)
		}
		g.indptr = append(g.indptr, int64(len(g.indices)))
	}
	g.nodes, g.edges = nodeRows.String(), edgeRows.String()
	return g
}

// TestTooManyClasses imports more names of classes than a store takes: the error names the file, their number and a way
// on.
func TestTooManyClasses(t *testing.T) {
	var nodes strings.Builder
	nodes.WriteString("id,label\n")
	for v := range 120_000 {
		fmt.Fprintf(&nodes, "n%d,a class of a name that is not short %06d\n", v, v)
	}
	writeFiles(t, map[string]string{"nodes.csv": nodes.String(), "edges.csv": "src,dst\nn0,n1\n"})
	got := run(t, "", "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--memory", "64MiB")
	for _, want := range []string{"nodes.csv: ", "120000 classes",
		"classes and columns do not fit into a store, want fewer or shorter ones, more --memory does not help"} {
		if got.code != exitFailed || !strings.Contains(got.err, want) {
			t.Errorf("got exit code %d and %s, want %q", got.code, got.err, want)
		}
	}
	if _, err := os.Stat("g"); !os.IsNotExist(err) {
		t.Errorf("got a store, or %v, want none", err)
	}
}

// TestManyClasses runs the whole job on many classes; at length on 1,000, in a memory that a dense matrix of
// predictions or of class pairs a few times over would not fit.
func TestManyClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("nodes of many classes take a while")
	}
	classes := longtest.Of(30, 1000)
	nodes := 20 * classes
	g := newManyClasses(nodes, classes)
	writeFiles(t, g.files(t, classes))
	got := run(t, "", "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--predictions", "p.npz")
	if got.code != exitDone {
		t.Fatalf("import: got exit code %d and %s", got.code, got.err)
	}
	if size, most := matrixBytes(t), int64(nodes)*(1+5*(2+4))+4<<20; size > most { // of five classes a node
		t.Errorf("the store takes %d bytes, want at most %d", size, most)
	}
	mustRun(t, "clean", "g", "--hops", "2", "--memory", "256MiB")
	suspects := strings.Split(strings.TrimSpace(mustRun(t, "shell", "g", "-c", "suspects return id", "--format", "csv")),
		"\n")[1:]
	right := 0
	for _, id := range suspects {
		var v int
		must.Get(fmt.Sscanf(id, "n%d", &v))(t)
		if g.wrong[v] {
			right++
		}
	}
	if 10*right < 9*len(suspects) || 10*right < 9*len(g.wrong) {
		t.Errorf("got %d suspects, %d of them among the %d planted mislabels, want most of both", len(suspects), right,
			len(g.wrong))
	}
	mustRun(t, "export", "g", "transition", "--out", "t.csv")
	text := must.Get(os.ReadFile("t.csv"))(t)
	if rows := strings.Count(string(text), "\n"); rows != classes+1 {
		t.Errorf("transition: got %d rows, want %d", rows, classes+1)
	}
	if got := mustRun(t, "shell", "g", "-c", "explain n500"); !strings.Contains(got, "class") {
		t.Errorf("explain: got %s", got)
	}
	mustRun(t, "check", "g")
}

// matrixBytes is the size of the tables of the store g, without its log.
func matrixBytes(t *testing.T) int64 {
	t.Helper()
	entries := must.Get(os.ReadDir("g"))(t)
	total := int64(0)
	for _, entry := range entries {
		info := must.Get(entry.Info())(t)
		if strings.HasSuffix(entry.Name(), ".sst") {
			total += info.Size()
		}
	}
	return total
}
