package shell

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/machine"
	"github.com/graphcleaner/graphcleaner/internal/testing/longtest"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
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

// planned is what an estimate of files is made of.
func planned(t *testing.T, opt cleaner.Options) *projection {
	t.Helper()
	p := &projection{resources: resources{Memory: 256 << 20}, options: opt}
	must.Do(t, p.count(t.Context(), &estimateCommand{Nodes: []string{"nodes.csv"}, Edges: []string{"edges.csv"}}))
	var err error
	if p.clean, err = cleaner.EstimateClean(t.Context(), p.counts, opt); err != nil {
		t.Fatal(err)
	}
	return p
}

// Counts, the plan, the price and the blocks are those of the store that is then there.
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
		must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			return store.View(func(tx *kv.Tx) error {
				counts, err := cleaner.CountStore(t.Context(), tx, opt)
				if err != nil {
					return err
				}
				_, err = ops.Measure(t.Context(), tx, ops.Options{OnStage: func(s ops.Stage) { blocks += s.BytesRead }})
				if err == nil {
					of, err = cleaner.EstimateClean(t.Context(), counts, opt)
				}
				return err
			})
		}))
		what := fmt.Sprintf("%d nodes and %d edges: ", c.nodes, c.edges)
		within(t, what+"nodes", float64(before.counts.Nodes), float64(of.Counts.Nodes), 1.001)
		within(t, what+"edges", float64(before.counts.Sizes.Edges()), float64(of.Counts.Sizes.Edges()), 1.001)
		within(t, what+"steps", before.clean.Steps, of.Steps, 1.01)
		within(t, what+"memory", float64(before.clean.HeldBytes+before.clean.MappedBytes), float64(of.HeldBytes+of.MappedBytes), 1.1)
		within(t, what+"temporary files", float64(before.clean.TemporaryBytes), float64(of.TemporaryBytes), 1.1)
		within(t, what+"adjacency", float64(before.load.adjacencyBytes), float64(blocks), 1.2)
		got, want := before.clean.Plan, of.Plan
		if got.OnDisk != want.OnDisk || got.Width != want.Width || got.Passes != want.Passes || got.Held != want.Held {
			t.Errorf("%sbefore the import the plan is %+v, after it %+v", what, got, want)
		}
	}
}

func TestEstimateOfTheDisk(t *testing.T) {
	size := longtest.Of(4_000, 40_000)
	nodes, edges := graphText(size, 15*size/2, 3, "", 1)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	before := estimated(t, "--nodes", "nodes.csv", "--edges", "edges.csv", "--hops", "2")
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	onDisk := func() float64 {
		var stats struct {
			Bytes float64 `json:"disk_bytes"`
		}
		must.Do(t, json.Unmarshal([]byte(mustRun(t, "stats", "g", "--format", "json")), &stats))
		return stats.Bytes
	}
	within(t, "bytes of the store", float64(before.Store), onDisk(), 1.5)
	mustRun(t, "clean", "g", "--hops", "2")
	within(t, "bytes of the store, cleaned", float64(before.Cleaned), onDisk(), 1.5)

	// Words of papers, as 0 and 1, of a table and of an array. The classifier that learns from them is kept.
	const papers, words = 1_000, 300
	random := rand.New(rand.NewPCG(1, 2))
	var table, linked strings.Builder
	var values []float32
	table.WriteString("id")
	for j := range words {
		fmt.Fprintf(&table, ",w%d", j)
	}
	linked.WriteString("src,dst\n")
	for v := range papers {
		fmt.Fprintf(&table, "\n%d", v)
		for range words {
			x := random.IntN(10) / 8
			fmt.Fprintf(&table, ",%d", x)
			values = append(values, float32(x))
		}
		fmt.Fprintf(&linked, "%d,%d\n%d,%d\n", v, (v+3)%papers, v, (v+12)%papers) // of the same class, mostly
	}
	nodes, _ = graphText(papers, 1, 3, "", 1)
	writeFiles(t, map[string]string{
		"nodes.csv": nodes, "edges.csv": linked.String(), "words.csv": table.String() + "\n",
		"words.npy": array(papers, words, values...),
	})
	for _, of := range []string{"words.csv", "words.npy"} {
		graph := []string{"--nodes", "nodes.csv", "--edges", "edges.csv", "--features", of}
		before = estimated(t, graph...)
		mustRun(t, append([]string{"import", "g", "--replace", "--yes"}, graph...)...)
		within(t, "bytes of the store with "+of, float64(before.Store), onDisk(), 1.5)
	}
	mustRun(t, "clean", "g")
	within(t, "bytes of the store with features, cleaned", float64(before.Cleaned), onDisk(), 1.5)
}

