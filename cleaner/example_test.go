package cleaner_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/ops"
)

// Two rings of papers, each about one subject; paper a7 is given the other ring's label.
func ExampleClean() {
	store, remove, err := rings()
	if err != nil {
		log.Fatal(err)
	}
	defer remove()

	run, err := cleaner.Clean(context.Background(), store, cleaner.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("scored:", run.Scored)
	err = store.View(func(tx *kv.Tx) error {
		plan, err := index.NewPlan(tx, index.Query{
			Order: []index.Order{{Property: cleaner.ScoreColumn, Descending: true}},
			Limit: 1,
		})
		if err != nil {
			return err
		}
		for v, err := range plan.Rows(context.Background()) {
			if err != nil {
				return err
			}
			e, err := cleaner.Explain(context.Background(), tx, v, ops.Options{})
			if err != nil {
				return err
			}
			fmt.Printf("most suspect: %s, given %s, suggested %s\n", e.ID, e.Label, e.Suggestion)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// scored: 200
	// most suspect: a7, given biology, suggested algebra
}

// Somebody who knows the rings looks at 50 labels that chance chose.
func ExampleDrawAudit() {
	store, remove, err := rings()
	if err != nil {
		log.Fatal(err)
	}
	defer remove()
	ctx := context.Background()
	if _, err := cleaner.Clean(ctx, store, cleaner.Options{Seed: 1}); err != nil {
		log.Fatal(err)
	}
	if err := cleaner.DrawAudit(ctx, store, 50, 1); err != nil {
		log.Fatal(err)
	}
	var answers []decide.Request
	err = store.View(func(tx *kv.Tx) error {
		audit, err := cleaner.ReadAudit(ctx, tx)
		if err != nil {
			return err
		}
		for _, draw := range audit.Open("ada") {
			id, err := tx.ID(draw.Node)
			if err != nil {
				return err
			}
			answer := decide.Request{Node: draw.Node, Kind: decide.Reject} // the label is right
			if id == "a7" {
				answer = decide.Request{Node: draw.Node, Kind: decide.Relabel, To: "algebra"}
			}
			answers = append(answers, answer)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := decide.Write(ctx, store, answers, decide.Options{Who: "ada"}); err != nil {
		log.Fatal(err)
	}
	err = store.View(func(tx *kv.Tx) error {
		audit, err := cleaner.ReadAudit(ctx, tx)
		if err == nil {
			fmt.Printf("%.1f%% of %d labels were wrong (%.1f%% to %.1f%%)\n", 100*audit.Rate, audit.Labels, 100*audit.Low, 100*audit.High)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0.0% of 200 labels were wrong (0.0% to 8.4%)
}

// rings makes the store of ExampleClean in a directory of its own, which remove closes and removes: 100 nodes a ring,
// each joined to the nearest four, with predictions that are fairly sure.
func rings() (store *kv.Store, remove func(), err error) {
	const size = 100
	dir, err := os.MkdirTemp("", "cleaner")
	if err != nil {
		return nil, nil, err
	}
	load, err := kv.NewLoader(context.Background(), filepath.Join(dir, "store"), kv.LoadOptions{})
	if err != nil {
		return nil, nil, err
	}
	name := func(ring, i int) string { return fmt.Sprintf("%c%d", 'a'+ring, i%size) }
	subjects := []string{"algebra", "biology"}
	for ring := range 2 {
		for i := range size {
			label := subjects[ring]
			if ring == 0 && i == 7 {
				label = subjects[1]
			}
			err = errors.Join(err, load.AddNode(kv.Node{ID: name(ring, i), Label: label}))
		}
	}
	for ring := range 2 {
		for i := range size {
			for step := 1; step <= 2; step++ {
				err = errors.Join(err, load.AddEdge(name(ring, i), name(ring, i+step), 0))
			}
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, load.Abort())
	}
	if _, err := load.Commit(context.Background(), nil); err != nil {
		return nil, nil, err
	}

	store, err = index.Open(filepath.Join(dir, "store"), kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		if err := errors.Join(store.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
	b, err := store.Bulk(context.Background())
	if err != nil {
		return nil, nil, err
	}
	defer b.Abort()
	predictions, err := cleaner.NewPredictionWriter(b, b.Tx().Classes(), cleaner.PredictionOptions{})
	if err != nil {
		return nil, nil, err
	}
	places, err := b.Tx().Places()
	if err != nil {
		return nil, nil, err
	}
	for position := range 2 * size {
		v, err := places.NodeAt(position)
		if err != nil {
			return nil, nil, err
		}
		sure := 0.8 + 0.15*float64(position%10)/10
		row := []float64{sure, 1 - sure}
		if position >= size {
			row[0], row[1] = row[1], row[0]
		}
		if err := predictions.Put(v, row); err != nil {
			return nil, nil, err
		}
	}
	return store, remove, errors.Join(predictions.Finish(), b.Commit(predictions.Mark))
}
