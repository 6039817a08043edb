package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
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

// Two statements and the program itself read one snapshot, whatever is written meanwhile.
func ExampleQuery_snapshot() {
	store, remove := threePapers()
	defer remove()
	ctx := context.Background()

	err := store.View(func(tx *kv.Tx) error {
		if _, err := query.Exec(ctx, store, query.Options{Who: "ann"}, "relabel other 'Theory'"); err != nil {
			return err
		}
		for _, text := range []string{"count nodes where label = 'Theory'", "count nodes where decision is not null"} {
			counted, err := query.Query(ctx, tx, query.Options{}, text)
			if err != nil {
				return err
			}
			for row, err := range counted.Rows() {
				if err != nil {
					return err
				}
				fmt.Println(row[0], "in the snapshot of", tx.NumNodes(), "nodes:", text)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 in the snapshot of 3 nodes: count nodes where label = 'Theory'
	// 0 in the snapshot of 3 nodes: count nodes where decision is not null
}

// Statements with mistakes in them say where.
func ExampleParseError() {
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
		Who:    "ann",
		Notice: func(line string) { fmt.Println(line) },
		Confirm: func(_ context.Context, about query.Question) (bool, error) {
			fmt.Println(about.Text)
			return true, nil
		},
	}
	made, err := query.Exec(context.Background(), store, opt, "relabel 'Systems' all where degree = $1 because 'seen on the plot'", 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Entries().Len(), "decision is made")
	// Output:
	//   hub: Theory → Systems
	// Relabel 1 node as 'Systems'?
	// 1 decision is made
}

// A program shows a label. The person replies later, and meanwhile somebody else has decided: nothing is decided.
func ExampleExec_precondition() {
	store, remove := threePapers()
	defer remove()
	ctx := context.Background()
	shown := "Systems"

	if _, err := query.Exec(ctx, store, query.Options{Who: "bob"}, "relabel other 'Theory'"); err != nil {
		log.Fatal(err)
	}
	_, err := query.Exec(ctx, store, query.Options{Who: "ann"}, "reject $1 if label = $2", "other", shown)
	fmt.Println(errors.Is(err, decide.ErrChanged), err)
	// Output:
	// true nothing is decided: the condition behind if is not true of 1 node: other
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