func TestEstimatePlansAsCleanDoes(t *testing.T) {
	nodes, edges := graphText(5000, 40000, 6, "", 3)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	var passes int
	stages := new(stageLog)
	opt := cleaner.Options{Hops: 3, Workers: 2, MemoryBudget: 4 << 20, OnStage: stages.add}
	must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
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
		if held := e.HeldBytes + e.MappedBytes; held > opt.MemoryBudget || e.LeastBytes > held {
			t.Errorf("got %d bytes held of %d, with %d at least", held, opt.MemoryBudget, e.LeastBytes)
		}
		low := opt
		low.MemoryBudget = e.LeastBytes
		if _, err := cleaner.Clean(t.Context(), store, low); err != nil {
			t.Errorf("with the least memory of the estimate, %d bytes: %v", e.LeastBytes, err)
		}
		stages.stages = nil
		_, err = cleaner.Clean(t.Context(), store, opt)
		return err
	}))
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

// What the collector lets the heap grow to, and what of it no memory is behind.
func TestAnonymousMemory(t *testing.T) {
	const mebibyte = 1 << 20
	for _, c := range []struct {
		use                          memoryUse
		buffers, volume, limit, want int64 // in MiB
	}{
		{memoryUse{}, 0, 1000, 1000, 0},
		{memoryUse{mapped: 300, live: 10}, 0, 1000, 1000, 322},  // twice 10, and a tenth
		{memoryUse{mapped: 300, live: 10}, 10, 1000, 1000, 344}, // buffers count as what is held
		{memoryUse{mapped: 300, live: 10}, 10, 5, 1000, 325},    // nothing else was allocated
		{memoryUse{mapped: 300, live: 100}, 0, 1000, 120, 432},  // held to the limit
		{memoryUse{live: 100}, 0, 1000, 50, 100},                // what is alive is not given up
		{memoryUse{live: 100, blank: 80}, 0, 1000, 1000, 140},   // a table that nothing is in
	} {
		use := memoryUse{mapped: c.use.mapped * mebibyte, live: c.use.live * mebibyte, blank: c.use.blank * mebibyte}
		got := anonymous(use, c.buffers*mebibyte, c.volume*mebibyte, c.limit*mebibyte) - idleBytes
		if got/mebibyte != c.want {
			t.Errorf("%+v with %d MiB of buffers, %d allocated, at most %d: got %d MiB, want %d",
				c.use, c.buffers, c.volume, c.limit, got/mebibyte, c.want)
		}
	}
}

// What the system counts has the program and the mapped files, as far as there is room for them.
func TestResidentMemory(t *testing.T) {
	const mebibyte = 1 << 20
	if got := resident(100*mebibyte, 50*mebibyte); got != 178*mebibyte {
		t.Errorf("100 MiB of anonymous memory and 50 of files: got %d MiB, want 178", got/mebibyte)
	}
	if got, most := resident(100*mebibyte, 1<<50), 4*machine.MemoryBudget()+programBytes; got != most {
		t.Errorf("files of a PiB: got %d bytes, want the %d of the machine", got, most)
	}
}

// TestLeastMemory compares the least memory for an amount of work with the first that is enough, one MiB after another.
func TestLeastMemory(t *testing.T) {
	const mebibyte = 1 << 20
	check := func(work int64, memory byteSize) {
		t.Helper()
		if got := leastMemoryFor(work); got != int64(memory) {
			t.Fatalf("%d bytes of work: got %d bytes, want %d", work, got, memory)
		}
	}
	before := int64(-1)
	for memory := leastMemory; memory < 4<<30; memory += mebibyte {
		enough := (&resources{Memory: memory}).work()
		check(before+1, memory)
		check(enough, memory)
		before = enough
	}
	for _, work := range []int64{1 << 50, 1<<60 + 1} {
		memory := byteSize(leastMemoryFor(work))
		less := resources{Memory: memory - mebibyte}
		if enough := (&resources{Memory: memory}).work(); memory%mebibyte != 0 || enough < work || less.work() >= work {
			t.Errorf("%d bytes of work: got %d bytes", work, memory)
		}
	}
}

// Importing and cleaning the same graph with less memory is said to hold less, down to the least that would do.
func TestEstimateOfTheMemory(t *testing.T) {
	size := longtest.Of(4_000, 40_000)
	nodes, edges := graphText(size, 15*size/2, 3, "", 1)
	writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
	of := func(memory string) estimate {
		return estimated(t, "--nodes", "nodes.csv", "--edges", "edges.csv", "--hops", "2", "--predictions", "3", "--memory", memory)
	}
	little, much := of("128MiB"), of("2GiB")
	for _, e := range []estimate{little, much} {
		if !e.Fits || e.ImportPeak > e.Memory || e.CleanPeak > e.Memory || e.Least > e.Memory {
			t.Errorf("--memory %d: got fits %v, import with %d, clean with %d bytes, at least %d",
				e.Memory, e.Fits, e.ImportPeak, e.CleanPeak, e.Least)
		}
	}
	if little.ImportPeak > much.ImportPeak || little.CleanPeak > much.CleanPeak {
		t.Errorf("import and clean hold %d and %d bytes of 128 MiB, and %d and %d of 2 GiB",
			little.ImportPeak, little.CleanPeak, much.ImportPeak, much.CleanPeak)
	}
}

