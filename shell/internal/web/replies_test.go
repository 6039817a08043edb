package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/internal/testing/must"
	"github.com/graphcleaner/graphcleaner/internal/testing/papers"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/survey"
	"github.com/graphcleaner/graphcleaner/shell/query"
)

// posted posts what has to be done.
func posted[T any](c *client, path string, body any) (v T) {
	c.Helper()
	status, text := c.post(path, body)
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != http.StatusOK {
		c.Fatalf("%s with %+v: got %d, %s", path, body, status, text)
	}
	return v
}

// confirmed decides about many, and answers the question with yes.
func confirmed(c *client, b bulk) (done bulkReply) {
	c.Helper()
	b.Confirm = posted[bulkReply](c, "/bulk", b).Confirm
	return posted[bulkReply](c, "/bulk", b)
}

// standing are the decisions in force.
func standing(t *testing.T, store *kv.Store) string {
	t.Helper()
	return strings.Join(ask(t, store, "nodes where decision is not null return id, decision"), " ")
}

// exec runs a statement beside the page.
func exec(t *testing.T, store *kv.Store, who, statement string) {
	t.Helper()
	must.Get(query.Exec(t.Context(), store, query.Options{Who: who}, statement))(t)
}

// TestUndoTakesBackItsStep has decisions that decide nothing, decisions of the same person elsewhere, and later ones of
// others.
func TestUndoTakesBackItsStep(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	shown := posted[reply](c, "/decide", decision{ID: "p4", Decision: "reject"}).Undo
	if done := confirmed(c, bulk{Where: "id = 'none'", Decision: "reject"}); !strings.HasPrefix(done.Said, "Nothing is decided") || strings.Contains(done.Said, "all before where") {
		t.Errorf("of nothing: got %q", done.Said)
	}
	exec(t, store, "ann", "reject s3")
	if status, text := c.post("/undo", undoing{Step: shown}); status != http.StatusConflict || !strings.Contains(text, "not the last reply") {
		t.Errorf("a step that is not the last: got %d, %s", status, text)
	}
	for _, want := range []string{"s3", "p4"} {
		if got := posted[reply](c, "/undo", c.last()); got.ID != want || (got.Undo == 0) != (want == "p4") {
			t.Errorf("undo: got %+v, want %s", got, want)
		}
	}
	done := confirmed(c, bulk{IDs: []string{"p1", "p2"}, Decision: "reject"})
	if done.Said != "2 nodes kept their labels." || done.Undo != c.last().Step {
		t.Errorf("got %q", done.Said)
	}
	exec(t, store, "bob", "relabel p1 'Theory'")
	if status, text := c.post("/undo", c.last()); status != http.StatusConflict || !strings.Contains(text, "bob") {
		t.Errorf("bob has decided since: got %d, %s", status, text)
	}
}

// TestUndoAfterARestart takes back decisions of an earlier page, one of them in the history.
func TestUndoAfterARestart(t *testing.T) {
	store := papers.Cleaned(t)
	first := serve(t, store, nil)
	for _, id := range []string{"p4", "p5", "s3"} {
		posted[reply](first, "/decide", decision{ID: id, Decision: "reject"})
	}
	exec(t, store, "bob", "reject p1")
	must.Do(t, first.server.Close())
	c := serve(t, store, nil)
	if got := posted[reply](c, "/undo", c.last()); got.ID != "s3" || got.Undo == 0 {
		t.Errorf("got %+v, want s3", got)
	}
	page := c.browser()
	_, text := page.get("/history")
	if strings.Count(text, "<button>Undo step 2</button>") != 1 || !strings.Contains(text, `name="step" value="2"`) {
		t.Errorf("the history offers to take back: %s", text)
	}
	if status, text, header := page.form("/undo", url.Values{"step": {"2"},
		"back": {"history"}}); status != http.StatusSeeOther || header.Get("Location") != "history" {
		t.Errorf("step 2: got %d, %s", status, text)
	}
	for _, step := range []string{"", "0", "2", "3", "4", "99", "x", "-1"} {
		if status, text, _ := page.form("/undo", url.Values{"step": {step}}); status != http.StatusConflict && status != http.StatusBadRequest {
			t.Errorf("step %s: got %d, %s", step, status, text)
		}
	}
	if got := standing(t, store); got != "p1|reject p4|reject" {
		t.Errorf("got %s", got)
	}
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" || got.Undo != 0 {
		t.Errorf("got %+v, want p4 and nothing else", got)
	}
}

