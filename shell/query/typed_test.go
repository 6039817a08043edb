package query

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestTheDoors refuses statements at the wrong door.
func TestTheDoors(t *testing.T) {
	store := papers.Cleaned(t)
	tx := store.Begin()
	defer tx.Close()
	for _, page := range Manual() {
		parsed := must.Get(Parse(page.Examples[0]))(t)
		if parsed.Writes() {
			if _, err := parsed.Query(t.Context(), tx, Options{}); err == nil || !strings.Contains(err.Error(), "query.Exec") {
				t.Errorf("%s: got error %v, want one that names Exec", page.Name, err)
			}
		} else if _, err := parsed.Exec(t.Context(), store, Options{}); err == nil ||
			!strings.Contains(err.Error(), "query.Query") {
			t.Errorf("%s: got error %v, want one that names Query", page.Name, err)
		}
	}
	if _, err := (Statement{}).Query(t.Context(), tx, Options{}); err == nil {
		t.Error("the zero Statement is answered")
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
		if _, err := Exec(t.Context(), only, Options{}, text); !errors.Is(err, kv.ErrReadOnly) ||
			err.Error() != "the store is open for reading only" {
			t.Errorf("%s: got error %v, want kv.ErrReadOnly", text, err)
		}
	}
}

// TestQueryInAnUpdate sees what the transaction wrote, with and without an index.
func TestQueryInAnUpdate(t *testing.T) {
	store := papers.Cleaned(t)
	ids := func(tx *kv.Tx, text string) []string {
		return firsts(must.Get(rowsOf(Query(t.Context(), tx, Options{Workers: 8}, text)))(t))
	}
	before := store.Begin()
	defer before.Close()
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

// TestIf decides only if the condition is true, and else says that the node has changed.
func TestIf(t *testing.T) {
	store := papers.Cleaned(t) // s3 is Systems, and Theory is suggested
	_, err := Exec(t.Context(), store, Options{}, "accept $1 if label = $2 and suggested = $3", "s3", "Theory", "Theory")
	if !errors.Is(err, decide.ErrChanged) || !strings.HasSuffix(err.Error(), "is not true of 1 node: s3") {
		t.Errorf("got error %v, want one about s3", err)
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
		must.Get(decide.Undo(t.Context(), store, decide.Options{}, nil))(t)
	}
}
