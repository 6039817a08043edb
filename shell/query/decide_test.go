package query

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestDecisionsAreOnWhatWasConfirmed changes the store between the question and the answer.
func TestDecisionsAreOnWhatWasConfirmed(t *testing.T) {
	for name, test := range map[string]struct{ statement, meanwhile, column, value, says string }{
		"suggestion": {statement: "accept where label = 'Systems'", column: "suggested", value: "Systems",
			says: "s3 has changed since it was shown: the suggestion was Theory, is Systems"},
		"label": {statement: "reject where label = 'Systems'", column: "label", value: "Theory",
			says: "s3 has changed since it was shown: the label was Systems, is Theory"},
		"decision": {statement: "unlabel all where label = 'Systems'", meanwhile: "reject s3",
			says: "s3 has changed since it was shown: the decision was none, is reject"},
		"by id": {statement: "relabel 'Neural Nets' where score > 0", meanwhile: "relabel s3 'Theory'",
			says: "s3 has changed since it was shown: the label was Systems, is Theory"},
	} {
		t.Run(name, func(t *testing.T) {
			store := papers.Cleaned(t)
			var entries int
			opt := Options{Confirm: func(context.Context, Question) (bool, error) {
				if test.meanwhile != "" {
					_, err := answer(t, store, test.meanwhile)
					entries = 1
					return true, err
				}
				return true, store.Update(func(tx *kv.Tx) error {
					v, err := tx.Node("s3")
					if err != nil {
						return err
					}
					return tx.SetValue(v, test.column, kv.ValueOf(test.value))
				})
			}}
			_, err := answered(t.Context(), store, opt, test.statement)
			if !errors.Is(err, decide.ErrChanged) || !strings.Contains(err.Error(), test.says) ||
				!strings.Contains(err.Error(), "nothing is decided") {
				t.Errorf("got error %v, want one that says %q", err, test.says)
			}
			if got := len(strings.Fields(collect(t, store, "history"))); got != entries {
				t.Errorf("got %d entries, want %d", got, entries)
			}
		})
	}
}

// TestResultsOfExecHoldNoSnapshot drops the results of statements that write, and reads them after the store has
// changed again.
func TestResultsOfExecHoldNoSnapshot(t *testing.T) {
	store := papers.Cleaned(t)
	var results []*Result
	statements := []string{
		"accept p4", "reject p5", "relabel s3 'Theory'", "unlabel p1", "unsure all where label = 'Systems'",
		"create index on year",
	}
	for _, text := range statements {
		if _, err := Exec(t.Context(), store, Options{}, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r, err := Exec(t.Context(), store, Options{}, "undo")
		if text == "create index on year" {
			r, err = Exec(t.Context(), store, Options{}, "drop index on year")
		}
		if err != nil {
			t.Fatalf("behind %s: %v", text, err)
		}
		results = append(results, r)
	}
	for i, r := range results {
		if rows, err := rowsOf(r, nil); err != nil || len(rows) == 0 {
			t.Errorf("behind %s: got %d rows, %v", statements[i], len(rows), err)
		}
	}
}

// TestQuestionsHaveADigest asks about the same nodes again after a change beyond the first ten, which the lines do not
// show.
func TestQuestionsHaveADigest(t *testing.T) {
	store := papers.Scored(t, 1000)
	ask := func() (about Question) {
		t.Helper()
		opt := Options{Confirm: func(_ context.Context, of Question) (bool, error) { about = of; return false, nil }}
		if _, err := Exec(t.Context(), store, opt, "accept all where score > 0.5"); !errors.Is(err, ErrNotConfirmed) {
			t.Fatalf("got %v", err)
		}
		return about
	}
	first := ask()
	if !strings.HasPrefix(first.Text, "Accept the suggested labels of ") {
		t.Fatalf("got %+v", first)
	}
	if again := ask(); !reflect.DeepEqual(again, first) {
		t.Errorf("without a change: got %+v, want %+v", again, first)
	}
	var later kv.NodeID
	must.Do(t, store.View(func(tx *kv.Tx) error {
		nodes, _, err := Suspects(t.Context(), tx, "score > 0.5", 0)
		slices.Sort(nodes)
		later = nodes[len(nodes)-1]
		return err
	}))
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		label := must.Get(tx.Value(later, kv.LabelColumn))(t)
		return tx.SetValue(later, cleaner.SuggestedColumn, label)
	}))
	changed := ask()
	if changed.Text != first.Text || !slices.Equal(changed.First, first.First) {
		t.Fatalf("the change shows: got %v, want %v", changed, first)
	}
	if changed.Digest == first.Digest {
		t.Error("another suggestion behind the first ten nodes has the same digest")
	}
}
