package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// A store of three papers is asked for those of one class.
func ExampleQuery() {
	store, remove := threePapers()
	defer remove()
	tx := store.Begin()
	defer tx.Close()

	found, err := query.Query(context.Background(), tx, query.Options{},
		"nodes where degree >= $1 and label = $2 order by degree desc return id, degree", 1, "Theory")
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range found.Rows() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row[0].Str(), row[1].Int())
	}
	// Output:
	// hub 2
	// leaf 1
}

// Statements with mistakes in them say where.
func ExampleTextError() {
	_, err := query.Query(context.Background(), nil, query.Options{}, "nodes where >= 2019")
	fmt.Println(err)
	// Output:
	// 1:13: got >=, want a property name
}

// Exec asks before it decides on many nodes.
func ExampleExec() {
	store, remove := threePapers()
	defer remove()

	opt := query.Options{
		Who: "ann",
		Confirm: func(_ context.Context, about query.Question) (bool, error) {
			fmt.Printf("%q: %s\n", about.First, about.Text)
			return true, nil
		},
	}
	made, err := query.Exec(context.Background(), store, opt, "relabel 'Systems' all where degree = $1 because 'seen "+
		"on the plot'", 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(made.Decisions()), "decision is made")
	// Output:
	// ["hub: Theory → Systems"]: Relabel 1 node as 'Systems'?
	// 1 decision is made
}

// threePapers makes a store of three papers. The caller removes it.
func threePapers() (store *kv.Store, remove func()) {
	dir, err := os.MkdirTemp("", "query")
	if err == nil {
		store, err = loadPapers(filepath.Join(dir, "store"))
	}
	if err != nil {
		log.Fatal(err)
	}
	return store, func() {
		if err := errors.Join(store.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

func loadPapers(dir string) (*kv.Store, error) {
	load, err := kv.NewLoader(context.Background(), dir, kv.LoadOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range []kv.Node{{ID: "hub", Label: "Theory"}, {ID: "leaf", Label: "Theory"},
		{ID: "other", Label: "Systems"}} {
		if err := load.AddNode(n); err != nil {
			return nil, err
		}
	}
	for _, end := range []string{"leaf", "other"} {
		if err := load.AddEdge("hub", end, 0); err != nil {
			return nil, err
		}
	}
	if _, err := load.Commit(context.Background(), nil); err != nil {
		return nil, err
	}
	return index.Open(dir, kv.Options{})
}
