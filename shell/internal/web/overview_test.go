package web

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestOverview has the answers of statements, those about people once there are decisions, and the chart of the scores.
func TestOverview(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	bob := serve(t, store, func(opt *Options) { opt.Query.Who = "bob" })
	titles := func() (all []string) {
		for _, of := range view[overview](c, "/overview").Sections {
			all = append(all, of.Title)
		}
		return all
	}
	if got := titles(); !slices.Equal(got, []string{"Classes", "Which labels are given in place of which", "Runs"}) {
		t.Errorf("got %q", got)
	}
	for _, of := range []*client{c, bob} {
		posted[reply](of, "/decide", decision{ID: "p4", Decision: "accept"})
	}
	if got := titles(); !slices.Equal(got, []string{"Classes", "Which labels are given in place of which", "People", "Runs"}) {
		t.Errorf("after decisions: got %q", got)
	}
	got := view[overview](c, "/overview")
	if people := got.Sections[2].Rows; got.Nodes != 10 || !slices.Equal(people[0], []string{"ann", "accept", "1"}) {
		t.Errorf("got %+v", got)
	}
	_, page := c.browser().get("/overview")
	for _, want := range []string{"Scores of the labelled nodes", "homophily", "What each person has decided"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestCounted counts once for each state of the store, and does not keep people waiting where it takes long.
func TestCounted(t *testing.T) {
	store := papers.Cleaned(t)
	c := counted[int]{wanted: make(chan struct{}, 1), first: make(chan struct{})}
	times := 0
	slow := func(context.Context, *kv.Tx) (*int, error) {
		times++
		time.Sleep(2 * quickEnough)
		n := times
		return &n, nil
	}
	if got, stale, err := c.at(t.Context(), store, false, slow); got != nil || !stale || err != nil || len(c.wanted) != 1 {
		t.Errorf("before the first count: got %v, stale %v, %v", got, stale, err)
	}
	for range 2 {
		if got, stale, err := c.at(t.Context(), store, true, slow); err != nil || stale || *got != 1 {
			t.Errorf("patiently: got %v, stale %v, %v", got, stale, err)
		}
	}
	statement := must.Get(query.Parse("accept p4"))(t)
	must.Get(statement.Exec(t.Context(), store, query.Options{Who: "ann"}))(t)
	if got, stale, err := c.at(t.Context(), store, false, slow); err != nil || !stale || *got != 1 || times != 1 {
		t.Errorf("after a decision: got %v, stale %v, %v", *got, stale, err)
	}
	if got, err := c.count(t.Context(), store, slow); err != nil || *got != 2 {
		t.Errorf("counted anew: got %v, %v", *got, err)
	}
}

// TestToldOfCounts has a request count before the server does: open pages are told of the numbers all the same.
func TestToldOfCounts(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	view[progress](c, "/progress")
	events, _ := c.server.events.join()
	defer c.server.events.leave(events)
	must.Get(decide.Write(t.Context(), store, []decide.Request{{Node: 3, Kind: decide.Unsure}},
		decide.Options{Who: "bob"}))(t)
	c.browser().get("/history")
	for end := time.After(30 * time.Second); ; {
		select {
		case event := <-events:
			if strings.Contains(string(event), `"unsure":1`) {
				return
			}
		case <-end:
			t.Fatal("no event has the numbers")
		}
	}
}
