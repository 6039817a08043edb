package index_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// papers makes a store of four scored papers in a temporary directory, with an index on score.
func papers() (s *kv.Store, remove func(), err error) {
	dir, err := os.MkdirTemp("", "papers")
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		if err := errors.Join(s.Close(), os.RemoveAll(dir)); err != nil {
			log.Print(err)
		}
	}
	s, err = kv.Create(filepath.Join(dir, "graph.db"), kv.Options{OnWrite: index.Maintain})
	if err != nil {
		return nil, nil, err
	}
	err = s.Update(func(tx *kv.Tx) error {
		if err := tx.AddColumn("score", kv.KindFloat); err != nil {
			return err
		}
		for i, paper := range []string{"boosting", "kernels", "planning", "vision"} {
			v, err := tx.AddNode(kv.Node{ID: paper, Label: []string{"Theory", "Theory", "Search", "Images"}[i]})
			if err != nil {
				return err
			}
			if err := tx.SetValue(v, "score", kv.ValueOf([]float64{0.12, 0.99, 0.98, 0.4}[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s, remove, err
	}
	return s, remove, index.Create(context.Background(), s, "score")
}

func Example() {
	s, remove, err := papers()
	if err != nil {
		log.Fatal(err)
	}
	defer remove()
	tx := s.Begin()
	defer tx.Close()
	plan, err := index.NewPlan(tx, index.Query{
		Where: index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(0.97)},
		Order: []index.Order{{Property: "score", Descending: true}},
		Limit: -1,
	})
	if err != nil {
		log.Fatal(err)
	}
	for v, err := range plan.Rows(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		id, err := tx.ID(v)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	fmt.Println(plan)
	// Output:
	// kernels
	// planning
	// all rows
	//   in order of score desc, as the index has it
	//     index on score: (gt score 0.97), descending
	// touched 2 index entries, 0 rows, 0 blocks, 0 skipped
}

// Misspelt names and constants of the wrong kind are errors of their own types.
func ExampleNewPlan_errors() {
	s, remove, err := papers()
	if err != nil {
		log.Fatal(err)
	}
	defer remove()
	err = s.View(func(tx *kv.Tx) error {
		for _, where := range []index.Predicate{
			index.Compare{Property: "scroe", Op: index.Gt, Value: kv.ValueOf(0.5)},
			index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf("high")},
		} {
			_, err := index.NewPlan(tx, index.Query{Where: where, Limit: -1})
			fmt.Println(err)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// no property is named "scroe"
	// property score holds numbers and cannot be compared with the string "high"
}
