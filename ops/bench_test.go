package ops

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

var benchGraph = sync.OnceValue(func() *listGraph { return rmat(16, 16, 1) })

// BenchmarkPropagate propagates predictions and labels as rows, labels alone, and both with two wanted columns a node.
func BenchmarkPropagate(b *testing.B) {
	g := benchGraph()
	n := g.NumNodes()
	for _, classes := range []int{4, 8, 16, 40} {
		labels := make([]kv.Class, n)
		for v := range labels {
			labels[v] = kv.Class(v % classes)
		}
		predictions := Dense(randomRows(rand.New(rand.NewPCG(1, 0)), n, classes), classes)
		plain := make([]float32, n*classes)
		for v, y := range labels {
			plain[v*classes+int(y)] = 1
		}
		wanted := func(v kv.NodeID, columns []int) []int {
			return append(columns, int(labels[v]), classes+int(labels[v]))
		}
		for _, c := range []struct {
			name   string
			src    Source
			wanted func(kv.NodeID, []int) []int
			hops   int
		}{
			{"dense", SideBySide(predictions, Dense(plain, classes)), nil, 3},
			{"labels", OneHot(labels, classes), nil, 1},
			{"wanted", SideBySide(predictions, OneHot(labels, classes)), wanted, 3},
		} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/classes=%d/workers=%d", c.name, classes, workers), func(b *testing.B) {
					opt := Options{Workers: workers}
					op := Operator{Hops: c.hops, Want: c.wanted}
					benchPropagate(b, g, c.src, op, opt)
				})
			}
		}
	}
}

func benchPropagate(b *testing.B, g *listGraph, src Source, op Operator, opt Options) {
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, Propagate(context.Background(), g, src, op, opt, func(Tile) error { return nil }))
	}
	// Directed entries, each once a hop.
	rate := float64(op.Hops) * float64(g.entries()) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "entries/s")
	b.ReportMetric(rate*float64(src.Width()), "values/s")
}

func BenchmarkComputeDiagonals(b *testing.B) {
	g := benchGraph()
	for _, hops := range []int{2, 3, 4} {
		price := must.Get(DiagonalSteps(context.Background(), g, hops, Options{}))(b)
		b.Run(fmt.Sprintf("hops=%d", hops), func(b *testing.B) {
			for b.Loop() {
				must.Get(ComputeDiagonals(context.Background(), g, Powers{Hops: hops}, Options{}))(b)
			}
			b.ReportMetric(price*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// arxiv is ogbn_arxiv, by descending degree.
func arxiv(tb testing.TB) *listGraph {
	dir := os.Getenv("GRAPHCLEANER_DATA")
	if dir == "" {
		tb.Skip("GRAPHCLEANER_DATA is not set")
	}
	file, err := os.Open(filepath.Join(dir, "ogbn_arxiv", "csv", "edges.csv"))
	if err != nil {
		tb.Skip(err)
	}
	defer file.Close()
	rows := csv.NewReader(file)
	rows.ReuseRecord = true
	must.Get(rows.Read())(tb)
	var edges [][2]int
	n := 0
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		must.Do(tb, err)
		var edge [2]int
		for i := range edge {
			if edge[i], err = strconv.Atoi(row[i]); err != nil {
				tb.Fatal(err)
			}
			n = max(n, edge[i]+1)
		}
		edges = append(edges, edge)
	}
	g := newListGraph(n, edges).byDegree()
	g.block = 1000
	return g
}
