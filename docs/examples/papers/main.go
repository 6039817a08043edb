// Command papers finds papers with a wrong field, and prints the eight most likely ones.
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

func main() {
	ctx, folder := context.Background(), must(os.MkdirTemp("", "papers-*"))
	defer func() { check(os.RemoveAll(folder)) }()
	dir := filepath.Join(folder, "papers.graph")
	load(ctx, dir)
	store := must(index.Open(dir, kv.Options{}))
	defer func() { check(store.Close()) }()
	run := must(cleaner.Clean(ctx, store, cleaner.Options{Seed: 1}))
	fmt.Println(run.Suspects, "suspects")
	tx := store.Begin()
	defer tx.Close()
	suspects := must(query.Query(ctx, tx, query.Options{}, "suspects limit 8 return id, label, suggested"))
	for s, err := range suspects.Rows() {
		fmt.Println(must(s, err)[0], "is listed as", s[1], "and should be", s[2])
	}
}

// load makes a store of the two files.
func load(ctx context.Context, dir string) {
	loader := must(kv.NewLoader(ctx, dir, kv.LoadOptions{}))
	for _, row := range read("papers.csv") {
		check(loader.AddNode(kv.Node{ID: row[0], Label: row[3]}))
	}
	for i, row := range read("citations.csv") {
		check(loader.AddEdge(row[0], row[1], int64(i)))
	}
	must(loader.Commit(ctx, nil))
}

// read returns the rows of a file without its header.
func read(path string) [][]string {
	return must(csv.NewReader(bytes.NewReader(must(os.ReadFile(path)))).ReadAll())[1:]
}

func must[T any](value T, err error) T { check(err); return value }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