// TestTurns has undo and decisions at once: each undo takes back one reply.
func TestTurns(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.KeepScores, o.Columns = true, survey.Columns{} })
	const replies = 40
	failed := make(chan string, 2*replies)
	for i := range 2 * replies {
		go func() {
			path, body := "/undo", any(c.last())
			if i%2 == 0 {
				path, body = "/decide", decision{ID: strconv.Itoa(i), Decision: "unsure"}
			}
			status, text := c.post(path, body)
			if path == "/undo" && status != http.StatusOK { // nothing was there, or another was faster
				text = "nothing"
			} else if status == http.StatusOK {
				text = ""
			}
			failed <- text
		}()
	}
	left := 0
	for range 2 * replies {
		switch text := <-failed; text {
		case "":
		case "nothing":
			left++
		default:
			t.Errorf("got %s", text)
		}
	}
	for range left {
		posted[reply](c, "/undo", c.last())
	}
	if got := standing(t, store); got != "" {
		t.Errorf("%d undos found nothing, and after as many more there are %s", left, got)
	}
}

// TestBulkOfWhatWasSeen changes a node behind the ten that the question shows.
func TestBulkOfWhatWasSeen(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.KeepScores, o.Columns = true, survey.Columns{} })
	b := bulk{Of: "nodes", Where: "score > 0.5", Decision: "unsure"}
	first := posted[bulkReply](c, "/bulk", b)
	must.Do(t, store.Update(func(tx *kv.Tx) error {
		condition := must.Get(query.ParseCondition(b.Where))(t)
		nodes, _, err := query.Suspects(t.Context(), tx, condition, 0)
		must.Do(t, err)
		later := slices.Max(nodes)
		label := must.Get(tx.Value(later, kv.LabelColumn))(t)
		return tx.SetValue(later, cleaner.SuggestedColumn, label)
	}))
	b.Confirm = first.Confirm
	if again := posted[bulkReply](c, "/bulk", b); again.Said != "" || again.Question != first.Question || !slices.Equal(again.First, first.First) {
		t.Errorf("got %+v, want the same question again", again)
	}
}