// Features and predictions are seen in their files, in whatever form.
func TestEstimateReadsTheFilesOfAnImport(t *testing.T) {
	nodes, edges := graphText(300, 900, 3, "", 1)
	writeFiles(t, map[string]string{
		"nodes.csv": nodes, "edges.csv": edges, "f.csv": "id,a,b,c\n0,1,2,3\n", "p.csv": "id,x,y\n0,1,0\n",
		"weights.csv": "src,dst,weight\n0,1,2\n1,2,3\n2,3,2\n",
	})
	counted := func(c estimateCommand) *projection {
		t.Helper()
		p := &projection{resources: resources{Memory: 256 << 20}, options: cleaner.Options{Workers: 2}}
		if c.Nodes = []string{"nodes.csv"}; c.Edges == nil {
			c.Edges = []string{"edges.csv"}
		}
		must.Do(t, p.count(t.Context(), &c))
		return p
	}
	p := counted(estimateCommand{})
	if c := p.counts; c.Nodes != 300 || c.Labels != 300 || c.Classes != 3 || c.Predictions {
		t.Errorf("nodes and edges: got %+v", c)
	}
	p = counted(estimateCommand{Features: "f.csv", Predictions: "p.csv"})
	if c := p.counts; c.Features != 3 || c.Classes != 2 || !c.Predictions {
		t.Errorf("files: got %+v", c)
	}
	p = counted(estimateCommand{Features: "700", Predictions: "5"})
	if c := p.counts; c.Features != 700 || c.Classes != 5 || !c.Predictions {
		t.Errorf("numbers: got %+v", c)
	}
	plain, weighted := p.load.adjacencyBytes, counted(estimateCommand{Edges: []string{"weights.csv"}})
	if weighted.files.weights != 2 || weighted.load.adjacencyBytes >= plain {
		t.Errorf("got %d weights and %d bytes of 3 edges, %d of 900 without weights",
			weighted.files.weights, weighted.load.adjacencyBytes, plain)
	}
	directed := counted(estimateCommand{Directed: true})
	if directed.load.adjacencyBytes <= plain {
		t.Errorf("got %d bytes of adjacency with directions, %d without", directed.load.adjacencyBytes, plain)
	}
}

// TestEstimateWithoutEdges has a file of edges with nothing but a header, and the store that is made of it.
func TestEstimateWithoutEdges(t *testing.T) {
	writeFiles(t, map[string]string{"nodes.csv": "id,label\n0,a\n1,b\n2,a\n3,b\n", "edges.csv": "src,dst\n"})
	of := estimated(t, "--nodes", "nodes.csv", "--edges", "edges.csv", "--predictions", "2")
	if of.Nodes != 4 || of.Edges != 0 || of.Steps != 0 || !of.Fits {
		t.Errorf("files: got %+v, want 4 nodes without edges", of)
	}
	mustRun(t, "import", "g", "--nodes", "nodes.csv", "--edges", "edges.csv")
	if stored := estimated(t, "g"); stored.Edges != 0 || stored.Plan != of.Plan {
		t.Errorf("the store: got %d edges and the plan %s, of its files %s", stored.Edges, stored.Plan, of.Plan)
	}
	p := planned(t, cleaner.Options{Hops: 3, Workers: 2, MemoryBudget: 32 << 20})
	if p.clean.Plan.Rows != 1 {
		t.Errorf("got a plan for %d rows, want 1, as of a graph without edges that is stored", p.clean.Plan.Rows)
	}
}

