package query

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestTimesOfColumns compares the times of columns, which are texts of one form each, with times in other forms.
func TestTimesOfColumns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	load := must.Get(kv.NewLoader(t.Context(), dir, kv.LoadOptions{Properties: []kv.Column{
		{Name: "utc", Kind: kv.KindString}, {Name: "blank", Kind: kv.KindString}, {Name: "day", Kind: kv.KindString},
		{Name: "words", Kind: kv.KindString},
		{Name: "mixed", Kind: kv.KindString},
	}}))(t)
	for _, values := range [][]kv.Value{
		{},
		{kv.ValueOf("2026-01-02T09:59:59.500Z"), kv.ValueOf("2026-01-02 09:59"), kv.ValueOf("2026-01-01"),
			kv.ValueOf(""), kv.ValueOf("2026-01-02T09:00:00.25Z")},
		{kv.ValueOf("2026-01-02T10:00:00.000Z"), kv.ValueOf("2026-01-02 10:00"), kv.ValueOf("2026-01-02"),
			kv.ValueOf("2026-01-02T10:00"), kv.ValueOf("2026-01-02T10:00:00Z")},
		{kv.ValueOf("2026-01-02T10:00:00.001Z"), kv.ValueOf("2026-01-02 10:01"), kv.ValueOf("2026-01-03"),
			kv.ValueOf("2026-01-02 10:00"), kv.ValueOf("2026-01-02T10:00:00.5Z")},
	} {
		id := "undated"
		if len(values) == 0 {
			values = make([]kv.Value, 5)
		} else {
			id = values[0].Str()
		}
		must.Do(t, load.AddNode(kv.Node{ID: id, Values: values}))
	}
	must.Get(load.Commit(t.Context(), nil))(t)
	tx := snapshotOf(t, papers.Reopen(t, dir))
	for _, test := range []struct {
		where string
		want  []string // days
	}{
		{"utc > '2026-01-02 10:00'", []string{"2026-01-03"}},
		{"utc >= '2026-01-02 10:00'", []string{"2026-01-02", "2026-01-03"}},
		{"utc = '2026-01-02 10:00:00'", []string{"2026-01-02"}},
		{"utc in ('2026-01-02T10:00', '2026-01-02 09:59:59.5')", []string{"2026-01-01", "2026-01-02"}},
		{"utc <= '2026-01-02T11:00:00+01:00'", []string{"2026-01-01", "2026-01-02"}},
		{"utc < '2026-01-02 10:00:00.0005'", []string{"2026-01-01", "2026-01-02"}},
		{"utc between '2026-01-02' and '2026-01-02 10:00'", []string{"2026-01-01", "2026-01-02"}},
		{"blank > '2026-01-02T10:00:00Z'", []string{"2026-01-03"}},
		{"blank > '2026-01-02T10:00:30'", []string{"2026-01-03"}},
		{"day > '2026-01-01 12:00'", []string{"2026-01-02", "2026-01-03"}},
		{"day = '2026-01-02T00:00:00+00:00'", []string{"2026-01-02"}},
		{"day <= '2026-01-02 00:00'", []string{"2026-01-01", "2026-01-02"}},
		{"words = '2026-01-02 10:00'", []string{"2026-01-03"}}, // a column of any texts
		// fractions that are left out of whole seconds
		{"mixed = '2026-01-02T10:00:00Z'", []string{"2026-01-02"}},
		{"mixed in ('2026-01-02T10:00:00.5Z', '2026-01-02T09:00:00.25Z')", []string{"2026-01-01", "2026-01-03"}},
		{"mixed != '2026-01-02T10:00:00.5Z'", []string{"2026-01-01", "2026-01-02"}},
	} {
		var got []string
		for day, err := range Rows[string](Query(t.Context(), tx, Options{}, "nodes where "+test.where+" return day")) {
			if err != nil {
				t.Fatalf("%s: %v", test.where, err)
			}
			got = append(got, day)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.where, got, test.want)
		}
	}
}

func TestTimes(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31T12:00:00Z": noon, "2026-01-31T13:00:00+01:00": noon, "2026-01-31 12:00": noon, "2026-01-31T12:00": noon, "2026-01-31T12:00:00": noon,
		"2026-01-31 12:00:00.25": noon.Add(time.Second / 4), "2026-01-31": noon.Add(-12 * time.Hour), "": {}, "31.1.2026": {},
		"2026-02-30": {}, "0001-01-01": {},
	} {
		r := newResolver(t.Context(), nil, Options{}, nil)
		got, err := r.time(literal{kind: literalString, text: text, pos: startOfText})
		if !got.Equal(want) || (err == nil) == want.IsZero() {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	r := newResolver(t.Context(), nil, Options{}, []kv.Value{kv.ValueOf(3)})
	if got, err := r.time(literal{kind: literalParam, number: 1, pos: startOfText}); err == nil {
		t.Errorf("the number 3: got %v, want an error", got)
	}
}
