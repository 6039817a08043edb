package query

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// rowOf is the answer of a column a with one value, as a Go value.
func rowOf[T any](value kv.Value) (got any, err error) {
	for got, err := range Rows[T](NewTable([]ColumnInfo{{"a", value.Kind()}}, [][]kv.Value{{value}}), nil) {
		return got, err
	}
	return nil, nil
}

type class string

// TestValuesThatFit has values go into the types that hold them, and into no others.
func TestValuesThatFit(t *testing.T) {
	seven, null := kv.ValueOf(7), kv.Value{}
	for _, test := range []struct {
		value kv.Value
		read  func(kv.Value) (any, error)
		want  any
	}{
		{kv.ValueOf("Theory"), rowOf[string], "Theory"}, {kv.ValueOf("Theory"), rowOf[class], class("Theory")},
		{seven, rowOf[string], "7"}, {seven, rowOf[int], 7}, {seven, rowOf[int8], int8(7)}, {seven, rowOf[float64], 7.0},
		{kv.ValueOf(math.MinInt64), rowOf[int64], int64(math.MinInt64)}, {kv.ValueOf(0.1), rowOf[float64], 0.1},
		{kv.ValueOf(true), rowOf[bool], true}, {seven, rowOf[kv.Value], seven}, {null, rowOf[kv.Value], null}, {null, rowOf[*int], (*int)(nil)},
	} {
		if got, err := test.read(test.value); err != nil || got != test.want {
			t.Errorf("%v: got %v, %v, want %v", test.value, got, err, test.want)
		}
	}
	if got, err := rowOf[*int](seven); err != nil || *got.(*int) != 7 {
		t.Errorf("7 into a *int: got %v, %v", got, err)
	}
	for _, test := range []struct {
		value kv.Value
		read  func(kv.Value) (any, error)
		says  string
	}{
		{null, rowOf[string], "column a: got null, which a string cannot hold"}, {kv.ValueOf(128), rowOf[int8], "got 128, which a int8 cannot hold"},
		{kv.ValueOf(1<<53 + 1), rowOf[float64], "got 9007199254740993, which a float64 cannot hold"},
		{kv.ValueOf(3.0), rowOf[int], "got 3, which a int cannot hold"}, {kv.ValueOf("7"), rowOf[int], "got the text '7'"},
		{kv.ValueOf(300), rowOf[*int8], "got 300, which a *int8 cannot hold"}, {seven, rowOf[chan int], "which a chan int cannot hold"},
	} {
		if _, err := test.read(test.value); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: got error %v, want %q", test.value, err, test.says)
		}
	}
}

// TestStructs fills structs with tags.
func TestStructs(t *testing.T) {
	tx := snapshotOf(t, papers.Cleaned(t))
	ask := func(text string) (*Result, error) { return Query(t.Context(), tx, Options{}, text) }
	type paper struct {
		ID, Title string
		Old       *bool `query:"old style"`
		Decision  *string
		hidden    int
	}
	var got []string
	for p, err := range Rows[paper](ask("nodes where id in ('p1', 'p4') return id, title, year, \"old style\", decision")) {
		must.Do(t, err)
		if p.Decision != nil || p.hidden != 0 {
			t.Errorf("%s: got %+v", p.ID, p)
		}
		got = append(got, p.ID, p.Title)
	}
	if len(got) != 4 || got[0] != "p1" || got[2] != "p4" || got[1] == "" {
		t.Errorf("got %q, want p1 and p4 with titles", got)
	}
	for says, rows := range map[string]iter.Seq2[any, error]{
		"column Scor: the rows have no such column for the field Scor of struct { Scor float64 }; did you mean score?": anyRows(Rows[struct{ Scor float64 }](ask("suspects"))),
		"column old: the rows have no such column": anyRows(Rows[struct {
			Year int `query:"old"`
		}](ask("nodes where degree > 1000"))),
		"the row has 5 columns": anyRows(Rows[string](ask("suspects"))),
		"1:12: got the end":     anyRows(Rows[string](ask("nodes where"))),
	} {
		var got error
		for _, err := range rows {
			got = err
			break
		}
		if got == nil || !strings.Contains(got.Error(), says) {
			t.Errorf("got error %v, want %q", got, says)
		}
	}
}

// anyRows are rows of any type.
func anyRows[T any](rows iter.Seq2[T, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for value, err := range rows {
			if !yield(value, err) {
				return
			}
		}
	}
}

// TestRowsFail yields the error of the statement, and of a context that ends, once each.
func TestRowsFail(t *testing.T) {
	tx := snapshotOf(t, papers.Cleaned(t))
	ctx, cancel := context.WithCancel(t.Context())
	ids := Rows[string](Query(ctx, tx, Options{}, "nodes return id"))
	cancel()
	for name, test := range map[string]struct {
		rows iter.Seq2[string, error]
		want error
	}{
		"statement": {Rows[string](Query(t.Context(), tx, Options{}, "accept p1")), ErrWrites},
		"context":   {ids, context.Canceled},
	} {
		var got []error
		for id, err := range test.rows {
			got = append(got, err)
			if id != "" {
				t.Errorf("%s: got the id %s", name, id)
			}
		}
		if len(got) != 1 || !errors.Is(got[0], test.want) {
			t.Errorf("%s: got %v, want %v once", name, got, test.want)
		}
	}
}

