// Package papers makes small stores for the tests of statements and commands: ten papers, with or without a run of
// clean. It knows nothing of what is asked of them.
package papers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/kv"
)

// A Paper is a node of the stores below. A score below zero is none, and so is a year of 0.
type Paper struct {
	ID, Label, Suggested, Split, Title string
	Score, Confidence                  float64
	Year                               int64
}

// All are the papers, in the order of the node file. p1 … p5 are a clique of Theory apart from p4, which is labelled
// Systems and has the highest score; s1 … s3 are a path of Systems; "e 1" has no neighbours, and "東" no label.
var All = []Paper{
	{"p1", "Theory", "Theory", "train", "On graphs", 0.03125, 0.875, 1999},
	{"p2", "Theory", "Theory", "train", "On trees", 0.0625, 0.75, 2004},
	{"p3", "Theory", "Theory", "val", "On graphs, again", 0.125, 0.9375, 2019},
	{"p4", "Systems", "Theory", "test", "It's a graph", 0.984375, 0.875, 2019},
	{"p5", "Theory", "Neural Nets", "test", "", 0.96875, 0.5, 0},
	{"s1", "Systems", "Systems", "train", "Kernels", 0.25, 0.625, 2010},
	{"s2", "Systems", "Systems", "train", "Files", 0.5, 0.5625, 2011},
	{"s3", "Systems", "Theory", "test", "Nets\tand\nlines", 0.9921875, 0.5, 2012},
	{"e 1", "Neural Nets", "Neural Nets", "val", "Alone", 0.75, 0.75, 2020},
	{"東", "", "Neural Nets", "", "東京", -1, 0.5, 2021},
}

var citations = [][2]string{
	{"p1", "p2"}, {"p1", "p3"}, {"p1", "p4"}, {"p1", "p5"}, {"p2", "p3"}, {"p2", "p4"}, {"p3", "p4"}, {"p3", "p5"},
	{"s1", "s2"}, {"s2", "s3"}, {"s3", "東"}, {"p5", "s1"},
}

