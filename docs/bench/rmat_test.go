package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

func smallGraph(dir string) rmatCommand {
	return rmatCommand{
		Scale: 14, Factor: 8, Classes: 5, Seed: 7, Homophily: 0.15, Wrong: 0.1, Accuracy: 0.9,
		Format: "csv", Predictions: "predictions.npy", Splits: "0.5/0.2/0.2", Out: dir,
	}
}

func generate(t *testing.T, c rmatCommand) *rmatReport {
	t.Helper()
	report, err := c.generate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rows reads a csv file of two columns and checks its header.
func rows(t *testing.T, path, header string) [][]string {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(read(t, path))).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got := records[0][0] + "," + records[0][1]; got != header {
		t.Fatalf("%s: header %q, want %q", path, got, header)
	}
	return records[1:]
}

func whole(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBijectionPermutes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 64, 100, 1000, 4097} {
		b := newBijection(n, 3, streamIDs)
		seen := make([]bool, n)
		for x := range n {
			y := b.of(uint64(x))
			if y >= uint64(n) || seen[y] {
				t.Fatalf("n = %d: %d goes to %d, which is outside or taken", n, x, y)
			}
			seen[y] = true
		}
	}
}

// The table's draws must have the chances of the quadrants, level by level.
func TestEdgesHaveTheChancesOfTheQuadrants(t *testing.T) {
	const draws, scale, like, h = 1 << 20, 11, 2, 0.1
	s := newEdgeSampler(1<<scale, scale, like, h)
	r := rand.NewPCG(1, 2)
	var counts [scale][4]int
	for range draws {
		u, v := s.draw(r)
		for level := range scale {
			counts[level][u>>level&1<<1|v>>level&1]++
		}
	}
	for level := range scale {
		want := [4]float64{0.57, 0.19, 0.19, 0.05}
		if level < like {
			want = [4]float64{0.67, 0.09, 0.09, 0.15}
		}
		for quadrant, count := range counts[level] {
			if got := float64(count) / draws; math.Abs(got-want[quadrant]) > 0.002 {
				t.Errorf("level %d, quadrant %d: share %.4f, want %.4f", level, quadrant, got, want[quadrant])
			}
		}
	}
}

func TestFilesAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var dirs []string
	for _, processors := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(processors)
		dir := t.TempDir()
		generate(t, smallGraph(dir))
		dirs = append(dirs, dir)
	}
	for _, name := range []string{"nodes.csv", "edges.csv", "predictions.npy", "splits.csv"} {
		want := read(t, dirs[0], name)
		for _, dir := range dirs[1:] {
			if !bytes.Equal(read(t, dir, name), want) {
				t.Errorf("%s depends on the number of processors", name)
			}
		}
	}
	other := smallGraph(t.TempDir())
	other.Seed = 8
	generate(t, other)
	if bytes.Equal(read(t, other.Out, "edges.csv"), read(t, dirs[0], "edges.csv")) {
		t.Error("two seeds gave the same edges")
	}
}

func TestFilesAreWellFormed(t *testing.T) {
	for _, nodes := range []int{1 << 14, 10_000} {
		t.Run(fmt.Sprint("nodes=", nodes), func(t *testing.T) {
			c := smallGraph(t.TempDir())
			c.Nodes, c.Edges = nodes, 80_001
			report := generate(t, c)
			if report.Nodes != nodes || report.Edges != 80_001 {
				t.Errorf("report %+v, want %d nodes and 80001 edges", report, nodes)
			}
			labels := make([]int, nodes)
			seen := make([]bool, nodes)
			var order []int
			for _, row := range rows(t, filepath.Join(c.Out, "nodes.csv"), "id,label") {
				id, label := whole(t, row[0]), whole(t, row[1])
				if id < 0 || id >= nodes || seen[id] || label < 0 || label >= c.Classes {
					t.Fatalf("node %v: want each id below %d once and a label below %d", row, nodes, c.Classes)
				}
				seen[id], labels[id] = true, label
				order = append(order, id)
			}
			edges := rows(t, filepath.Join(c.Out, "edges.csv"), "src,dst")
			if len(order) != nodes || len(edges) != 80_001 {
				t.Fatalf("%d nodes and %d edges, want %d and 80001", len(order), len(edges), nodes)
			}
			alike := 0
			for _, row := range edges {
				u, v := whole(t, row[0]), whole(t, row[1])
				if u < 0 || v < 0 || u >= nodes || v >= nodes {
					t.Fatalf("edge %v: want ids below %d", row, nodes)
				}
				if labels[u] == labels[v] {
					alike++
				}
			}
			if share := float64(alike) / float64(len(edges)); share < 0.4 {
				t.Errorf("%.2f of the edges join equal labels, want more than by chance", share)
			}
			checkPredictions(t, c, order, labels)
			splits := map[string]int{}
			for i, row := range rows(t, filepath.Join(c.Out, "splits.csv"), "id,split") {
				if whole(t, row[0]) != order[i] {
					t.Fatalf("splits.csv has node %s in row %d, nodes.csv has %d", row[0], i, order[i])
				}
				splits[row[1]]++
			}
			for name, want := range map[string]float64{"train": 0.5, "val": 0.2, "test": 0.2, "none": 0.1} {
				if got := float64(splits[name]) / float64(nodes); math.Abs(got-want) > 0.03 {
					t.Errorf("%.3f of the nodes are %s, want %.1f", got, name, want)
				}
			}
		})
	}
}