// TestTheDoors refuses statements at the wrong door.
func TestTheDoors(t *testing.T) {
	store := papers.Cleaned(t)
	tx := snapshotOf(t, store)
	for _, page := range Manual() {
		parsed := must.Get(Parse(page.Examples[0]))(t)
		if parsed.Writes() {
			if _, err := parsed.Query(t.Context(), tx, Options{}); !errors.Is(err, ErrWrites) || !strings.Contains(err.Error(), "query.Exec") {
				t.Errorf("%s: got error %v, want ErrWrites", page.Name, err)
			}
		} else if _, err := parsed.Exec(t.Context(), store, Options{}); !errors.Is(err, ErrReads) || !strings.Contains(err.Error(), "query.Query") {
			t.Errorf("%s: got error %v, want ErrReads", page.Name, err)
		}
	}
	if got := collect(t, store, "history"); got != "" {
		t.Errorf("got the history %s, want none", got)
	}
	made := papers.Cleaned(t)
	dir := made.Dir()
	papers.CloseStore(t, made)
	only := must.Get(index.Open(dir, kv.Options{MemoryBudget: 64 << 20, ReadOnly: true}))(t)
	defer papers.CloseStore(t, only)
	for _, text := range []string{"accept p4", "undo", "clean", "rescore", "create index on year"} {
		if _, err := Exec(t.Context(), only, Options{}, text); !errors.Is(err, kv.ErrReadOnly) || err.Error() != "the store is open for reading only" {
			t.Errorf("%s: got error %v, want kv.ErrReadOnly", text, err)
		}
	}
}

// TestQueryInAnUpdate sees what the transaction wrote, with and without an index.
func TestQueryInAnUpdate(t *testing.T) {
	store := papers.Cleaned(t)
	ids := func(tx *kv.Tx, text string) (got []string) {
		for id, err := range Rows[string](Query(t.Context(), tx, Options{Workers: 8}, text)) {
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got = append(got, id)
		}
		return got
	}
	before := snapshotOf(t, store)
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		v, err := tx.Node("p1")
		must.Do(t, err)
		must.Do(t, errors.Join(tx.SetValue(v, "year", kv.ValueOf(1899)), tx.SetValue(v, "score", kv.ValueOf(0.9375))))
		for text, want := range map[string][]string{
			"nodes where year < 1900 return id": {"p1"}, "nodes where score = 0.9375 return id": {"p1"},
		} {
			if got := ids(tx, text); !slices.Equal(got, want) {
				t.Errorf("%s, in the update: got %v, want %v", text, got, want)
			}
			if got := ids(before, text); got != nil {
				t.Errorf("%s, in a snapshot from before: got %v, want none", text, got)
			}
		}
		_, err = Query(t.Context(), tx, Options{}, "explain p1")
		return err
	}))
}

// TestIf decides only if the condition is true of all nodes that are named.
func TestIf(t *testing.T) {
	store := papers.Cleaned(t) // s3 and p4 are Systems, and Theory is suggested
	exec := func(text string, args ...any) error {
		_, err := Exec(t.Context(), store, Options{Who: "ann"}, text, args...)
		return err
	}
	for _, test := range []struct {
		text string
		args []any
		says string
	}{
		{"accept $1 if label = $2 and suggested = $3", []any{"s3", "Theory", "Theory"}, "not true of 1 node: s3 (label Systems, suggested Theory, decision none)"},
		{"accept s3, p4, p5 if label = 'Systems'", nil, "not true of 1 node: p5 (label Theory"},
		{"relabel s3 'Theory' if decision is not null because 'seen'", nil, "not true of 1 node: s3"},
		{"reject s3, p4 if score > 0.99", nil, "not true of 1 node: p4"},
	} {
		err := exec(test.text, test.args...)
		if _, ok := errors.AsType[*ConditionError](err); !ok || !errors.Is(err, decide.ErrChanged) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got error %v, want a *ConditionError that says %q", test.text, err, test.says)
		}
	}
	if got := collect(t, store, "history"); got != "" {
		t.Fatalf("got the history %s, want none", got)
	}
	for _, text := range []string{
		"accept s3 if label = 'Systems' and suggested = 'Theory' because 'both seen'", "relabel p4 'Neural Nets' if decision is null and degree > 0",
	} {
		if err := exec(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got, want := papers.LabelsNow(t, store), []string{"p4 Neural Nets relabel", "s3 Theory accept"}; !slices.Equal(got, want) {
		t.Errorf("labels and decisions are %q, want %q", got, want)
	}
	for text, says := range map[string]string{
		"accept p5 if yeer > 3":            `no property is named "yeer"`,
		"accept p5 if year > 'x'":          "cannot be compared",
		"accept where score > 0 if id = 1": "got if, want",
	} {
		if err := exec(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got error %v, want %q", text, err, says)
		}
	}
}

// TestIfInARace has two people decide on one node at a time if nobody has: one of them does.
func TestIfInARace(t *testing.T) {
	store := papers.Cleaned(t)
	for round := range 20 {
		errs := make(chan error, 2)
		for _, class := range []string{"Theory", "Neural Nets"} {
			go func() {
				_, err := Exec(t.Context(), store, Options{Who: class}, "relabel p2 $1 if decision is null", class)
				errs <- err
			}()
		}
		var lost int
		for range 2 {
			if err := <-errs; errors.Is(err, decide.ErrChanged) {
				lost++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if lost != 1 {
			t.Fatalf("round %d: %d of two decisions were refused, want 1", round, lost)
		}
		must.Get(decide.Undo(t.Context(), store, 1, decide.Options{}, nil))(t)
	}
}
