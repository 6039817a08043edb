package wording

import (
	"errors"
	"math"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/kv"
)

func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Count(1, "row", "rows"), "1 row"},
		{Count(int64(0), "row", "rows"), "0 rows"},
		{Nodes(12), "12 nodes"},
		{AnyOf(nil), ""},
		{AnyOf([]string{"a"}), "a"},
		{AnyOf([]string{"a", "b", "a", "c"}), "a, b or c"},
		{DidYouMean("nods", []string{"nodes", "suspects"}), "; did you mean nodes?"},
		{DidYouMean("xyz", []string{"nodes", "suspects"}), ""},
		{Sentence("accept 2 nodes"), "Accept 2 nodes"},
		{Percent(0.125), "12.5%"},
		{Percent(math.NaN()), "none"},
		{Decided(decide.Relabel), "relabelled"},
		{Encoding(cleaner.PredictionEncoding{Float16: true, TopK: 4}, 10), "float16, the largest 4 of 10 classes"},
		{Rate(&cleaner.Run{MislabelRate: 0.01}), "estimated mislabel rate 1.0%"},
		{GreyZone(&cleaner.Run{}), ""},
		{GreyZone(&cleaner.Run{Grey: 1, Scored: 4, GreyFrom: 0.25}),
			"grey zone: 1 more label (25.0% of all) with a score above 0.25: too uncertain to call"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// Advice leaves the error that it is about in the chain.
func TestAdvice(t *testing.T) {
	if err := Advise(cleaner.ErrMissingRows); !errors.Is(err, cleaner.ErrMissingRows) || err.Error() == cleaner.ErrMissingRows.Error() {
		t.Errorf("got %v, want the error with advice", err)
	}
	if err := Advise(kv.ErrClosed); err != kv.ErrClosed {
		t.Errorf("got %v, want an error without advice as it is", err)
	}
}
