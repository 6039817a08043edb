package query_test

import (
	"context"
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
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := threePapers(filepath.Join(dir, "store"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	found, err := query.Query(context.Background(), store, "nodes where degree >= $1 and label = $2 order by degree desc", 1, "Theory")
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range found.Rows() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Text("id"), row.Int("degree"))
	}
	// Output:
	// hub 2
	// leaf 1
}

// Statements with mistakes in them say where.
func ExampleParseError() {
	_, err := query.Query(context.Background(), nil, "nodes where >= 2019")
	fmt.Println(err)
	// Output:
	// 1:13: got >=, want a property name
}

func threePapers(dir string) (*kv.Store, error) {
	load, err := kv.NewLoader(context.Background(), dir, kv.LoadOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range []kv.Node{{ID: "hub", Label: "Theory"}, {ID: "leaf", Label: "Theory"}, {ID: "other", Label: "Systems"}} {
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

// An Engine asks before it decides on many nodes.
func ExampleEngine() {
	dir, err := os.MkdirTemp("", "query")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := threePapers(filepath.Join(dir, "store"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	engine := query.Engine{
		Store:  store,
		Who:    "ann",
		Notice: func(line string) { fmt.Println(line) },
		Confirm: func(_ context.Context, question string) (bool, error) {
			fmt.Println(question)
			return true, nil
		},
	}
	decided, err := engine.Query(context.Background(), "relabel 'Systems' all where degree = $1 because 'seen on the plot'", 2)
	if err != nil {
		log.Fatal(err)
	}
	for row, err := range decided.Rows() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Text("id"), row.Text("from"), row.Text("to"))
	}
	// Output:
	//   hub: Theory → Systems
	// Relabel 1 node as 'Systems'?
	// hub Theory Systems
}
