package wording

import (
	"errors"
	"math"
	"slices"
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
		{Sentence("accept 2 nodes"), "Accept 2 nodes"},
		{Percent(0.125), "12.5%"},
		{Percent(math.NaN()), "none"},
		{Decided(decide.Relabel), "relabelled"},
		{Suspects(&cleaner.Run{Threshold: 0.25}), "0 suspects above 0.25"},
		{Suspects(&cleaner.Run{Suspects: 3, Contradicted: 2, Threshold: 0.25}),
			"3 suspects above 0.25, 2 of them contradicted by the predictions and by the neighbours"},
		{HowMany(nil), "how many labels are wrong is not known from graph and predictions; an audit tells it: by 50 labels " +
			"within about 13 points, by 200 within 7"},
		{HowMany(&cleaner.Audit{Draws: make([]cleaner.AuditDraw, 50), Decided: 12, NextLook: 25}),
			"how many labels are wrong is not known yet: 12 of 50 draws decided; the share of wrong labels is told once the " +
				"first 25 are"},
		{HowMany(&cleaner.Audit{Draws: append(make([]cleaner.AuditDraw, 1),
			slices.Repeat([]cleaner.AuditDraw{{Judgement: decide.Right}}, 49)...),
			Decided: 49, NextLook: 25}), "how many labels are wrong is not known yet: 49 of 50 draws decided; the share of " +
			"wrong labels is told once the first 25 are, of which 1 waits for an answer"},
		{Audit(&cleaner.Audit{Draws: make([]cleaner.AuditDraw, 30), Decided: 27, Look: 25, NextLook: 50}, "--size")[1],
			"27 of 30 draws decided; the share of wrong labels is told again at 50 draws: continue with --size 50"},
		{HowMany(&cleaner.Audit{Labels: 1000, Look: 25, Right: 3, Wrong: 1, Rate: math.NaN(), Low: 0.01, High: 0.9,
			Found: 5}),
			"1.0% to 90.0% of 1000 labels were wrong (90%), by 25 draws; the scores do not follow them: 4 answers name a " +
				"label, and half must"},
		{HowMany(&cleaner.Audit{Labels: 1000, Look: 25, Rate: 0.2, Low: 0.1, High: 0.4, Found: 5}),
			"20.0% of 1000 labels were wrong (90%: 10.0% to 40.0%), by 25 draws; 5 found, about 195 left"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

// TestRescored has scores that follow a look, also where the threshold was given and stays.
func TestRescored(t *testing.T) {
	run := func(look string, draws int, threshold float64) *cleaner.Run {
		return &cleaner.Run{LookAt: look, Look: draws, MislabelRate: 0.32, Threshold: threshold}
	}
	for _, test := range []struct {
		before, now *cleaner.Run
		want        string
	}{
		{run("", 0, 0.25), run("a", 50, 0.375), "scores follow the audit: 32.0% wrong, by 50 draws; the threshold went " +
			"from 0.25 to 0.375"},
		{run("", 0, 0.5), run("a", 50, 0.5), "scores follow the audit: 32.0% wrong, by 50 draws; the threshold stays 0.5"},
		{run("a", 50, 0.5), run("", 0, 0.5), "scores follow no look of an audit any more; the threshold stays 0.5"},
		{run("a", 50, 0.5), run("a", 50, 0.5), "nothing has changed since the last run: scores stay"},
	} {
		if got := Rescored(&cleaner.Rescoring{Before: test.before, Run: test.now}); !slices.Equal(got, []string{test.want}) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// Advice leaves the error that it is about in the chain.
func TestAdvice(t *testing.T) {
	if err := Advise(cleaner.ErrMissingRows); !errors.Is(err, cleaner.ErrMissingRows) ||
		err.Error() == cleaner.ErrMissingRows.Error() {
		t.Errorf("got %v, want the error with advice", err)
	}
	if err := Advise(kv.ErrClosed); err != kv.ErrClosed {
		t.Errorf("got %v, want an error without advice as it is", err)
	}
}
