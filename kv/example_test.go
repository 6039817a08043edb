package kv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/kv"
)

func ExampleLoader() {
	parent, err := os.MkdirTemp("", "graph")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "papers")
	if err := loadPapers(context.Background(), dir); err != nil {
		fmt.Println(err)
		return
	}
	s, err := kv.Open(dir, kv.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	err = s.View(func(tx *kv.Tx) error {
		v, err := tx.Node("b")
		if err != nil {
			return err
		}
		for u, err := range tx.Neighbors(v) {
			if err != nil {
				return err
			}
			id, err := tx.ID(u)
			if err != nil {
				return err
			}
			fmt.Println("b —", id)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 nodes, 2 edges, 1 self loops, 1 parallel
	// b — a
	// b — c
}

// loadPapers loads three papers that cite each other.
func loadPapers(ctx context.Context, dir string) (err error) {
	l, err := kv.NewLoader(context.Background(), dir, kv.LoadOptions{Properties: []kv.Column{{Name: "year",
		Kind: kv.KindInt}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Abort()) }() // nothing is left after a failure
	for i, id := range []string{"a", "b", "c"} {
		n := kv.Node{ID: id, Label: "Theory", Values: []kv.Value{kv.ValueOf(2020)}, Source: int64(i + 2)}
		if err := l.AddNode(n); err != nil {
			return err
		}
	}
	for i, e := range [][2]string{{"a", "b"}, {"b", "c"}, {"b", "a"}, {"c", "c"}} {
		if err := l.AddEdge(e[0], e[1], int64(i+2)); err != nil {
			return err
		}
	}
	stats, err := l.Commit(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d edges, %d self loops, %d parallel\n", stats.Nodes, stats.Edges, stats.SelfLoops,
		stats.ParallelEdges)
	return nil
}