// Loaded returns a store that holds the papers as they were imported.
func Loaded(t testing.TB) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{
		{Name: "split", Kind: kv.KindString}, {Name: "title", Kind: kv.KindString}, {Name: "year", Kind: kv.KindInt},
		{Name: "old style", Kind: kv.KindBool}, {Name: "weight", Kind: kv.KindFloat},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := load.Abort(); err != nil {
			t.Error(err)
		}
	}()
	for i, p := range All {
		year := kv.Value{}
		if p.Year != 0 {
			year = kv.ValueOf(p.Year)
		}
		values := []kv.Value{nullable(p.Split), nullable(p.Title), year, kv.ValueOf(p.Year < 2010),
			kv.ValueOf(float64(i) / 4)}
		if err := load.AddNode(kv.Node{ID: p.ID, Label: p.Label, Values: values}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range citations {
		if err := load.AddEdge(c[0], c[1], 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return Reopen(t, dir)
}

// nullable is a text, null where it is empty.
func nullable(text string) kv.Value {
	if text == "" {
		return kv.Value{}
	}
	return kv.ValueOf(text)
}

// Cleaned returns a store that holds the papers and what a run found, written by hand: nothing below depends on a
// detector.
func Cleaned(t testing.TB) *kv.Store {
	t.Helper()
	store := Loaded(t)
	bulk, err := store.Bulk(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer bulk.Abort()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	column := func(name string, kind kv.Kind) *kv.ColumnWriter {
		w, err := bulk.Column(name, kind)
		check(err)
		w.Sort()
		return w
	}
	score, confidence := column("score", kv.KindSingle), column("confidence", kv.KindSingle)
	suggested, run := column("suggested", kv.KindClass), column("run", kv.KindInt)
	builder, err := index.NewBuilder(bulk, "score")
	check(err)
	defer builder.Close() //nolint:errcheck // what fails is a test that has failed already
	predictions, err := cleaner.NewPredictionWriter(bulk, bulk.Tx().Classes(), cleaner.PredictionOptions{})
	check(err)
	for _, p := range All {
		v, err := bulk.Tx().Node(p.ID)
		check(err)
		check(suggested.Put(v, kv.ValueOf(p.Suggested)))
		check(confidence.Put(v, kv.ValueOf(p.Confidence)))
		check(run.Put(v, kv.ValueOf(1)))
		if p.Score >= 0 {
			check(score.Put(v, kv.ValueOf(p.Score)))
			check(builder.Add(v, kv.ValueOf(p.Score)))
		}
		row := make([]float64, len(bulk.Tx().Classes()))
		for class, name := range bulk.Tx().Classes() {
			row[class] = (1 - p.Confidence) / float64(len(row)-1)
			if name == p.Suggested {
				row[class] = p.Confidence
			}
		}
		check(predictions.Put(v, row))
	}
	check(predictions.Finish())
	check(builder.Finish())
	check(bulk.Commit(func(tx *kv.Tx) error {
		if err := PutRun(tx); err != nil {
			return err
		}
		if err := predictions.Mark(tx); err != nil {
			return err
		}
		return builder.Mark(tx)
	}))
	return store
}

// Scored returns a store of n nodes of class A, class B suggested, with the scores 0/n … (n-1)/n, indexed, and nothing
// else.
func Scored(t testing.TB, n int) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{Classes: []string{"B"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := load.AddNode(kv.Node{ID: strconv.Itoa(i), Label: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	store := Reopen(t, dir)
	bulk, err := store.Bulk(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer bulk.Abort()
	for _, name := range []string{"confidence", "run"} {
		if _, err := bulk.Column(name, map[string]kv.Kind{"confidence": kv.KindSingle, "run": kv.KindInt}[name]); err != nil {
			t.Fatal(err)
		}
	}
	suggested, err := bulk.Column("suggested", kv.KindClass)
	if err != nil {
		t.Fatal(err)
	}
	score, err := bulk.Column("score", kv.KindSingle)
	if err != nil {
		t.Fatal(err)
	}
	builder, err := index.NewBuilder(bulk, "score")
	if err != nil {
		t.Fatal(err)
	}
	defer builder.Close() //nolint:errcheck // what fails is a test that has failed already
	for i := range n {
		value := kv.ValueOf(float64(float32(float64(i) / float64(n))))
		err := errors.Join(score.Put(kv.NodeID(i), value), builder.Add(kv.NodeID(i), value),
			suggested.Put(kv.NodeID(i), kv.ValueOf("B")))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := builder.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := bulk.Commit(func(tx *kv.Tx) error {
		return errors.Join(PutRun(tx), builder.Mark(tx))
	}); err != nil {
		t.Fatal(err)
	}
	return store
}

// PutRun stores a run as the cleaner does, with noise between three classes.
func PutRun(tx *kv.Tx) error {
	run := map[string]any{
		"ID": 1, "Started": time.Unix(1_700_000_000, 0), "Seconds": 1.5, "Preset": "default", "Hops": 3,
		"Threshold": 0.97, "Seed": 1, "Nodes": 10, "Edges": 12, "Scored": 9, "Suspects": 2, "FittingNodes": 20,
		"PredictionSource": "imported", "PredictionWrites": 1, "Classes": []string{"Neural Nets", "Systems", "Theory"},
		"MislabelRate": (2 + 10.0/9) / 20,
	}
	type cell struct {
		Row, Column int
		Value       float64
	}
	joint := []cell{{0, 0, 0.2}, {1, 1, 0.2}, {1, 2, 0.1}, {2, 0, 1. / 18}, {2, 2, 8. / 18}}
	fit := map[string]any{
		"Run": 1, "Joint": map[string]any{"Classes": 3, "Cells": joint}, "LabelCounts": []float64{1, 4, 4},
	}
	return errors.Join(tx.Documents("runs").Put("000000000001", run), tx.Documents("fit").Put("last", fit))
}

// Numbered returns a store of a path of three nodes with the ids 0, 1 and 2 and labels that look like numbers.
func Numbered(t testing.TB) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	load, err := kv.NewLoader(t.Context(), dir, kv.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := load.Abort(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 3 {
		if err := load.AddNode(kv.Node{ID: strconv.Itoa(i), Label: strconv.Itoa(i % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range [][2]string{{"0", "1"}, {"1", "2"}} {
		if err := load.AddEdge(e[0], e[1], 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return Reopen(t, dir)
}

// Empty returns a store without nodes.
func Empty(t testing.TB) *kv.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	store, err := kv.Create(dir, kv.Options{OnWrite: index.Maintain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseStore(t, store) })
	return store
}

// Reopen opens a store, and closes it at the end of the test.
func Reopen(t testing.TB, dir string) *kv.Store {
	t.Helper()
	store, err := index.Open(dir, kv.Options{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseStore(t, store) })
	return store
}

// CloseStore closes a store, which must not fail.
func CloseStore(t testing.TB, store *kv.Store) {
	if err := store.Close(); err != nil {
		t.Errorf("close the store: %v", err)
	}
}

// LabelsNow lists the labels that differ from those of All, and all decisions, such as "p4 Theory accept".
func LabelsNow(t testing.TB, store *kv.Store) []string {
	t.Helper()
	var now []string
	err := store.View(func(tx *kv.Tx) error {
		for _, p := range All {
			v, err := tx.Node(p.ID)
			if err != nil {
				return err
			}
			label, err := tx.Value(v, kv.LabelColumn)
			if err != nil {
				return err
			}
			decision, err := tx.Value(v, decide.Column)
			if err != nil && !errors.Is(err, kv.ErrNoColumn) {
				return err
			}
			if label.Str() != p.Label || !decision.IsNull() {
				now = append(now, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.ID, label.Str(), decision.Str())))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return now
}
