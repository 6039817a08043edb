// Command embed loads two communities of papers into a store, cleans it, and judges a paper as it arrives.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func main() {
	ctx, dir := context.Background(), os.Args[1]
	load(ctx, dir)
	store := must(index.Open(dir, kv.Options{}))
	defer store.Close()
	must(cleaner.Clean(ctx, store, cleaner.Options{Seed: 1, Progress: report}))
	check(store.Update(func(tx *kv.Tx) error { return arrive(ctx, tx) }))
	must(cleaner.Rescore(ctx, store, cleaner.RescoreOptions{}))
	tx := store.Begin()
	defer tx.Close()
	suspects := must(query.Query(ctx, tx, query.Options{}, "suspects return id, label, suggested"))
	for s, err := range suspects.Rows() {
		fmt.Println(must(s, err)[0], s[1], "should be", s[2])
	}
}

// load writes a whole graph with the bulk loader.
func load(ctx context.Context, dir string) {
	loader := must(kv.NewLoader(ctx, dir, kv.LoadOptions{}))
	for i := range 300 {
		check(loader.AddNode(kv.Node{ID: fmt.Sprint("p", i), Label: []string{"databases", "graphics"}[i%2]}))
	}
	for i := range 600 { // papers cite their own field
		check(loader.AddEdge(fmt.Sprint("p", i%300), fmt.Sprint("p", (i+2+i/300*4)%300), int64(i)))
	}
	must(loader.Commit(ctx, nil))
}

// arrive adds a paper and judges its label, in one transaction: all of it is on disk afterwards, or nothing.
func arrive(ctx context.Context, tx *kv.Tx) error {
	late, err := tx.AddNode(kv.Node{ID: "late", Label: "graphics"})
	if err != nil {
		return err
	}
	cited, err := tx.Node("p8")
	if err != nil {
		return err
	}
	if err := tx.AddEdge(late, cited); err != nil {
		return err
	}
	scores, err := cleaner.Score(ctx, tx, []kv.NodeID{late}, ops.Options{})
	for _, s := range scores {
		fmt.Println(s.ID, s.Label, s.Score, s.Suggestion)
	}
	return err
}

func report(stage string, done, total int64) { log.Print(stage, " ", done, "/", total) }

func must[T any](value T, err error) T { check(err); return value }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
