package web

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// answered takes a label for that of a draw.
func answered(c *client, d *draw, label string) reply {
	c.Helper()
	return posted[reply](c, "/decide", decision{ID: d.ID, Decision: "relabel", Label: label, Seen: &d.Seen})
}

// TestAudit answers all draws: the last look is at all labels.
func TestAudit(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	if a := view[audit](c, "/audit"); a.More != query.DefaultDraws || a.Draw != nil || a.Drawn != 0 || a.Rate != nil || len(a.Words) != 0 {
		t.Errorf("before the first draw: got %+v", a)
	}
	a := posted[audit](c, "/draw", drawing{Size: query.DefaultDraws})
	all := a.Drawn
	if all != 9 || a.Draw == nil || a.More != 0 {
		t.Fatalf("drawn: got %+v", a)
	}
	_, text := c.get("/audit")
	for _, word := range []string{"score", `"suggested":"T`, `"suggested":"N`, "confidence", "svg", "against", "threshold", "split", "year\":\""} {
		if strings.Contains(text, word) {
			t.Errorf("the draw tells of %s: %s", word, text)
		}
	}
	var seen []string
	for a.Draw != nil {
		d := a.Draw
		if slices.Contains(seen, d.ID) || !slices.Contains(d.Options, d.Seen.Label) {
			t.Fatalf("after %v: got %+v", seen, d)
		}
		if again := view[audit](c, "/audit"); again.Draw.ID != d.ID || !slices.Equal(again.Draw.Options, d.Options) {
			t.Errorf("again: got %+v, want %+v", again.Draw, d)
		}
		seen = append(seen, d.ID)
		answered(c, d, "Theory")
		a = view[audit](c, "/audit")
		if a.Decided != len(seen) {
			t.Errorf("after %d answers: got %+v", len(seen), a)
		}
	}
	if len(seen) != all || a.Look != all || a.Wrong != 5 || a.Rate == nil || *a.Rate != *a.High || a.More != 0 {
		t.Errorf("after %v: got %+v", seen, a)
	}
	if got := a.Words[len(a.Words)-1]; got != "9 of 9 draws decided: every label of the sample is looked at." {
		t.Errorf("in the end: got %q", got)
	}
	for _, now := range papers.LabelsNow(t, store) {
		if !strings.Contains(now, " Theory re") {
			t.Errorf("%q, want Theory, rejected or relabelled", now)
		}
	}
}

// TestAuditIsBlind has a browser, to which no reply tells which label a draw has.
func TestAuditIsBlind(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	page := c.browser()
	if _, _, header := page.form("/draw", url.Values{"size": {"50"}}); header.Get("Location") != "audit" {
		t.Fatalf("drawn: got %v", header)
	}
	_, text := page.get("/audit")
	for key, isThere := range map[string]bool{"1</kbd> … <kbd>4": true, "d": true, "y": false, "n": false, "u": false, "e": false, "x": false} {
		if strings.Contains(text, "<dt><kbd>"+key+"</kbd>") != isThere {
			t.Errorf("the help names the key %s: got %t, want %t", key, !isThere, isThere)
		}
	}
	for _, word := range []string{"Suggested", "Score", "threshold", "<svg role", "If you stop now", "node?id="} {
		if strings.Contains(text, word) {
			t.Errorf("the page tells of %s: %s", word, text)
		}
	}
	d := view[audit](c, "/audit").Draw
	fields := url.Values{"id": {d.ID}, "back": {"audit"}, "decision": {"relabel:" + d.Seen.Label},
		"seen_label": {d.Seen.Label}, "seen_suggested": {""}, "seen_decision": {""}, "seen_disputed": {"false"}, "seen_run": {"0"}}
	if status, text, header := page.form("/decide", fields); header.Get("Location") != "audit" {
		t.Fatalf("got %d, %s", status, text)
	}
	if _, text = page.get("/audit"); !strings.Contains(text, "<bdi>"+d.ID+": "+d.Seen.Label+".</bdi>") || strings.Contains(text, "kept its label") {
		t.Errorf("after the answer: got %s", text)
	}
	if got := standing(t, store); got != d.ID+"|reject" {
		t.Errorf("got %s", got)
	}
	// The same card again, as of somebody who was slower.
	if status, text, _ := page.form("/decide", fields); status != http.StatusConflict || !strings.Contains(text, "somebody has decided on "+d.ID+" meanwhile") {
		t.Errorf("a second answer: got %d, %s", status, text)
	}
	if _, _, header := page.form("/undo", url.Values{"step": {"1"}, "back": {"audit"}}); header.Get("Location") != "audit" {
		t.Errorf("undo: got %v", header)
	}
	if _, text = page.get("/audit"); !strings.Contains(text, "Taken back: "+d.ID+".") || !strings.Contains(text, `data-id="`+d.ID+`"`) {
		t.Errorf("after undo: got %s", text)
	}
}

