package kv

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
)

// rmat draws an edge of a graph with 2^scale nodes whose degrees are as uneven as those of real ones.
func rmat(r *rand.Rand, scale int) (u, v int) {
	for range scale {
		x := r.Float64()
		u, v = 2*u, 2*v
		switch {
		case x < 0.57:
		case x < 0.76:
			v++
		case x < 0.95:
			u++
		default:
			u++
			v++
		}
	}
	return u, v
}

func loadRMAT(b *testing.B, dir string, scale, degree int, prefix string, budget int64) LoadStats {
	b.Helper()
	l, err := NewLoader(dir, LoadOptions{MemoryBudget: budget, OnStage: func(s Stage) {
		b.ReportMetric(s.Seconds, s.Name+"-s")
	}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1 << scale {
		if err := l.AddNode(Node{ID: prefix + strconv.Itoa(i)}); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 0))
	for range degree << scale {
		u, v := rmat(r, scale)
		if err := l.AddEdge(prefix+strconv.Itoa(u), prefix+strconv.Itoa(v), 0); err != nil {
			b.Fatal(err)
		}
	}
	stats, err := l.Commit(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return stats
}

func BenchmarkLoad(b *testing.B) {
	const scale, degree = 16, 16
	for _, prefix := range []string{"", "paper-"} {
		for _, budget := range []int64{16 << 20, 1 << 30} {
			b.Run(fmt.Sprintf("ids=%q/budget=%d", prefix, budget), func(b *testing.B) {
				for b.Loop() {
					loadRMAT(b, filepath.Join(b.TempDir(), "graph"), scale, degree, prefix, budget)
				}
				b.ReportMetric(float64(int64(degree<<scale)*int64(b.N))/b.Elapsed().Seconds(), "edges/s")
			})
		}
	}
}

func BenchmarkReadAdjacency(b *testing.B) {
	const scale, degree = 18, 16
	dir := filepath.Join(b.TempDir(), "graph")
	stats := loadRMAT(b, dir, scale, degree, "", 1<<30)
	tx := openTest(b, dir).Begin()
	defer tx.Close()
	b.Run(fmt.Sprintf("scan/nodes=%d/deg=%d", 1<<scale, degree), func(b *testing.B) {
		var lists Adjacency
		var bytes int64
		for b.Loop() {
			blocks, err := tx.AdjacencyBlocks()
			if err != nil {
				b.Fatal(err)
			}
			bytes = 0
			for _, r := range blocks {
				if err := tx.ReadAdjacency(r, &lists); err != nil {
					b.Fatal(err)
				}
				bytes += lists.BytesRead
			}
		}
		b.ReportMetric(float64(2*stats.Edges*int64(b.N))/b.Elapsed().Seconds(), "entries/s")
		b.ReportMetric(float64(bytes)/float64(2*stats.Edges), "bytes/entry")
	})
	b.Run("Degree", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 0))
		for b.Loop() {
			if _, err := tx.Degree(NodeID(r.IntN(1 << scale))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Neighbors", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 0))
		for b.Loop() {
			for _, err := range tx.Neighbors(NodeID(r.IntN(1 << scale))) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