// Of a file that is read as a whole, the sizes are those of the store and the steps nearly so, whatever its form.
func TestEstimateOfAllEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, form := range []struct{ directed, weighted bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		nodes, edges := graphText(200, 700, 3, "", 9)
		if form.weighted {
			rows := strings.Split(strings.TrimSuffix(edges, "\n"), "\n")
			rows[0] += ",weight"
			for i := 1; i < len(rows); i++ {
				rows[i] += fmt.Sprintf(",%d", 1+random.IntN(3))
			}
			edges = strings.Join(rows, "\n") + "\n"
		}
		writeFiles(t, map[string]string{"nodes.csv": nodes, "edges.csv": edges})
		args, direction := []string{"import", "g", "--replace", "--yes", "--nodes", "nodes.csv", "--edges", "edges.csv"}, kv.Both
		if form.directed {
			args, direction = append(args, "--directed"), kv.Out
		}
		mustRun(t, args...)
		p := &projection{resources: resources{Memory: 256 << 20}, options: cleaner.Options{Workers: 1}}
		of := &estimateCommand{Nodes: []string{"nodes.csv"}, Edges: []string{"edges.csv"}, Directed: form.directed}
		of.Direction = direction
		must.Do(t, p.count(t.Context(), of))
		must.Do(t, withStore("g", kv.Options{MemoryBudget: 1}, func(store *kv.Store) error {
			return store.View(func(tx *kv.Tx) error {
				graph := tx.Along(direction)
				sizes, err := ops.Measure(t.Context(), graph, ops.Options{})
				if err != nil {
					return err
				}
				got := *p.counts.Sizes
				// The blocks are estimated, and no list is longer than one of both directions.
				got.MaxRows, got.MaxEntries, got.MaxDegree = sizes.MaxRows, sizes.MaxEntries, min(got.MaxDegree, sizes.MaxDegree)
				if got != *sizes {
					t.Errorf("%+v: got sizes %+v, want %+v", form, got, *sizes)
				}
				for hops := 1; hops <= ops.MaxHops; hops++ {
					want, err := ops.DiagonalSteps(t.Context(), graph, hops, ops.Options{})
					if err != nil {
						return err
					}
					got := must.Get(p.counts.Steps(t.Context(), hops))(t)
					if got != want { // nodes of one degree are in another order
						within(t, fmt.Sprintf("%+v, steps of %d hops", form, hops), got, want, 1.01)
					}
				}
				return nil
			})
		}))
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
	const share = 0.25
	all, part := newEdgeSample(edges, nodes, 1, false), newEdgeSample(edges[:rows/4], nodes, share, false)
	within(t, "edges", float64(edgesLeft(edges[:rows/4], len(part.edges), share)), float64(len(all.edges)), 1.05)
	within(t, "greatest degree", float64(part.degrees()[0]), float64(all.degrees()[0]), 1.25)
	within(t, "steps", part.steps(4), all.steps(4), 1.3)
}

// What the classes take is told, and a graph of any size is answered at once, the same each time.
func TestEstimateOfManyClasses(t *testing.T) {
	args := []string{"--nodes", "400", "--edges", "1200", "--classes", "150", "--predictions", "150"}
	e := estimated(t, args...)
	if e.Classes != 150 || !e.Fits {
		t.Errorf("got %+v, want an estimate of 150 classes that fits", e)
	}
	if notes := strings.Join(e.Notes, "\n"); !strings.Contains(notes, "The matrices between 150 classes take 1.4 MiB of the memory of clean.") {
		t.Errorf("got notes %q, want what the matrices take", notes)
	}
	if again := estimated(t, args...); !reflect.DeepEqual(again, e) {
		t.Errorf("got %+v, then %+v", e, again)
	}
	if !longtest.Asked() {
		return
	}
	if huge := estimated(t, "--nodes", "1000000000", "--edges", "20000000000", "--classes", "20000", "--memory", "128GiB"); huge.Nodes != 1e9 || huge.Cleaned < 80e12 {
		t.Errorf("a billion nodes: got %d, in a store of %d bytes", huge.Nodes, huge.Cleaned)
	}
	small := estimated(t, "--nodes", "1000", "--edges", "3000", "--classes", "20000", "--memory", "1GiB", "--preset", "paper")
	if small.Fits || small.Least < 3<<30 {
		t.Errorf("20,000 classes in 1 GiB with preset paper: got %+v, want more memory", small)
	}
}

// TestEstimateOfTooMuch asks about numbers that no store can have: the answer is an error that says what is possible.
func TestEstimateOfTooMuch(t *testing.T) {
	for _, c := range []struct{ nodes, edges, classes, want string }{
		{"1000000000000000", "10", "2", "--nodes 1000000000000000: want at most 4294963200"},
		{"10", "9223372036854775807", "2", "--edges 9223372036854775807: want at most"},
		{"10", "5", "1048577", "--classes 1048577: want at most 1048576"},
	} {
		got := run(t, "", "estimate", "--nodes", c.nodes, "--edges", c.edges, "--classes", c.classes)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) {
			t.Errorf("%+v: got exit code %d and %s", c, got.code, got.err)
		}
	}
	if !longtest.Asked() {
		return
	}
	if got := run(t, "", "estimate", "--nodes", "4294963200", "--edges", "281474976710656", "--classes", "2"); got.code != exitDone {
		t.Errorf("the most: got exit code %d and %s", got.code, got.err)
	}
}
