// Command cases cleans data sets with their original labels, and writes the top suspects of each to cases.md.
//
//	GRAPHCLEANER_DATA=/path/to/data go -C docs/detection run ./cases
//
// There is no truth to measure against; what is listed wants a reader's eye. Predictions are those of the built-in base
// classifier, the preset is default.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/docs/detection/internal/study"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// listed is how many suspects of a graph are listed.
const listed = 30

func main() {
	names := flag.String("datasets", "cora,citeseer,pubmed,ogbn-arxiv", "comma-separated `names`")
	seed := flag.Uint64("seed", 1, "seed of the classifier and of the cleaning")
	threads := flag.Int("threads", 1, "processors to use")
	out := flag.String("out", "results", "`directory` of the results")
	flag.Parse()
	study.Main(func(ctx context.Context) error {
		datasets, err := study.Named(*names)
		if err != nil {
			return err
		}
		stamp, err := study.Stamp(ctx)
		if err != nil {
			return err
		}
		var text strings.Builder
		fmt.Fprintf(&text, "# Top suspects among the original labels\n\n%s, seed %d, preset default, built-in base classifier.\n", stamp, *seed)
		fmt.Fprintf(&text, "Made by `go -C docs/detection run ./cases -datasets %s -seed %d`. The score is the estimated chance that the given "+
			"label is wrong, confidence the predicted chance of the suggested label.\n", *names, *seed)
		for _, d := range datasets {
			err := d.WithStore(ctx, func(_ string, store *kv.Store) error {
				return describe(ctx, &text, d, store, cleaner.Options{Seed: *seed, Workers: *threads})
			})
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
		}
		if err := os.MkdirAll(*out, 0o777); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*out, "cases.md"), []byte(text.String()), 0o666)
	})
}

// describe cleans a store and lists its suspects.
func describe(ctx context.Context, text *strings.Builder, d study.Dataset, store *kv.Store, opt cleaner.Options) error {
	fmt.Fprintln(os.Stderr, d.Name)
	run, err := cleaner.Clean(ctx, store, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(text, "\n## %s\n\n%d labelled nodes, estimated mislabel rate %.1f%%, %d suspects above the threshold of %.3f.\n\n",
		d.Title(), run.Scored, 100*run.MislabelRate, run.Suspects, run.Threshold)
	tx := store.Begin()
	defer tx.Close()
	type node struct {
		ID, Label, Suggested string
		Confidence, Score    float64
		Degree               int
	}
	text.WriteString("| | id | given label | suggested label | confidence | score | neighbours |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	rank := 0
	const statement = "nodes where score > 0 order by score desc limit $1 return id, label, suggested, confidence, score, degree"
	for n, err := range query.Rows[node](query.Query(ctx, tx, query.Options{}, statement, listed)) {
		if err != nil {
			return err
		}
		rank++
		fmt.Fprintf(text, "| %d | %s | %s | %s | %.3f | %.4f | %d |\n", rank, cell(n.ID), cell(n.Label), cell(n.Suggested), n.Confidence, n.Score, n.Degree)
	}
	return nil
}

// cell escapes what would end a cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
