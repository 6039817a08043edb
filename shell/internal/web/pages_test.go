package web

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
)

// TestUndoOfAnotherPage has two pages: undo takes back what its page shows, or nothing.
func TestUndoOfAnotherPage(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	shown := func(page *client) string {
		_, text := page.get("/review")
		return regexp.MustCompile(`name="step" value="(-?\d+)"`).FindStringSubmatch(text)[1]
	}
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	first := c.browser()
	step := shown(first)
	posted[reply](c, "/decide", decision{ID: "p5", Decision: "reject"})
	if status, text, _ := first.form("/undo", url.Values{"step": {step}}); status != http.StatusConflict ||
		!strings.Contains(text, "not the last reply any more") {
		t.Errorf("the step of p4: got %d, %s", status, text)
	}
	skipped := posted[reply](c, "/skip", skipping{ID: "s3"})
	if got := shown(first); got != fmt.Sprint(skipped.Undo) || skipped.Undo >= 0 {
		t.Errorf("the page would take back %s, want the skip %d", got, skipped.Undo)
	}
	for want, form := range map[int]url.Values{http.StatusBadRequest: {}, http.StatusConflict: {"step": {step}}} {
		if status, text, _ := first.form("/undo", form); status != want {
			t.Errorf("%v: got %d, %s, want %d", form, status, text, want)
		}
	}
	form := url.Values{"step": {shown(first)}}
	for _, want := range []int{http.StatusSeeOther, http.StatusConflict} { // twice, as by a double click
		if status, text, _ := first.form("/undo", form); status != want {
			t.Errorf("the skip: got %d, %s, want %d", status, text, want)
		}
	}
	if got := standing(t, store); got != "p4|reject p5|reject" {
		t.Errorf("got %s", got)
	}
}

// TestBack goes on at pages of this server alone.
func TestBack(t *testing.T) {
	page := serve(t, papers.Cleaned(t), nil).browser()
	for back, want := range map[string]string{
		"history": "history", "overview": "overview", "list?of=nodes&where=x": "list?of=nodes&where=x",
		"": "review?where=", "history/../../evil": "review?where=", `/history//../../\evil.com`: "review?where=",
		"//evil.com/": "review?where=", "http://evil.com/list?": "review?where=", "lists?": "review?where=",
	} {
		if _, _, header := page.form("/again", url.Values{"back": {back}}); header.Get("Location") != want {
			t.Errorf("%s: got %s, want %s", back, header.Get("Location"), want)
		}
		_, text, _ := page.form("/bulk", url.Values{"of": {"nodes"}, "ids": {"p4"}, "decision": {"reject"}, "back": {back}})
		if !strings.Contains(text, `<a class="button" href="`+strings.ReplaceAll(want, "&", "&amp;")+`"`) {
			t.Errorf("%s: the question leads elsewhere: %s", back, text)
		}
	}
}

// TestDownloads has texts that a spreadsheet would take for formulas.
func TestDownloads(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "unsure", Why: "=HYPERLINK(1)"})
	if status, text := c.get("/export/decisions.csv"); status != http.StatusOK || !strings.Contains(text, ",'=HYPERLINK(1),") {
		t.Errorf("got %d, %s", status, text)
	}
	if _, text := c.browser().get("/history"); !strings.Contains(text, `href="export/decisions.csv"`) {
		t.Error("the page does not offer the file")
	}
}

// TestProblem has the counts, which no script brings after it.
func TestProblem(t *testing.T) {
	c := serve(t, papers.Cleaned(t), nil)
	view[progress](c, "/progress")
	status, text := c.browser().get("/node?id=nope")
	if status != http.StatusNotFound || !strings.Contains(text, "Not done") ||
		!strings.Contains(text, `<b data-count="left">`) || strings.Contains(text, "Counting …") {
		t.Errorf("got %d, %s", status, text)
	}
}

// TestWhileCounting looks at the overview and the bar while the store is counted: what is not counted yet is not told
// as none.
func TestWhileCounting(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.KeepScores = true })
	view[progress](c, "/progress")
	for _, count := range []*sync.Mutex{&c.server.glance.counting, &c.server.progress.counting} {
		count.Lock()
		defer count.Unlock()
	}
	c.server.progress.took = time.Second // as in a large store
	posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"})
	_, text := c.browser().get("/overview")
	if !strings.Contains(text, "are being counted.") {
		t.Errorf("the overview: got %s", text)
	}
	if !strings.Contains(text, `<b data-count="decided">0</b>`) || !strings.Contains(text, "being counted …") {
		t.Error("the bar does not say that its numbers are old")
	}
}
