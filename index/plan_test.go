package index

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

var suspects = Query{Where: score(Gt, 0.97), Order: []Order{{"score", true}}, Limit: -1}

func TestSuspectsTouchOnlyTheAnswer(t *testing.T) {
	s := scoredStore(t, 20_000)
	tx := s.Begin()
	defer tx.Close()
	suspect := label(Eq, "class 7")
	for _, c := range []struct {
		name       string
		q          Query
		entries    int64 // at most
		rows       int64 // at most
		atMostRead int64 // blocks
	}{
		{"suspects", suspects, 300, 0, 0},
		{"suspects in file order", Query{Where: score(Gt, 0.97), Limit: -1}, 300, 0, 0},
		{"best ten", Query{Order: []Order{{"score", true}}, Limit: 10}, 64, 0, 0},
		{"best ten of a condition", Query{Where: Compare{"degree", Ge, kv.ValueOf(0)}, Order: []Order{{"score", true}},
			Limit: 10}, 64, 64, 0},
		{"suspects of a class", Query{Where: and(score(Gt, 0.97), suspect), Limit: -1}, 1000, 300, 0},
		{"best twenty suspects of a class", Query{
			Where: and(score(Gt, 0.9), suspect), Order: []Order{{"score", true}}, Limit: 20,
		}, 800, 800, 0},
		{"best twenty of a class, of many", Query{
			Where: and(score(Gt, 0.1), suspect), Order: []Order{{"score", true}}, Limit: 20,
		}, 2100, 2100, 0},
		{"two classes", Query{Where: or(suspect, label(Eq, "class 8")), Limit: -1}, 1300, 0, 0},
		{"labels by pattern", Query{Where: Like{Property: "label", Pattern: "%s 7"}, Limit: -1}, 0, 20_000, 5},
		{"one node", Query{Where: Compare{"id", Eq, text("4711")}, Limit: -1}, 0, 0, 0},
		{"hubs", Query{Where: Compare{"degree", Gt, kv.ValueOf(1000)}, Limit: -1}, 0, 0, 0},
		{"nothing", Query{Where: and(score(Gt, 0.97), score(Lt, 0.5)), Limit: -1}, 0, 0, 0},
	} {
		plan, err := NewPlan(tx, c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows := rowsOf(t, plan)
		got := plan.reads
		if got.IndexEntries > c.entries || got.Rows > c.rows || got.Blocks > c.atMostRead {
			t.Errorf("%s: %d rows touched %+v, want at most %d index entries, %d rows, %d blocks\nplan %v",
				c.name, len(rows), got, c.entries, c.rows, c.atMostRead, plan)
		}
		n, err := plan.Count(context.Background())
		if err != nil || n != int64(len(rows)) {
			t.Errorf("%s: count: got %d, %v, want %d", c.name, n, err, len(rows))
		}
	}
}

// TestEmptyStore asks a store without nodes.
func TestEmptyStore(t *testing.T) {
	s := emptyStore(t, 0)
	update(t, s, func(tx *kv.Tx) error { return tx.AddColumn("score", kv.KindSingle) })
	must.Do(t, errors.Join(Create(t.Context(), s, "label"), Create(t.Context(), s, "score")))
	view(t, s, func(tx *kv.Tx) error {
		for _, q := range []Query{suspects, {Limit: -1}, {Order: []Order{{"score", false}, {"id", true}}, Limit: 3},
			{Where: IsNull{"score"}, Limit: -1}} {
			plan := must.Get(NewPlan(tx, q))(t)
			if got := rowsOf(t, plan); len(got) > 0 {
				t.Errorf("%v: got %v, want no rows", plan, got)
			}
		}
		return nil
	})
}

// TestRowsEndEarly breaks out of rows, and reads them with a context that has ended.
func TestRowsEndEarly(t *testing.T) {
	s := scoredStore(t, 5000)
	tx := s.Begin()
	defer tx.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, q := range []Query{
		suspects, {Limit: -1}, {Where: score(Gt, 0.1), Limit: -1}, {Where: Compare{"degree", Gt, kv.ValueOf(0)}, Limit: -1},
		{Where: Compare{"degree", Ge, kv.ValueOf(0)}, Limit: 2000}, {Order: []Order{{"degree", true}}, Limit: 7},
		{Order: []Order{{"label", true}}, Limit: -1}, {Order: []Order{{"score", true}}, Limit: -1},
		{Where: label(Eq, "class 7"), Order: []Order{{"degree", false}}, Limit: -1},
	} {
		plan := must.Get(NewPlan(tx, q))(t)
		if q.Limit == 2000 {
			plan.patience = 0 // it gives way at once
		}
		all := rowsOf(t, plan)
		var some []kv.NodeID
		for v, err := range plan.Rows(t.Context()) {
			must.Do(t, err)
			if some = append(some, v); len(some) == 3 {
				break
			}
		}
		if !slices.Equal(some, all[:3]) {
			t.Errorf("%v\nthe first three of %d rows: got %v, want %v", plan, len(all), some, all[:3])
		}
		var last error
		rows := 0
		for _, err := range plan.Rows(ended) {
			if err == nil {
				rows++
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) || rows > lastBatch {
			t.Errorf("%v\ncancelled before it began: got %d rows and %v, want %v", plan, rows, last, context.Canceled)
		}
	}
}

// Sorting with and without a limit agree, below and above what is held in memory.
func TestTopIsTheBeginningOfSort(t *testing.T) {
	s := scoredStore(t, maxTop+2000)
	tx := s.Begin()
	defer tx.Close()
	order := []Order{{"degree", true}, {"label", false}}
	rows := func(limit int) []kv.NodeID {
		plan := must.Get(NewPlan(tx, Query{Order: order, Limit: limit}))(t)
		return rowsOf(t, plan)
	}
	all := rows(-1)
	if len(all) != tx.NumNodes() {
		t.Fatalf("all rows: got %d, want %d", len(all), tx.NumNodes())
	}
	for _, limit := range []int{1, 100, maxTop + 1} {
		if got := rows(limit); !slices.Equal(got, all[:limit]) {
			t.Errorf("the first %d rows differ from the first rows of all", limit)
		}
	}
}

func TestPlanString(t *testing.T) {
	s := scoredStore(t, 20_000)
	update(t, s, func(tx *kv.Tx) error { return tx.AddColumn("decision", kv.KindString) })
	tx := s.Begin()
	defer tx.Close()
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Where: and(score(Gt, 0.97), IsNull{"decision"}), Order: []Order{{"score", true}}, Limit: 10}, `
at most 10 rows
  in order of score desc, as the index has it
    where (null decision)
      index on score: (gt score 0.97), descending
touched # index entries, # rows, # blocks, # skipped`},
		{Query{Where: and(score(Gt, 0.97), or(label(Eq, "class 1"), label(Eq, "class 2"))), Limit: -1}, `
all rows
  where (in label "class 1" "class 2")
    index on score: (gt score 0.97)
touched # index entries, # rows, # blocks, # skipped`},
		{Query{
			Where: or(and(score(Gt, 0.99), Compare{"id", Eq, kv.ValueOf(4)}), Compare{"id", Eq, kv.ValueOf(3)}),
			Order: []Order{{"degree", false}}, Limit: -1,
		}, `
all rows
  sorted by degree
    where (or (and (gt score 0.99) (eq id 4)) (eq id 3))
      lookup of 2 ids
touched # index entries, # rows, # blocks, # skipped`},
		{Query{Where: Compare{"degree", Gt, kv.ValueOf(1)}, Limit: -1}, `
all rows
  where (gt degree 1)
    all nodes, in blocks that may match
touched # index entries, # rows, # blocks, # skipped`},
		{Query{Limit: 1}, `
at most 1 row
  all nodes, in file order`},
		{Query{Where: score(Lt, 0).(Compare), Order: []Order{{"score", false}, {"id", true}}, Limit: -1}, `
all rows
  in order of score, id desc, as the index has it
    index on score: (lt score 0), ascending`},
		{Query{Where: and(score(Lt, 0), score(Gt, 0)), Limit: -1}, `
all rows
  nothing: the condition is never true`},
	} {
		plan, err := NewPlan(tx, c.q)
		if err != nil {
			t.Fatalf("%+v: %v", c.q, err)
		}
		rowsOf(t, plan)
		if got := numbersHidden(plan.String()); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("plan of %+v:\ngot\n%s\nwant%s", c.q, got, c.want)
		}
	}
}

// numbersHidden puts # for the counts that "touched" lines give.
func numbersHidden(plan string) string {
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		fields := strings.Split(line, " ")
		for j, f := range fields {
			if strings.HasPrefix(line, "touched") && strings.Trim(f, "0123456789") == "" {
				fields[j] = "#"
			}
		}
		lines[i] = strings.Join(fields, " ")
	}
	return strings.Join(lines, "\n")
}
