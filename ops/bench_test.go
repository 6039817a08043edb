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
)

var benchGraph = sync.OnceValue(func() *listGraph { return rmat(16, 16, 1) })

func BenchmarkPropagate(b *testing.B) {
	g := benchGraph()
	n := g.NumNodes()
	for _, columns := range []int{1, 7, 16, 32} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("columns=%d/workers=%d", columns, workers), func(b *testing.B) {
				src := Dense(randomRows(rand.New(rand.NewPCG(1, 0)), n, columns), columns)
				for b.Loop() {
					opt := Options{Workers: workers}
					err := Propagate(context.Background(), g, src, Operator{Hops: 3}, opt, func(Tile) error { return nil })
					if err != nil {
						b.Fatal(err)
					}
				}
				// Directed entries, each once a hop.
				rate := 3 * float64(g.entries()) * float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate, "entries/s")
				b.ReportMetric(rate*float64(columns), "values/s")
			})
		}
	}
}

func BenchmarkComputeDiagonals(b *testing.B) {
	g := benchGraph()
	for _, hops := range []int{2, 3, 4} {
		price, err := priceOf(g, hops)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("hops=%d", hops), func(b *testing.B) {
			for b.Loop() {
				if _, err := ComputeDiagonals(context.Background(), g, hops, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(price.steps()*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

func BenchmarkArxivDiagonals(b *testing.B) {
	g := arxiv(b)
	for _, hops := range []int{3, 4, 5} {
		price, err := priceOf(g, hops)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("hops=%d", hops), func(b *testing.B) {
			for b.Loop() {
				if _, err := ComputeDiagonals(context.Background(), g, hops, Options{MemoryBudget: 1 << 30}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(price.steps()*float64(b.N)/b.Elapsed().Seconds(), "steps/s")
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
	if _, err := rows.Read(); err != nil {
		tb.Fatal(err)
	}
	var edges [][2]int
	n := 0
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
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
