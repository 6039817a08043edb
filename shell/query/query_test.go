package query

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// collect answers a statement with the first values of its rows.
func collect(t *testing.T, s *kv.Store, query string, args ...any) string {
	t.Helper()
	rows, err := answer(t, s, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(firsts(rows), " ")
}

func TestParameters(t *testing.T) {
	store := papers.Cleaned(t)
	for _, test := range []struct {
		query string
		args  []any
		want  string
	}{
		{"suspects where score > $1", []any{0.97}, "s3 p4"},
		{"suspects where score > $1 and label = $2", []any{float32(0.5), "Theory"}, "p5"},
		{"nodes where year in ($2, $1)", []any{2010, int64(2011)}, "s1 s2"},
		{"nodes where title like $1", []any{"%graph%"}, "p1 p3 p4"},
		{"nodes where \"old style\" = $1 and year > 0", []any{true}, "p1 p2"},
		{"nodes where year >= $1 and year <= $2 limit $3", []any{1990, kv.ValueOf(2010), 2}, "p1 p2"},
		{"node $1", []any{"e 1"}, "e 1"},
		{"suspects fpr $1", []any{0.5}, "s3 p4 p5"},
	} {
		if got := collect(t, store, test.query, test.args...); got != test.want {
			t.Errorf("%s with %v: got %s, want %s", test.query, test.args, got, test.want)
		}
	}
	for _, test := range []struct {
		query string
		args  []any
		want  string
	}{
		{"suspects where score > $1", nil, "1:24: $1 has no argument: 0 given"},
		{"suspects where score > $1", []any{1, 2}, "argument 2 of 2 is not used: the statement does not name $2"},
		{"suspects where score > $1", []any{[]int{1}}, "argument $1: a []int is no value of a query, " +
			"want a bool, integer, float, string, kv.Value or nil"},
		{"suspects where score > $1", []any{nil}, "1:24: $1 is null: write score is null"},
		{"suspects where score > $1", []any{"high"},
			`1:24: property score holds numbers and cannot be compared with the string "high"`},
		{"nodes where title like $1", []any{3}, "1:24: got 3 for $1, want a pattern as 'graph%'"},
		{"nodes limit $1", []any{1.5}, "1:13: got 1.5 for a limit, want a whole number from 0"},
	} {
		if _, err := answer(t, store, test.query, test.args...); err == nil || err.Error() != test.want {
			t.Errorf("%s with %v: got error %v, want %s", test.query, test.args, err, test.want)
		}
	}
}

func TestErrorsCanBeTold(t *testing.T) {
	cleaned, loaded := papers.Cleaned(t), papers.Loaded(t)
	query := func(s *kv.Store, text string) error {
		_, err := answer(t, s, text)
		return err
	}
	if err := query(loaded, "suspects"); !errors.Is(err, cleaner.ErrNotCleaned) {
		t.Errorf("suspects before clean: got %v, want cleaner.ErrNotCleaned", err)
	}
	if err := query(loaded, "nodes where score > 1"); !errors.Is(err, cleaner.ErrNotCleaned) {
		t.Errorf("score before clean: got %v, want cleaner.ErrNotCleaned", err)
	}
	if err := query(cleaned, "node nobody"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("unknown node: got %v, want kv.ErrNotFound", err)
	}
	if err := query(cleaned, "suspects fpr 0.001"); err == nil || !strings.Contains(err.Error(), "no finite threshold") {
		t.Errorf("fpr out of reach: got %v, want no threshold", err)
	}
	if _, ok := errors.AsType[*TextError](query(cleaned, "nodes wher")); !ok {
		t.Error("nodes wher: want a *TextError")
	}
	if unknown, ok := errors.AsType[*index.UnknownPropertyError](query(cleaned, "nodes return yeer")); !ok ||
		unknown.Property != "yeer" {
		t.Error("nodes return yeer: want an *index.UnknownPropertyError")
	}
	if wrong, ok := errors.AsType[*TextError](query(cleaned, "nodes where year = 'x'")); !ok || wrong.Pos.Column != 20 {
		t.Errorf("nodes where year = 'x': got %+v, want a *TextError at column 20", wrong)
	}
}
