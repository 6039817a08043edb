package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv/internal/snapshot"
)

// benchStore has n nodes with a label, a score and a matrix of width columns.
func benchStore(b *testing.B, n, width int) *Store {
	b.Helper()
	s := must.Get(Create(b.TempDir(), Options{}))(b)
	b.Cleanup(func() { must.Do(b, s.Close()) })
	must.Do(b, s.Update(func(tx *Tx) error {
		c := must.Get(tx.change())(b)
		c.Nodes = n
		for class := range 40 {
			c.class(fmt.Sprint(class))
		}
		return nil
	}))
	bulk := must.Get(s.Bulk(context.Background()))(b)
	defer bulk.Abort()
	must.Do(b, writeBench(bulk, n, width))
	return s
}

func writeBench(bulk *Bulk, n, width int) error {
	labels, err := bulk.Column(LabelColumn, KindClass)
	if err != nil {
		return err
	}
	scores, err := bulk.Column("score", KindSingle)
	if err != nil {
		return err
	}
	matrix, err := bulk.Matrix("m", make([]string, width))
	if err != nil {
		return err
	}
	row := make([]float32, width)
	for v := range NodeID(n) {
		if err := labels.PutClasses(v, []Class{Class(v % 40)}); err != nil {
			return err
		}
		if err := scores.Put(v, ValueOf(float64(v)/3)); err != nil {
			return err
		}
		for j := range row {
			row[j] = float32(v) + float32(j)
		}
		if err := matrix.Put(v, row); err != nil {
			return err
		}
	}
	return bulk.Commit(nil)
}

func BenchmarkRead(b *testing.B) {
	const n, width = 1 << 20, 40
	s := benchStore(b, n, width)
	tx := s.Begin()
	defer tx.Close()
	rate := func(b *testing.B, items int, unit string) {
		b.ReportMetric(float64(items)*float64(b.N)/b.Elapsed().Seconds(), unit)
	}
	b.Run("classes", func(b *testing.B) {
		dst := make([]Class, n)
		for b.Loop() {
			must.Do(b, tx.ReadClasses(LabelColumn, Range{End: NodeID(tx.NumNodes())}, dst))
		}
		rate(b, n, "nodes/s")
	})
	b.Run("reader", func(b *testing.B) {
		for b.Loop() {
			r := must.Get(tx.Reader("score"))(b)
			for v := range NodeID(n) {
				must.Get(r.At(v))(b)
			}
		}
		rate(b, n, "nodes/s")
	})
	b.Run("value", func(b *testing.B) {
		v := NodeID(0)
		for b.Loop() {
			must.Get(tx.Value(v, "score"))(b)
			v = (v + 7919*4096) % n
		}
		rate(b, 1, "nodes/s")
	})
	m := must.Get(tx.Matrix("m"))(b)
	for _, columns := range []int{16, width} {
		b.Run(fmt.Sprintf("matrix/columns=%d", columns), func(b *testing.B) {
			const rows = 4096
			dst := make([]float32, rows*columns)
			for b.Loop() {
				for first := NodeID(0); first < n; first += rows {
					must.Do(b, m.Read(Range{First: first, End: first + rows}, 0, columns, dst))
				}
			}
			rate(b, n*columns, "cells/s")
		})
	}
}

// BenchmarkLookup asks for one thing of one node at a time, with a memory that holds what is looked up and with one
// that does not, and after a small change, and checks the store.
func BenchmarkLookup(b *testing.B) {
	const scale = 16
	dir := filepath.Join(b.TempDir(), "graph")
	id := func(v int) string { return "n" + strconv.Itoa(v) }
	loadLabelledRMAT(b, dir, scale, id)
	s := openTest(b, dir)
	for _, state := range []string{"kept=true", "kept=false", "changed"} {
		if state == "changed" {
			must.Do(b, s.Update(func(tx *Tx) error {
				return errors.Join(tx.SetLabel(5, "7"),
					tx.AddEdge(1<<scale-1, 1<<scale-2))
			}))
		}
		tx := s.Begin()
		defer tx.Close()
		if state == "kept=false" {
			tx.cache = snapshot.NewCache(0)
		}
		for _, lookup := range []struct {
			name string
			of   func(v NodeID) error
		}{
			{"position", func(v NodeID) error { r := tx.dict().Once(); _, err := r.PositionOf(v); return err }},
			{"id", func(v NodeID) error { _, err := tx.ID(v); return err }},
			{"node", func(v NodeID) error { _, err := tx.Node(id(int(v))); return err }},
			{"label", func(v NodeID) error { _, err := tx.Label(v); return err }},
			{"degree", func(v NodeID) error { _, err := tx.Degree(v); return err }},
			{"neighbors", func(v NodeID) (err error) {
				for _, failed := range tx.Neighbors(v) {
					err = failed
				}
				return err
			}},
		} {
			b.Run(lookup.name+"/"+state, func(b *testing.B) {
				b.ReportAllocs()
				r := rand.New(rand.NewPCG(1, 0))
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					must.Do(b, lookup.of(NodeID(r.IntN(1<<scale))))
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2])/1e3, "median-µs")
			})
		}
	}
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			checkClean(b, s)
		}
		b.ReportMetric(float64(int64(b.N)<<scale)/b.Elapsed().Seconds(), "nodes/s")
	})
}

// loadLabelledRMAT loads a graph of 2^scale nodes and 16 times as many edges, which collapse to fewer.
func loadLabelledRMAT(b *testing.B, dir string, scale int, id func(v int) string) {
	b.Helper()
	l := must.Get(NewLoader(b.Context(), dir, LoadOptions{}))(b)
	for v := range 1 << scale {
		must.Do(b, l.AddNode(Node{ID: id(v), Label: fmt.Sprint(v % 40)}))
	}
	r := rand.New(rand.NewPCG(1, 0))
	for range 16 << scale {
		u, v := rmat(r, scale)
		must.Do(b, l.AddEdge(id(u), id(v), 0))
	}
	must.Get(l.Commit(b.Context(), nil))(b)
}

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
