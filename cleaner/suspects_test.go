package cleaner

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/index"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/kv"
)

// TestSuspects holds the condition to its definition, written down case by case.
func TestSuspects(t *testing.T) {
	null, text, number := kv.Value{}, kv.ValueOf[string], kv.ValueOf[float64]
	cases := []struct {
		name                              string
		score, label, suggested, decision kv.Value
		want                              bool
	}{
		{"above, other suggestion", number(0.8), text("A"), text("B"), null, true},
		{"at the threshold", number(0.5), text("A"), text("B"), null, false},
		{"below", number(0.2), text("A"), text("B"), null, false},
		{"no score", null, text("A"), text("B"), null, false},
		{"suggestion is the label", number(0.8), text("A"), text("A"), null, false},
		{"no suggestion", number(0.8), text("A"), null, null, false},
		{"no label", number(0.8), null, text("B"), null, false},
		{"neither", number(0.8), null, null, null, false},
		{"rejected", number(0.8), text("A"), text("B"), text("reject"), false},
		{"unsure", number(0.8), text("A"), text("B"), text("unsure"), false},
	}
	s := must.Get(kv.Create(filepath.Join(t.TempDir(), "g"), kv.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	must.Do(t, s.Update(func(tx *kv.Tx) error {
		for column, kind := range map[string]kv.Kind{ScoreColumn: kv.KindFloat, SuggestedColumn: kv.KindClass,
			decide.Column: kv.KindString} {
			must.Do(t, tx.AddColumn(column, kind))
		}
		return nil
	}))
	tx := s.Begin()
	defer tx.Close()
	for _, c := range cases {
		for _, threshold := range []float64{0.5, math.Inf(-1)} {
			want := c.want
			if threshold < 0 { // all scores are above
				want = c.want || c.name == "below" || c.name == "at the threshold"
			}
			holds := must.Get(index.Holds(tx, Suspects(threshold), nil))(t)
			values := map[string]kv.Value{ScoreColumn: c.score, kv.LabelColumn: c.label, SuggestedColumn: c.suggested,
				decide.Column: c.decision}
			got, err := holds(func(property string) (kv.Value, error) { return values[property], nil })
			if got != want || err != nil {
				t.Errorf("%s, above %v: the condition is %v, %v, want %v", c.name, threshold, got, err, want)
			}
		}
	}
}

// A run counts the suspects that a query finds after it, without those that somebody had decided on.
func TestRunCountsSuspects(t *testing.T) {
	s := newPlanted(8, 300).load(t, false)
	first := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	count := func(threshold float64) (found []kv.NodeID) {
		view(t, s, func(tx *kv.Tx) error {
			plan := must.Get(index.NewPlan(tx, index.Query{Where: Suspects(threshold), Limit: -1}))(t)
			for v, err := range plan.Rows(t.Context()) {
				must.Do(t, err)
				found = append(found, v)
			}
			return nil
		})
		return found
	}
	found := count(first.Threshold)
	if int64(len(found)) != first.Suspects || len(found) < 3 {
		t.Fatalf("the run counts %d suspects, a query finds %d, want as many, and some", first.Suspects, len(found))
	}
	requests := []decide.Request{{Node: found[0], Kind: decide.Unsure}, {Node: found[1], Kind: decide.Reject}}
	must.Get(decide.Write(t.Context(), s, requests, decide.Options{}))(t)
	second := mustClean(t, s, Options{Seed: 2, Imported: AsGiven})
	after := count(second.Threshold)
	if int64(len(after)) != second.Suspects || slices.Contains(after, found[0]) || slices.Contains(after, found[1]) {
		t.Errorf("behind two decisions the run counts %d suspects, a query finds %d, want as many, and none that was "+
			"decided on", second.Suspects, len(after))
	}
}
