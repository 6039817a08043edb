package shell

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// graphText is the files of a graph whose degrees fall from node to node.
func graphText(nodes, edges, classes int, id string, seed uint64) (nodesFile, edgesFile string) {
	random := rand.New(rand.NewPCG(seed, 0))
	var n, m strings.Builder
	n.WriteString("id,label\n")
	for v := range nodes {
		fmt.Fprintf(&n, "%s%d,c%d\n", id, v, v%classes)
	}
	m.WriteString("src,dst\n")
	draw := func() int { return int(math.Pow(random.Float64(), 2) * float64(nodes)) }
	for range edges {
		fmt.Fprintf(&m, "%s%d,%s%d\n", id, draw(), id, draw())
	}
	return n.String(), m.String()
}

// within fails unless two numbers are within a factor of each other.
func within(t *testing.T, what string, got, want, factor float64) {
	t.Helper()
	if ratio := got / want; !(ratio <= factor && ratio >= 1/factor) {
		t.Errorf("%s: got %.4g, want %.4g within a factor of %v", what, got, want, factor)
	}
}

func estimated(t *testing.T, args ...string) (e estimate) {
	t.Helper()
	text := mustRun(t, append([]string{"estimate", "--format", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%q printed %s: %v", args, text, err)
	}
	return e
}

// planned is what an estimate says of files before any of it is timed.
func planned(t *testing.T, opt cleaner.Options) *projection {
	t.Helper()
	p := &projection{s: &streams{}, memory: 256 << 20, options: opt}
	if err := p.count(t.Context(), &estimateCommand{Nodes: "nodes.csv", Edges: "edges.csv"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.clean, err = cleaner.EstimateClean(t.Context(), p.counts, opt); err != nil {
		t.Fatal(err)
	}
	return p
}

// The clock is left out: counts, the plan, the price and the blocks must be as they then are.
func TestEstimateIsWhatHappens(t *testing.T) {
	for _, c := range []struct {
		nodes, edges, classes int
		id                    string
	}{{3000, 20000, 5, ""}, {60000, 180000, 12, "n"}, {40000, 400000, 3, ""}} {
		nodes, edges := graphText(c.nodes, c.edges, c.classes, c.id, 1)
		writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
		opt := cleaner.Options{Hops: 4, Workers: 2, MemoryBudget: 32 << 20}
		before := planned(t, opt)
		mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv", "--memory", "256MiB")
		var of *cleaner.CleanEstimate
		blocks := int64(0)
		err := withStore("g", kv.Options{}, func(store *kv.Store) error {
			return store.View(func(tx *kv.Tx) error {
				counts, err := cleaner.CountStore(t.Context(), tx, opt)
				if err != nil {
					return err
				}
				_, err = ops.Measure(t.Context(), tx, ops.Options{OnStage: func(s kv.Stage) { blocks += s.BytesRead }})
				if err == nil {
					of, err = cleaner.EstimateClean(t.Context(), counts, opt)
				}
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d nodes and %d edges: ", c.nodes, c.edges)
		within(t, what+"nodes", float64(before.counts.Nodes), float64(of.Counts.Nodes), 1.001)
		within(t, what+"edges", float64(before.counts.Sizes.Edges()), float64(of.Counts.Sizes.Edges()), 1.001)
		within(t, what+"steps", before.clean.Diagonal.Steps, of.Diagonal.Steps, 1.01)
		within(t, what+"memory", float64(before.clean.MemoryBytes), float64(of.MemoryBytes), 1.1)
		within(t, what+"temporary files", float64(before.clean.TemporaryBytes), float64(of.TemporaryBytes), 1.1)
		within(t, what+"adjacency", float64(before.load.AdjacencyBytes), float64(blocks), 1.2)
		got, want := before.clean.Plan, of.Plan
		if got.Strategy != want.Strategy || got.Width != want.Width || got.Passes != want.Passes || got.Held != want.Held {
			t.Errorf("%sbefore the import the plan is %+v, after it %+v", what, got, want)
		}
	}
}

func TestEstimateOfTheDisk(t *testing.T) {
	nodes, edges := graphText(40000, 300000, 3, "", 1)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	t.Setenv("TMPDIR", t.TempDir())
	before := estimated(t, "--nodes", "nodes.csv", "--edges", "edges.csv", "--hops", "2")
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	got, err := diskBytes("g")
	if err != nil {
		t.Fatal(err)
	}
	within(t, "bytes of the store", float64(before.Store), float64(got), 1.5)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "graphcleaner-estimate-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestEstimatePlansAsCleanDoes(t *testing.T) {
	nodes, edges := graphText(5000, 40000, 6, "", 3)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	var passes int
	stages := new(stageLog)
	opt := cleaner.Options{Hops: 3, Workers: 2, MemoryBudget: 4 << 20, OnStage: stages.add}
	err := withStore("g", kv.Options{}, func(store *kv.Store) error {
		if _, err := cleaner.Predict(t.Context(), store, cleaner.PredictOptions{}); err != nil {
			return err
		}
		var e *cleaner.CleanEstimate
		err := store.View(func(tx *kv.Tx) error {
			counts, err := cleaner.CountStore(t.Context(), tx, opt)
			if err == nil {
				e, err = cleaner.EstimateClean(t.Context(), counts, opt)
			}
			return err
		})
		if err != nil {
			return err
		}
		passes = e.Plan.Tiles * opt.Hops
		if e.MemoryBytes > opt.MemoryBudget || e.LeastBytes > e.MemoryBytes {
			t.Errorf("got %d bytes held of %d, with %d at least", e.MemoryBytes, opt.MemoryBudget, e.LeastBytes)
		}
		low := opt
		low.MemoryBudget = e.LeastBytes
		if _, err := cleaner.Clean(t.Context(), store, low); err != nil {
			t.Errorf("with the least memory of the estimate, %d bytes: %v", e.LeastBytes, err)
		}
		stages.stages = nil
		_, err = cleaner.Clean(t.Context(), store, opt)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	walked := 0
	for _, stage := range stages.stages {
		if stage.Name == "propagate" {
			walked++
		}
	}
	if walked != passes {
		t.Errorf("clean propagated %d tiles and hops, the estimate has %d", walked, passes)
	}
}

// A part of the edges tells what there is in all of them.
func TestEdgeSampleTellsOfTheWhole(t *testing.T) {
	const nodes, rows = 1 << 14, 1 << 18
	random := rand.New(rand.NewPCG(7, 7))
	edges := make([][2]uint32, rows)
	for i := range edges {
		for j := range 2 {
			x := random.Float64()
			edges[i][j] = uint32(x * x * nodes)
		}
	}
	all := ops.NewEdgeSample(nodes, edges, 1)
	const share = 0.25
	part := ops.NewEdgeSample(nodes, edges[:rows/4], share)
	within(t, "edges", float64(edgesLeft(edges[:rows/4], nodes, part.Edges(), share)), float64(all.Edges()), 1.05)
	within(t, "greatest degree", float64(part.Degrees()[0]), float64(all.Degrees()[0]), 1.25)
	sizes := ops.SizesOf(nodes, all.Edges(), all.Degrees()[0], 1<<12, 1<<16)
	opt := ops.Options{MemoryBudget: 64 << 20, Workers: 2}
	want, err := all.PlanDiagonals(t.Context(), sizes, 4, opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := part.PlanDiagonals(t.Context(), sizes, 4, opt)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "steps", got.Steps, want.Steps, 1.3)
	within(t, "memory", float64(got.MemoryBytes), float64(want.MemoryBytes), 1.3)
	if got.Passes != want.Passes {
		t.Errorf("passes: got %d, want %d", got.Passes, want.Passes)
	}
}