// checkPredictions checks shape, sums, and how often they agree with the labels: accuracy 0.9, a tenth of labels wrong.
func checkPredictions(t *testing.T, c rmatCommand, order, labels []int) {
	t.Helper()
	text := read(t, c.Out, "predictions.npy")
	header := npyHeader("<f4", int64(len(order)), c.Classes)
	if len(header)%64 != 0 || !bytes.HasPrefix(text, header) || len(text) != len(header)+4*len(order)*c.Classes {
		t.Fatalf("predictions.npy: %d bytes and head %q, want %d values after %q",
			len(text), text[:64], len(order)*c.Classes, header)
	}
	values := text[len(header):]
	agree := 0
	for _, id := range order {
		sum, best, peak := 0.0, -1, float32(-1)
		for class := range c.Classes {
			p := math.Float32frombits(binary.LittleEndian.Uint32(values))
			values = values[4:]
			if !(p >= 0 && p <= 1) {
				t.Fatalf("node %d: probability %v of class %d", id, p, class)
			}
			sum += float64(p)
			if p > peak {
				best, peak = class, p
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Fatalf("node %d: probabilities sum to %v", id, sum)
		}
		if best == labels[id] {
			agree++
		}
	}
	if share := float64(agree) / float64(len(order)); math.Abs(share-0.81) > 0.04 {
		t.Errorf("predictions agree with %.3f of the labels, want about 0.81", share)
	}
}

func TestEdgesAsArraysAreTheSame(t *testing.T) {
	c := smallGraph(t.TempDir())
	generate(t, c)
	c.Format = "npy"
	generate(t, c)
	text := read(t, c.Out, "edges.npy")
	edges := rows(t, filepath.Join(c.Out, "edges.csv"), "src,dst")
	values := text[len(npyHeader("<u4", int64(len(edges)), 2)):]
	if len(values) != 8*len(edges) {
		t.Fatalf("%d bytes of values, want 8 for each of %d edges", len(values), len(edges))
	}
	for i, row := range edges {
		u, v := binary.LittleEndian.Uint32(values[8*i:]), binary.LittleEndian.Uint32(values[8*i+4:])
		if fmt.Sprint(u) != row[0] || fmt.Sprint(v) != row[1] {
			t.Fatalf("edge %d: %d,%d in the array, %v in the csv", i, u, v, row)
		}
	}
}

func TestBadGraphsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*rmatCommand){
		"scale":     func(c *rmatCommand) { c.Scale = 32 },
		"nodes":     func(c *rmatCommand) { c.Nodes = -1 },
		"edges":     func(c *rmatCommand) { c.Edges = -1 },
		"classes":   func(c *rmatCommand) { c.Classes = 0 },
		"many":      func(c *rmatCommand) { c.Nodes, c.Classes = 4, 5 },
		"homophily": func(c *rmatCommand) { c.Homophily = 0.2 },
		"wrong":     func(c *rmatCommand) { c.Wrong = math.NaN() },
		"accuracy":  func(c *rmatCommand) { c.Accuracy = 1.5 },
		"shares":    func(c *rmatCommand) { c.Splits = "0.5/0.6" },
		"share":     func(c *rmatCommand) { c.Splits = "a/b/c" },
	} {
		c := smallGraph(t.TempDir())
		change(&c)
		if _, err := c.generate(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestInterruptedFileIsRemoved(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := smallGraph(t.TempDir())
	if _, err := c.generate(ctx); err == nil {
		t.Fatal("no error")
	}
	if left, err := os.ReadDir(c.Out); err != nil || len(left) != 0 {
		t.Fatalf("%v is left, %v", left, err)
	}
}
