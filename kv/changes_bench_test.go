package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// BenchmarkTrackedCommits commits what a service adds, a node with a label and three edges, with the changes tracked and without.
func BenchmarkTrackedCommits(b *testing.B) {
	for _, tracked := range []bool{false, true} {
		b.Run(fmt.Sprintf("tracked=%t", tracked), func(b *testing.B) {
			const n = 1 << 17
			dir := filepath.Join(b.TempDir(), "store")
			if err := nodesOnly(b, dir, n).Close(); err != nil {
				b.Fatal(err)
			}
			var written atomic.Int64
			s, err := Open(dir, Options{MemoryBudget: 256 << 20, Observe: func(e Event) { written.Add(e.Bytes) }})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if tracked {
				if err := s.Update(func(tx *Tx) error { return tx.TrackChanges("test", []string{LabelColumn}, nil, 0) }); err != nil {
					b.Fatal(err)
				}
			}
			r := rand.New(rand.NewPCG(1, 1))
			add := func(i int) error {
				return s.Update(func(tx *Tx) error {
					v, err := tx.AddNode(Node{ID: fmt.Sprint("new ", i), Label: "A"})
					for range 3 {
						err = errors.Join(err, tx.AddEdge(v, NodeID(r.IntN(n))))
					}
					return err
				})
			}
			if err := add(0); err != nil {
				b.Fatal(err)
			}
			written.Store(0)
			for i := 1; b.Loop(); i++ {
				if err := add(i); err != nil && !errors.Is(err, ErrExists) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(written.Load())/float64(b.N), "stored-B/op")
		})
	}
}

// BenchmarkChangesSince asks for the changes of 1,000 commits in a graph of 2^20 nodes.
func BenchmarkChangesSince(b *testing.B) {
	const n = 1 << 20
	s := nodesOnly(b, filepath.Join(b.TempDir(), "store"), n)
	defer s.Close()
	if err := s.Update(func(tx *Tx) error { return tx.TrackChanges("test", []string{LabelColumn}, nil, 0) }); err != nil {
		b.Fatal(err)
	}
	tx := s.Begin()
	mark, err := tx.LastCommit()
	tx.Close()
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		err := s.Update(func(tx *Tx) error {
			return errors.Join(tx.SetLabel(NodeID(r.IntN(n)), "A"), tx.AddEdge(NodeID(r.IntN(n/2)), n/2+NodeID(r.IntN(n/2))))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	tx = s.Begin()
	defer tx.Close()
	for b.Loop() {
		c, err := tx.ChangesSince(mark)
		if err != nil {
			b.Fatal(err)
		}
		if nodes := c.Edges().Count(); nodes < 1900 {
			b.Fatalf("got %d nodes, want some 2,000", nodes)
		}
	}
}

// BenchmarkTrackedBulk writes the same column and matrix again, with the changes tracked, which compares the values, and without.
func BenchmarkTrackedBulk(b *testing.B) {
	for _, tracked := range []bool{false, true} {
		b.Run(fmt.Sprintf("tracked=%t", tracked), func(b *testing.B) {
			s := benchStore(b, 1<<18, 40)
			if tracked {
				if err := s.Update(func(tx *Tx) error { return tx.TrackChanges("test", []string{LabelColumn}, []string{"m"}, 0) }); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				bulk, err := s.Bulk()
				if err != nil {
					b.Fatal(err)
				}
				if err := writeBench(bulk, 1<<18, 40); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
