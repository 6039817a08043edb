// Command embed keeps two communities of papers in a store, cleans it, and prints the suspects.
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
	ctx, dir, fields := context.Background(), os.Args[1], []string{"databases", "graphics"}
	load := must(kv.NewLoader(dir, kv.LoadOptions{})) // the bulk loader, for whole graphs
	for i := range 300 {
		check(load.AddNode(kv.Node{ID: fmt.Sprint("p", i), Label: fields[i%2]}))
	}
	for i := range 600 { // papers cite their own field
		check(load.AddEdge(fmt.Sprint("p", i%300), fmt.Sprint("p", (i+2+i/300*4)%300), int64(i)))
	}
	must(load.Commit(ctx, nil))
	store := must(index.Open(dir, kv.Options{}))
	defer store.Close()
	check(store.Update(func(tx *kv.Tx) error { // a transaction, for what changes later
		late := must(tx.AddNode(kv.Node{ID: "late", Label: "graphics"})) // a wrong label
		check(tx.AddEdge(late, must(tx.Node("p8"))))
		for v, err := range tx.InFileOrder() { // the predictions of your classifier
			p := 0.9 - 0.8*float64(must(tx.Position(v))%2)
			check(cleaner.SetPredictions(tx, must(v, err), []float64{p, 1 - p}))
		}
		return nil
	}))
	must(cleaner.Clean(ctx, store, cleaner.Options{Seed: 1, Progress: func(stage string, done, total int64) { log.Print(stage, " ", done, "/", total) }}))
	for row, err := range must(query.Query(ctx, store, "suspects")).Rows() {
		fmt.Println(must(row, err).Text("id"), row.Text("label"), "should be", row.Text("suggested"))
	}
}

func must[T any](value T, err error) T { check(err); return value }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
