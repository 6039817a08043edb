package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/cleaner/decide"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// TestOverview counts as statements do, at thresholds on the edges of bins and between them.
func TestOverview(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	got := view[overview](c, "/overview")
	if got.Nodes != 10 || got.Labelled != 9 || len(got.Classes) != 3 || len(got.Runs) != 1 || got.Counting || got.Pairs != len(got.Confused) {
		t.Errorf("got %+v", got)
	}
	for _, threshold := range []float64{0, 0.25, 0.5, 0.96875, 0.97, 0.9700001, 0.984375, 0.99, 0.9921875, 1} {
		got := view[overview](c, fmt.Sprintf("/overview?threshold=%v", threshold)).Threshold
		want := ask(t, store, fmt.Sprintf("count suspects where score > %v", threshold))
		if text := fmt.Sprint(got.Suspects); text != want[0] || got.Threshold != threshold {
			t.Errorf("above %v: got %+v, want %s suspects", threshold, got, want[0])
		}
	}
	nodes := int64(0)
	for _, b := range got.Histogram {
		nodes += b.Nodes
	}
	if nodes != 9 || math.Abs(got.Expected-4.6640625) > 1e-12 {
		t.Errorf("the histogram has %d scores, and %v wrong labels are expected", nodes, got.Expected)
	}
	if status, text := c.get("/overview?threshold=2"); status != http.StatusBadRequest {
		t.Errorf("threshold 2: got %d, %s", status, text)
	}
}

// TestOverviewText says in words what its tables have.
func TestOverviewText(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	bob := serve(t, store, func(opt *Options) { opt.Query.Who = "bob" })
	for _, of := range []*client{c, bob} {
		if status, text := of.post("/decide", decision{ID: "p4", Decision: "accept"}); status != http.StatusOK {
			t.Fatal(text)
		}
	}
	view[overview](c, "/overview") // which waits for the count
	_, page := c.browser().get("/overview")
	for _, want := range []string{"neighbours that agree", "Kappa is 1 where", "ann</bdi> and <bdi>bob", "wrong labels, estimated", "9 of them labelled"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, jargon := range []string{"self_confidence", "mislabel_rate", "P(given label", "run-threshold"} {
		if strings.Contains(page, jargon) {
			t.Errorf("the page has %q", jargon)
		}
	}
}

// TestLeftOut names the classes that the heat map has no room for.
func TestLeftOut(t *testing.T) {
	var page strings.Builder
	must.Do(t, pages().ExecuteTemplate(&page, "overview", overview{Heat: "<svg></svg>", LeftOut: []string{"class 1", "<b>"}}))
	if want := "2 classes are not drawn"; !strings.Contains(page.String(), want) || !strings.Contains(page.String(), "<bdi>&lt;b&gt;</bdi>") {
		t.Errorf("the page has no %q: %s", want, page.String())
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
	result := must.Get(statement.Exec(t.Context(), store, query.Options{Who: "ann"}))(t)
	result.Close()
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