// TestClientsThatLeave have sent a decision, which is written.
func TestClientsThatLeave(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	send := func(serve func(*http.Request) (answer, error), body string) {
		t.Helper()
		r := httptest.NewRequestWithContext(gone, http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if _, err := serve(r); err != nil {
			t.Errorf("%s: got %v", body, err)
		}
	}
	send(c.server.decide, `{"id":"p4","decision":"reject"}`)
	send(c.server.decide, `{"id":"p5","decision":"reject"}`)
	send(c.server.undo, fmt.Sprintf(`{"step":%d}`, c.last().Step))
	b := bulk{Where: "id = 's3'", Decision: "reject"}
	send(c.server.bulk, fmt.Sprintf(`{"where":"id = 's3'","decision":"reject","confirm":%q}`, posted[bulkReply](c, "/bulk", b).Confirm))
	if got := standing(t, store); got != "p4|reject s3|reject" {
		t.Errorf("got %s", got)
	}
	must.Do(t, c.server.Close())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"id":"p1","decision":"reject"}`))
	r.Header.Set("Content-Type", "application/json")
	if _, err := c.server.decide(r); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: got %v", err)
	}
}

// TestComments has conditions with comments, which swallow nothing of the statement.
func TestComments(t *testing.T) {
	store := papers.Scored(t, 1000)
	c := serve(t, store, func(o *Options) { o.Columns = survey.Columns{} })
	where := "score >= 0 -- x"
	if got := view[list](c, "/list?of=nodes&sort=score&where="+url.QueryEscape(where)); len(got.Rows) != pageRows || got.Count != 1000 {
		t.Errorf("got %d rows of %d", len(got.Rows), got.Count)
	}
	if got := posted[bulkReply](c, "/bulk", bulk{Where: where, Decision: "unsure", Why: "it"}); got.Question == "" {
		t.Errorf("got %+v", got)
	}
	for path, body := range map[string]any{
		"/bulk": bulk{Where: "degree > 1 and labl = 'x'", Decision: "accept"},
	} {
		var p problem
		if status, text := c.post(path, body); json.Unmarshal([]byte(text), &p) != nil || status != http.StatusBadRequest || p.Column != 16 {
			t.Errorf("%s: got %d, %s, want an error in column 16", path, status, text)
		}
	}
}

// TestSkips counts nodes, not replies.
func TestSkips(t *testing.T) {
	store := papers.Cleaned(t)
	c := serve(t, store, func(o *Options) { o.ReadOnly = true })
	for range 3 {
		posted[reply](c, "/skip", skipping{ID: "p4"})
	}
	if got := view[card](c, "/review"); got.ID == "p4" || got.ID == "" {
		t.Errorf("got the card of %q", got.ID)
	}
	// Those of other queues do not count.
	for where, want := range map[string]int{"id = 'p4'": 1, "id = 's3'": 0, "id = 'p4' or id = 's3'": 0, "id = 'p1'": 0} {
		if got := view[card](c, "/review?where="+url.QueryEscape(where)); got.Skipped != want ||
			got.Empty != (want == 1 || where == "id = 'p1'") {
			t.Errorf("%s: got %d skipped, empty: %v", where, got.Skipped, got.Empty)
		}
	}
	if got := posted[reply](c, "/undo", c.last()); got.ID != "p4" || got.Undo != 0 {
		t.Errorf("undo: got %+v", got)
	}
}

// TestQueueOfDecided asks about decided nodes where the condition wants them, and about each once.
func TestQueueOfDecided(t *testing.T) {
	store := papers.Cleaned(t)
	for _, id := range []string{"p4", "p5", "s3"} {
		exec(t, store, "bob", "reject "+id)
	}
	c := serve(t, store, func(o *Options) { o.KeepScores = true })
	path := "/review?where=" + url.QueryEscape("decided_by like '%bob%'")
	var seen []string
	for of := view[card](c, path); !of.Empty; of = view[card](c, path) {
		if slices.Contains(seen, of.ID) {
			t.Fatalf("%s is asked about again", of.ID)
		}
		seen = append(seen, of.ID)
		posted[reply](c, "/decide", decision{ID: of.ID, Decision: "reject"})
	}
	if len(seen) != 3 {
		t.Errorf("got %v", seen)
	}
	exec(t, store, "bob", "relabel "+seen[0]+" 'Theory'")
	if of := view[card](c, path); of.ID != seen[0] {
		t.Errorf("bob has disagreed since: got %+v", of)
	}
}

// TestSentence has errors without the rooms of the program.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"cleaner: bad options: hops 9: want 1 to 5":                 "Hops 9: want 1 to 5.",
		"Who has 900 bytes, want at most 256: cleaner: bad options": "Who has 900 bytes, want at most 256.",
		"node p4: cleaner: node is decided on twice in one step":    "Node p4: node is decided on twice in one step.",
		"node 'a: kv: b'":      "Node 'a: b'.",
		"index: kv: not found": "Kv: not found.",
	} {
		if got := sentence(errors.New(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestRemovedMeanwhile has no number of a node in the problem.
func TestRemovedMeanwhile(t *testing.T) {
	status, p := problemOf(fmt.Errorf("node number 1184: it was removed: %w", kv.ErrNotFound))
	if status != http.StatusNotFound || strings.Contains(p.Error, "1184") {
		t.Errorf("got %d, %s", status, p.Error)
	}
}

// TestHosts answers at another address of this machine, and at the port that browsers leave out.
func TestHosts(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has no 127.0.0.2: %v", err)
	}
	server := must.Get(Serve(context.Background(), listener, Options{Store: papers.Cleaned(t)}))(t)
	transport := &http.Transport{}
	c := &client{t, &http.Client{Transport: transport}, server,
		http.Header{"Authorization": {"Bearer " + server.keys.token}, "Accept": {"application/json"}}, server.Origin()}
	if status, text := c.get("/review"); status != http.StatusOK {
		t.Errorf("got %d, %s", status, text)
	}
	transport.CloseIdleConnections()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	hosts := hostsOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	for _, want := range []string{"127.0.0.1", "127.0.0.1:80", "localhost", "[::1]"} {
		if !slices.Contains(hosts, want) {
			t.Errorf("port 80: %v has no %s", hosts, want)
		}
	}
}

// TestFilterOfTheQueue stays without scripts: the forms of the page have it.
func TestFilterOfTheQueue(t *testing.T) {
	c := serve(t, papers.Cleaned(t), func(o *Options) { o.Where = "score > 0.5" }).browser()
	for _, path := range []string{"/review", "/node?id=p1"} {
		_, text := c.get(path)
		if n := strings.Count(text, `name="where" value="score &gt; 0.5"`); n < 2 {
			t.Errorf("%s: %d forms have the filter", path, n)
		}
	}
}

// TestEmptyViews have the lists that openapi.json declares.
func TestEmptyViews(t *testing.T) {
	c := serve(t, papers.Loaded(t), nil)
	if o := view[overview](c, "/overview"); len(o.Sections) != 1 || o.Sections[0].Title != "Classes" {
		t.Errorf("without a run: got %+v", o)
	}
	empty := serve(t, papers.Cleaned(t), nil)
	if _, text := empty.get("/review?where=score+%3E+2"); strings.Contains(text, ":null") &&
		!strings.Contains(text, `"score":null,"score_in_words"`) || strings.Count(text, ":[]") != 5 {
		t.Errorf("an empty queue: got %s", text)
	}
	if _, text := c.browser().get("/list?of=nodes&where=scor+%3E"); !strings.Contains(text, "Page 1 of 1") {
		t.Error("the list of a wrong condition has no pages")
	}
}
