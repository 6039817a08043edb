// Command embed loads two communities of papers into a store, cleans it, and prints the suspects.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func main() {
	ctx, dir := context.Background(), os.Args[1]
	load(ctx, dir)
	store := must(index.Open(dir, kv.Options{}))
	defer store.Close()
	check(store.Update(change))
	must(cleaner.Clean(ctx, store, cleaner.Options{Seed: 1, Progress: report}))
	tx := store.Begin()
	defer tx.Close()
	for s, err := range query.Rows[struct{ ID, Label, Suggested string }](query.Query(ctx, tx, query.Options{}, "suspects")) {
		fmt.Println(must(s, err).ID, s.Label, "should be", s.Suggested)
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

// change is one transaction: all of it is on disk afterwards, or nothing.
func change(tx *kv.Tx) error {
	late, err := tx.AddNode(kv.Node{ID: "late", Label: "graphics"}) // a wrong label
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
	for v, err := range tx.InFileOrder() { // the predictions of your classifier
		if err != nil {
			return err
		}
		position, err := tx.Position(v)
		if err != nil {
			return err
		}
		p := 0.9 - 0.8*float64(position%2)
		if err := cleaner.SetPredictions(tx, v, []float64{p, 1 - p}); err != nil {
			return err
		}
	}
	return nil
}

func report(stage string, done, total int64) { log.Print(stage, " ", done, "/", total) }

func must[T any](value T, err error) T { check(err); return value }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