// TestAuditOfOthers has draws that are skipped, decided by somebody else, or left.
func TestAuditOfOthers(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	a := posted[audit](c, "/draw", drawing{Size: 5})
	if a.Drawn != 5 || a.More != 9 {
		t.Errorf("five draws: got %+v", a)
	}
	for range 5 {
		posted[reply](c, "/skip", skipping{ID: a.Draw.ID})
		a = view[audit](c, "/audit")
	}
	if a.Draw != nil || a.Skipped != 5 {
		t.Errorf("all skipped: got %+v", a)
	}
	posted[reply](c, "/again", place{})
	a = view[audit](c, "/audit")
	exec(t, store, "bob", "unsure "+query.Quote(a.Draw.ID))
	gone := a.Draw.ID
	if status, text := c.post("/decide", decision{ID: gone, Decision: "reject", Seen: &a.Draw.Seen}); status != http.StatusConflict {
		t.Errorf("bob was faster: got %d, %s", status, text)
	}
	a = view[audit](c, "/audit")
	if a.Decided != 1 || a.Draw.ID == gone {
		t.Errorf("bob was faster: got %+v", a)
	}
	gone = a.Draw.ID
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		v := must.Get(tx.Node(gone))(t)
		return tx.RemoveNode(v)
	}))
	if a = view[audit](c, "/audit"); a.Drawn != 4 || a.Draw.ID == gone {
		t.Errorf("a removed node: got %+v", a)
	}
	for size, want := range map[int]int{0: http.StatusConflict, 1 << 20: http.StatusConflict, 9: http.StatusOK} {
		if status, text := c.post("/draw", drawing{Size: size}); status != want {
			t.Errorf("%d draws: got %d, %s", size, status, text)
		}
	}
	read := serve(t, store, func(o *Options) { o.ReadOnly = true })
	if a := view[audit](read, "/audit"); a.Draw != nil || a.Drawn != 8 {
		t.Errorf("read only: got %+v", a)
	}
	if status, text := read.post("/draw", drawing{Size: 50}); status != http.StatusForbidden {
		t.Errorf("read only: got %d, %s", status, text)
	}
}

// TestAuditWithoutLabels has stores in which nothing can be drawn.
func TestAuditWithoutLabels(t *testing.T) {
	c := serve(t, papers.Loaded(t), nil)
	for _, of := range []func() (int, string){
		func() (int, string) { return c.get("/audit") }, func() (int, string) { return c.post("/draw", drawing{Size: 50}) },
	} {
		if status, text := of(); status != http.StatusConflict || !strings.Contains(text, "clean") {
			t.Errorf("without scores: got %d, %s", status, text)
		}
	}
	if _, text := c.browser().get("/audit"); !strings.Contains(text, "Run <code>graphcleaner clean</code>") {
		t.Errorf("without scores: got %s", text)
	}
	store := papers.Cleaned(t)
	for _, p := range papers.All {
		if p.Label != "" {
			exec(t, store, "ann", "reject "+query.Quote(p.ID))
		}
	}
	if status, text := serve(t, store, nil).post("/draw", drawing{Size: 50}); status != http.StatusConflict || !strings.Contains(text, "every label") {
		t.Errorf("all are decided: got %d, %s", status, text)
	}
}

// TestOrdersOfPeople has two people: each is asked for all draws, and they begin apart.
func TestOrdersOfPeople(t *testing.T) {
	store := papers.Scored(t, 1000)
	posted[audit](serve(t, store, func(o *Options) { o.Columns = survey.Columns{} }), "/draw", drawing{Size: 100})
	firsts := map[string]bool{}
	for _, who := range []string{"ann", "bob", "cem", "dora", "eve"} {
		c := serve(t, store, func(o *Options) { o.Query.Who, o.Columns = who, survey.Columns{} })
		firsts[view[audit](c, "/audit").Draw.ID] = true
	}
	if len(firsts) < 3 {
		t.Errorf("five people are shown %v", firsts)
	}
}

// TestAuditOfList has draws of a list beside those of the rate. The page asks for all. The answers to the list say
// whether it keeps its promise, and do not count for the rate.
func TestAuditOfList(t *testing.T) {
	store := papers.Scored(t, 1000)
	must.Do(t, store.Update(func(tx *kv.Tx) error { // whose scores follow no look
		var run map[string]any
		must.Do(t, tx.Documents("runs").Get("000000000001", &run))
		run["Preset"] = "paper"
		return tx.Documents("runs").Put("000000000001", run)
	}))
	c := serve(t, store, func(o *Options) { o.Columns = survey.Columns{} })
	a := posted[audit](c, "/draw", drawing{Size: 25})
	answerAll := func() {
		for ; a.Draw != nil; a = view[audit](c, "/audit") {
			answered(c, a.Draw, a.Draw.Seen.Label)
		}
	}
	answerAll()
	if a.Look != 25 || a.Decided != 25 {
		t.Fatalf("after 25 answers: got %+v", a)
	}
	rate := a.AuditReport
	trusted := cleaner.Promise{Kind: cleaner.ListTrusted, Share: 0.1}
	must.Do(t, cleaner.DrawList(t.Context(), store, trusted, 0))
	a = view[audit](c, "/audit")
	if got := a.Words[len(a.Words)-1]; a.Draw == nil || a.Drawn != 25 || !strings.Contains(got, "0 of 24 draws decided") {
		t.Fatalf("a list is drawn: got %+v", a)
	}
	answerAll()
	if got := a.Words[len(a.Words)-1]; !strings.Contains(got, "at most 10% of these labels are wrong") {
		t.Errorf("the list is answered: got %q", got)
	}
	rate.Lists = a.Lists
	if !reflect.DeepEqual(a.AuditReport, rate) {
		t.Errorf("the draws of a list count for the rate: got %+v, want %+v", a.AuditReport, rate)
	}
}

// TestIDOfCard has cards of nodes with a title and without.
func TestIDOfCard(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil).browser()
	for id, count := range map[string]int{"p1": 1, "p5": 0} {
		_, text := c.get("/node?id=" + id)
		if got := strings.Count(text, "Node <bdi>"+id+"</bdi>"); got != count {
			t.Errorf("%s is named below its title %d times, want %d", id, got, count)
		}
	}
}
